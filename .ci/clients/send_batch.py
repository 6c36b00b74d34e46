"""Sends a batch with docs/examples/retry.py, and prints what was told of it: of .ci/clients/situations.py."""

import os
import random
import time

import retry

# How much the computer's clock is ahead, until the first attempt and from then on.
before, after = (int(ms) / 1_000 for ms in os.environ["CLOCK_MS"].split(","))
clock, post, attempts = time.time, retry.post, []


def counted_post(*arguments):
    result = post(*arguments)
    attempts.append(result)
    return result


time.time = lambda: clock() + (after if attempts else before)
retry.post = counted_post
random.uniform = lambda low, high: low + 0.02 * (high - low)
signals = [{"customerId": "c", "eventType": "t", "n": index} for index in range(int(os.environ["COUNT"]))]
try:
    answer = retry.send_batch(signals, os.environ["BASE_URL"], "key", timeout=int(os.environ["TIMEOUT_MS"]) / 1_000)
    print(f"accepted {answer['accepted']}")
except (retry.Refused, retry.GaveUp) as error:
    print(f"told: {error!r}")
