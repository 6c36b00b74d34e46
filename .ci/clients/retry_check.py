"""Has the recipe of docs/examples/retry.py meet scripted answers (SCRIPTED_URL), and then the local stack with --answer."""

import http.client
import json
import logging
import math
import os
import random
import socket
import ssl
import time
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import retry

KEY = os.environ["API_KEY"]
SIGNAL = {"customerId": "c", "eventType": "t"}
MAX_BODY_BYTES = 4_194_304


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
    url = f"{scripted}/408,425,429,500,501,505,599,html,json,echo,204,200,"
    assert retry.send_batch([SIGNAL], url, KEY)["accepted"] == 1
    assert len(log(url)) == 12, "it did not repeat what was not answered, or took the response of another server for success"
    for status in (400, 401, 403, 404, 405, 409, 413, 415, 422):
        url = f"{scripted}/{status},"
        try:
            retry.send_batch([SIGNAL], url, KEY)
            raise AssertionError(f"{status} was no error")
        except retry.Refused:
            assert len(log(url)) == 1, f"{status} was sent again"
    follow_no_redirect(scripted)
    end_an_attempt_in_time(scripted)
    tell_what_was_rejected(scripted)
    read_a_response_to_a_request_that_was_cut(scripted)
    meet_a_limit(scripted)
    meet_a_long_outage()
    refuse_what_json_cannot_write(scripted)
    try:
        retry.send_batch([SIGNAL], f"{scripted}/503,", KEY, timeout=0.1, give_up_after=0.3)
        raise AssertionError("it never gave up")
    except retry.GaveUp:
        pass
    try:
        # No time is later than NaN.
        retry.send_batch([SIGNAL], f"{scripted}/503,503,200,", KEY, timeout=0.1, give_up_after=math.nan)
        raise AssertionError("it had no end of its attempts")
    except retry.GaveUp:
        pass
    refuse_what_cannot_be_sent(scripted)
    count_the_hours_in_which_the_computer_sleeps()


def follow_no_redirect(scripted: str) -> None:
    try:
        retry.send_batch([SIGNAL], f"{scripted}/redirect,", KEY)
        raise AssertionError("a redirect was no error")
    except retry.Refused as error:
        assert "302" in str(error), error
    assert log(f"{scripted}/elsewhere-redirect,") == [], "the key was sent to the host that a redirect names"


def end_an_attempt_in_time(scripted: str) -> None:
    for step in ("drip", "hang"):
        began = time.monotonic()
        status, reason, _ = retry.post(f"{scripted}/{step},", KEY, b"{}", 0.5)
        assert status is None and time.monotonic() - began < 1.5, f"{step}: {status} {reason} after {time.monotonic() - began} s"


def tell_what_was_rejected(scripted: str) -> None:
    told = []
    signals = [SIGNAL, SIGNAL | {"n": 1}]
    answer = retry.send_batch(signals, f"{scripted}/rejected,", KEY, on_rejected=lambda *rejected: told.append(rejected))
    assert (answer["accepted"], told) == (1, [(answer["fieldErrors"], signals)]), told
    with mock.patch("logging.error") as error:
        retry.send_batch(signals, f"{scripted}/rejected,", KEY)
    error.assert_called_once_with(mock.ANY, "/signals/0/eventType: signals[0].eventType must not be blank.")


def read_a_response_to_a_request_that_was_cut(scripted: str) -> None:
    request = http.client.HTTPConnection.request
    # What a send raises when the server closed the connection: the last one is that of TLS.
    for number, error in enumerate((BrokenPipeError(), ConnectionResetError(), ssl.SSLEOFError(8, "EOF occurred"))):
        def send_and_fail(*arguments, **options):
            request(*arguments, **options)
            raise error

        with mock.patch("http.client.HTTPConnection.request", send_and_fail):
            assert retry.post(f"{scripted}/413,drop,{number}", KEY, b"{}", 10)[0] == 413
            status, reason, _ = retry.post(f"{scripted}/413,drop,{number}", KEY, b"{}", 10)
            assert status is None and "RemoteDisconnected" in reason, (status, reason)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        status, reason, _ = retry.post(f"http://127.0.0.1:{unused.getsockname()[1]}", KEY, b"{}", 10)
    assert status is None and "refused" in reason, (status, reason)


def meet_a_limit(scripted: str) -> None:
    # Large enough that the server closes the connection while the body is sent.
    large = SIGNAL | {"data": {"text": "x" * 4_000_000}}
    url = f"{scripted}/early-413,"
    try:
        retry.send_batch([large], url, KEY)
        raise AssertionError("a 413 before the body was read was no error")
    except retry.Refused as error:
        assert "413" in str(error), error
        assert len(log(url)) == 1, "a 413 before the body was read was sent again"
    room = MAX_BODY_BYTES - len(json.dumps({"requestIdentifier": str(uuid.UUID(int=0)), "signals": [SIGNAL | {"data": {"text": ""}}]}))
    for extra, requests in ((0, 1), (1, 0)):
        # The program in TypeScript uses the same scripts with fewer commas.
        url = f"{scripted}/413,,,,{',' * extra}"
        try:
            retry.send_batch([SIGNAL | {"data": {"text": "x" * (room + extra)}}], url, KEY)
            raise AssertionError("a body at the limit was no error")
        except retry.Refused as error:
            assert len(log(url)) == requests, error


def meet_a_long_outage() -> None:
    """More attempts than a float has binary exponents, as in an outage of a day."""
    waits = []

    def post(_url: str, _key: str, body: bytes, _timeout: float) -> tuple:
        if len(waits) < 2_000:
            return None, "no response", None
        return 200, json.dumps({"requestIdentifier": json.loads(body)["requestIdentifier"], "accepted": 1, "fieldErrors": []}), None

    with mock.patch.multiple(retry, post=post), mock.patch("time.sleep", waits.append), \
            mock.patch("random.uniform", lambda low, high: high):
        assert retry.send_batch([SIGNAL], "https://a.test", KEY)["accepted"] == 1
    assert waits == [1, 2, 4, 8, 16, 32] + [60] * 1_994, waits[:9]


def refuse_what_json_cannot_write(scripted: str) -> None:
    url = f"{scripted}/200,,,"
    for value in (math.nan, math.inf, -math.inf, [{"a": math.nan}], {math.nan: 1}, {1, 2}, object()):
        try:
            retry.send_batch([SIGNAL, SIGNAL | {"data": {"price": value}}], url, KEY)
            raise AssertionError(f"{value} was no error")
        except ValueError as error:
            assert str(error).startswith("signals[1] cannot be written as JSON, which has no NaN"), error
    assert log(url) == [], "a part of the batch was sent"


def refuse_what_cannot_be_sent(scripted: str) -> None:
    for address in ("localhost:9000", "http://", "https:///", "http://a.test:port", "http://a.test:0", "http://u:secret@a.test", "http://a b.test",
                    "http://a.test/\n", "http://u:secret℀@a.test", None):
        try:
            retry.send_batch([SIGNAL], address, KEY)
            raise AssertionError(f"the address {address!r} was no error")
        except ValueError as error:
            assert "secret" not in str(error), error
    url = f"{scripted}/200,,,,,,,"
    for key in ("", "\n", None, "secret\nkey", "secret key", "secret-ключ", "secret-é", "secret\x00"):
        try:
            retry.send_batch([SIGNAL], url, key)
            raise AssertionError(f"the key {key!r} was no error")
        except ValueError as error:
            assert "secret" not in str(error), error
    assert log(url) == [], "a request with a key that cannot be sent was sent"
    retry.send_batch([SIGNAL], url, f"{KEY}\r\n")
    assert [request["authorization"] for request in log(url)] == [f"Bearer {KEY}"]


def count_the_hours_in_which_the_computer_sleeps() -> None:
    """A computer that sleeps stops time.monotonic, and the service forgets the requestIdentifier all the same."""
    for asleep in ("post", "sleep"):
        now = [time.time()]
        posted = []

        def pass_a_day(place: str) -> None:
            if place == asleep:
                now[0] += 25 * 3600

        def post(*_: object) -> tuple[None, str, None]:
            posted.append(now[0])
            pass_a_day("post")
            return None, "no response", None

        sleep = mock.patch("time.sleep", lambda _: pass_a_day("sleep"))
        with mock.patch.multiple(retry, post=post), sleep, mock.patch("time.time", lambda: now[0]):
            try:
                retry.send_batch([SIGNAL], "https://a.test", KEY)
                raise AssertionError("it did not give up after 25 hours")
            except retry.GaveUp:
                pass
        assert len(posted) == 1, f"it sent a batch after 25 hours, of which the computer slept in {asleep}"
    # Set back by ten hours: 20 hours after the first attempt, the clock shows that ten have passed.
    clocks = {"time": 36_000.0, "monotonic": 0.0}
    waits = []

    def wait(_: float) -> None:
        waits.append(clocks["monotonic"])
        clocks["monotonic"] += 4 * 3600
        clocks["time"] += 4 * 3600 - (10 * 3600 if len(waits) == 1 else 0)

    with mock.patch.multiple(retry, post=lambda *_: (503, "", None)), mock.patch("time.sleep", wait), \
            mock.patch("time.time", lambda: clocks["time"]), mock.patch("time.monotonic", lambda: clocks["monotonic"]):
        try:
            retry.send_batch([SIGNAL], "https://a.test", KEY, give_up_after=math.inf)
            raise AssertionError("it did not give up")
        except retry.GaveUp:
            pass
    assert waits[-1] <= 24 * 3600, f"it went on for {waits[-1] / 3600} hours"


def send(batch: int) -> dict:
    signals = [{"customerId": f"py-{batch % 4}", "eventType": "t", "data": {"n": batch * 5 + n}} for n in range(5)]
    return retry.send_batch(signals, os.environ["BASE_URL"], KEY, timeout=int(os.environ["TIMEOUT_MS"]) / 1_000)


def main() -> None:
    # Short waits; not none, which would hide a wait that is too long.
    random.uniform = lambda low, high: low + 0.02 * (high - low)
    logging.disable(logging.WARNING)
    if scripted := os.environ.get("SCRIPTED_URL"):
        meet_scripted_answers(scripted)
        return
    with ThreadPoolExecutor(8) as pool:
        for answer in pool.map(send, range(40)):
            assert (answer["accepted"], answer["rejected"]) == (5, 0), answer


if __name__ == "__main__":
    main()
