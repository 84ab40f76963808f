"""One call a line, each in a thread, as tenacity's documentation shows: exponential waits with jitter, a bound on attempts."""
import sys
import threading

import requests
import tenacity

retries = int(sys.argv[1])
base, cap, attempt, deadline = (float(word) for word in sys.argv[2:6])
session = requests.Session()
session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=256))


class Failed(Exception):
    pass


def transient(error):
    if isinstance(error, Failed):
        return error.args[0] == 429 or error.args[0] >= 500
    return isinstance(error, requests.RequestException)


@tenacity.retry(
    retry=tenacity.retry_if_exception(transient),
    wait=tenacity.wait_random_exponential(multiplier=base, max=cap),
    stop=tenacity.stop_after_attempt(retries + 1) | tenacity.stop_after_delay(deadline),
    reraise=True,
)
def send(method, url):
    body = '{"amount":5}' if method == "POST" else None
    answer = session.request(method, url, data=body, headers={"content-type": "application/json"}, timeout=attempt)
    if answer.status_code >= 400:
        raise Failed(answer.status_code)
    return answer.status_code


def call(number, method, url):
    try:
        said = f"{number} ok {send(method, url)}"
    except Exception as error:
        said = f"{number} failed {type(error).__name__} {error}".replace("\n", " ")
    with lock:
        print(said, flush=True)


lock = threading.Lock()
print("ready", flush=True)
for line in sys.stdin:
    threading.Thread(target=call, args=line.split(), daemon=True).start()
