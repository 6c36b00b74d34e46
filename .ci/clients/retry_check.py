"""Has the recipe of docs/examples/retry.py meet scripted answers (SCRIPTED_URL), and then the local stack with --answer."""

import json
import os
import random
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import retry

KEY = os.environ["API_KEY"]
SIGNAL = {"customerId": "c", "eventType": "t"}


def log(url: str) -> list:
    with urllib.request.urlopen(f"{url}/log") as response:
        return json.load(response)


def meet_scripted_answers(scripted: str) -> None:
    url = f"{scripted}/503-3,429,drop,cut-200,cut-503,latin-502,500,502,504,200,"
    retry.send_batch([SIGNAL], url, KEY)
    requests = log(url)
    assert len(requests) == 10, requests
    assert len({request["body"] for request in requests}) == 1, "the bodies differ"
    assert json.loads(requests[0]["body"])["signals"] == [SIGNAL]
    waited = requests[1]["at"] - requests[0]["at"]
    assert waited >= 2.9, f"Retry-After is 3, and it waited {waited} s"
    for status in (400, 401, 403, 404, 405, 413, 415, 422):
        url = f"{scripted}/{status},"
        try:
            retry.send_batch([SIGNAL], url, KEY)
            raise AssertionError(f"{status} was no error")
        except retry.Refused:
            assert len(log(url)) == 1, f"{status} was sent again"
    try:
        retry.send_batch([SIGNAL], f"{scripted}/503,", KEY, timeout=0.1, give_up_after=0.3)
        raise AssertionError("it never gave up")
    except retry.GaveUp:
        pass
    try:
        retry.send_batch([SIGNAL], "localhost:9000", KEY)
        raise AssertionError("an address without https:// was no error")
    except ValueError:
        pass


def send(batch: int) -> dict:
    signals = [{"customerId": f"py-{batch % 4}", "eventType": "t", "data": {"n": batch * 5 + n}} for n in range(5)]
    return retry.send_batch(signals, os.environ["BASE_URL"], KEY, timeout=int(os.environ["TIMEOUT_MS"]) / 1_000)


def main() -> None:
    # Short waits; not none, which would hide a wait that is too long.
    random.uniform = lambda low, high: low + 0.02 * (high - low)
    if scripted := os.environ.get("SCRIPTED_URL"):
        meet_scripted_answers(scripted)
        return
    with ThreadPoolExecutor(8) as pool:
        for answer in pool.map(send, range(40)):
            assert (answer["accepted"], answer["rejected"]) == (5, 0), answer


if __name__ == "__main__":
    main()
