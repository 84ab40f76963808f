"""Wrong: does not listen when the server says how long to wait."""

import right

right_wait_s = right.wait_s
right.wait_s = lambda retry, asked: right_wait_s(retry, None)

right.main()
