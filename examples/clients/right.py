"""Makes one payment, and does right when the server fails.

The other clients here are this one with one thing wrong. Its waits are short, so that trying it out is quick.
"""

import http.client
import json
import os
import random
import sys
import time
import urllib.parse
import uuid

PATH = "/v1/payments"
RETRIES = 5
FIRST_WAIT_S = 0.2
WAIT_MAX_S = 1.6


def new_key():
    """A key by which the server knows an attempt again."""
    return str(uuid.uuid4())


def send(key):
    """One attempt: its status, None where no answer came, and what Retry-After said."""
    url = urllib.parse.urlsplit(os.environ["SEAWALL_URL"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    try:
        connection.request("POST", PATH, json.dumps({"amount": 5}), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("Retry-After")
    except (OSError, http.client.HTTPException):
        return None, None
    finally:
        connection.close()


def may_succeed_later(status):
    """Whether the same again may be answered otherwise."""
    return status is None or status in (408, 409, 429) or status >= 500


def wait_s(retry, asked):
    """How long to wait: longer each time, never the same, and never less than the server asked for."""
    guess = min(WAIT_MAX_S, FIRST_WAIT_S * 2**retry) * random.uniform(0.25, 1)
    return max(guess, float(asked)) if asked else guess


def key_of_attempt(key):
    """The key of the payment: the same for all of its attempts."""
    return key


def pay():
    """Whether the payment was made."""
    key = new_key()
    retry = 0
    while True:
        status, asked = send(key_of_attempt(key))
        if status is not None and status < 300:
            return True
        if retry == RETRIES or not may_succeed_later(status):
            return False
        time.sleep(wait_s(retry, asked))
        retry += 1


def main():
    sys.exit(0 if pay() else 1)


if __name__ == "__main__":
    main()
