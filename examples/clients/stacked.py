"""An application that tries three times, over a library that tries three times: nine attempts for one order."""

import sys

import right

right.PATH = "/v1/orders"
right.RETRIES = 2
right.FIRST_WAIT_S = 0.01

key = right.new_key()
right.new_key = lambda: key

for attempt in range(3):
    if right.pay():
        sys.exit(0)
sys.exit(1)
