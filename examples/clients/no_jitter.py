"""Wrong: waits longer each time, but as long as every other client does."""

import right


def wait_s(retry, asked):
    guess = min(right.WAIT_MAX_S, right.FIRST_WAIT_S * 2**retry)
    return max(guess, float(asked)) if asked else guess


right.wait_s = wait_s

right.main()
