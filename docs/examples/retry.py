"""Sends a batch of signals, and sends it again until it is answered: docs/clients.md, The retry recipe."""

import http.client
import json
import logging
import random
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError as FutureTimeout

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_WAIT = 60.0
# After this time, the service forgets the requestIdentifier, and would store the batch a second time.
FORGET_AFTER = 24 * 3600.0
# The longest wait is reached before this attempt. A larger exponent would only be too large for a float.
MAX_EXPONENT = 7


class Refused(Exception):
    """The request is wrong: it must not be sent again unchanged."""


class GaveUp(Exception):
    """No answer in time; some signals may be stored."""


def log_rejected(field_errors: list[dict], signals: list[dict]) -> None:
    logging.error("The service rejected signals: %s", " ".join(f"{error['pointer']}: {error['message']}" for error in field_errors))


def send_batch(signals: list[dict], base_url: str, key: str, timeout: float = 60.0, give_up_after: float = FORGET_AFTER,
               on_rejected: Callable[[list[dict], list[dict]], None] = log_rejected) -> dict:
    """Returns the response of a 200. Times are in seconds: of one attempt (30 or more), and until it gives up (24 hours or less).
    `on_rejected` gets the field errors and the signals of a batch that the service stored in part."""
    # A malformed address, key or signal is refused before the first attempt.
    check_address(base_url)
    key = checked_key(key)
    # The same body in each attempt, so that the signals are stored once.
    request_identifier = str(uuid.uuid4())
    body = make_body(request_identifier, signals)
    give_up_after = min(give_up_after, FORGET_AFTER)
    age = Age()
    attempt = 0
    while True:
        attempt += 1
        status, text, retry_after = post(f"{base_url}/api/event-flows/signal", key, body, timeout)
        answer = read_answer(text, request_identifier) if status == 200 else None
        if answer is not None:
            if answer["fieldErrors"]:
                on_rejected(answer["fieldErrors"], signals)
            return answer
        last = f"no response, {text}" if status is None else f"{status}: {text}"
        if not is_repeated(status):
            raise Refused(f"The batch was refused with {last}")
        if status is not None and status < 300:
            logging.warning("This is no response of the service, so the batch is sent again. Is %s right? %s", base_url, last[:300])
        wait = wait_before(attempt, retry_after)
        is_time_left = age.seconds() + wait + timeout <= give_up_after
        if is_time_left:
            time.sleep(wait)
            # The computer may have slept longer.
            is_time_left = age.seconds() + timeout <= give_up_after
        if not is_time_left:
            raise GaveUp(f"Gave up after {attempt} attempts; some signals may be stored. Last: {last}")


def is_repeated(status: int | None) -> bool:
    """Includes the 2xx of another server, such as a proxy's page: it does not say that the batch is stored."""
    return status is None or status < 300 or status in (408, 425, 429) or status >= 500


def read_answer(text: str, request_identifier: str) -> dict | None:
    """None if the text is not the service's answer to this batch."""
    try:
        answer = json.loads(text)
    except ValueError:
        return None
    is_of_service = isinstance(answer, dict) and answer.get("requestIdentifier") == request_identifier
    has_counts = is_of_service and isinstance(answer.get("accepted"), int) and isinstance(answer.get("fieldErrors"), list)
    return answer if has_counts else None


class Age:
    """Measures the time since it was made. The computer's clock can be set back, and the steady one stops while the computer sleeps:
    of each step, the longer one counts."""

    def __init__(self) -> None:
        self.clock, self.steady, self.passed = time.time(), time.monotonic(), 0.0

    def seconds(self) -> float:
        clock, steady = time.time(), time.monotonic()
        self.passed += max(clock - self.clock, steady - self.steady)
        self.clock, self.steady = clock, steady
        return self.passed


def check_address(base_url: str) -> None:
    """Raises a ValueError for an address to which nothing can be sent."""
    try:
        parts = urllib.parse.urlsplit(base_url or "")
        has_host = base_url.startswith(("https://", "http://")) and parts.hostname and parts.username is None and parts.port != 0
    except (AttributeError, ValueError):
        has_host = False  # It is None, or its host or port is malformed. The reason may show a password.
    if not has_host or not base_url.isprintable() or " " in base_url:
        raise ValueError("The base address must begin with https:// or http:// and a host, and have no space and no user name.")


def checked_key(key: str) -> str:
    """The key without the line break of the file it was read from. A message of http.client would show a key that no header can have."""
    stripped = (key or "").strip()
    if not stripped or not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise ValueError("The key is empty, or has a character that no key has: a space, a line break, or one that is not ASCII.")
    return stripped


def make_body(request_identifier: str, signals: list[dict]) -> bytes:
    """The body of all attempts. Raises a ValueError for what JSON cannot write."""
    for index, signal in enumerate(signals):
        try:
            json.dumps(signal, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"signals[{index}] cannot be written as JSON, which has no NaN and no Infinity: {error}") from error
    body = json.dumps({"requestIdentifier": request_identifier, "signals": signals}).encode()
    if len(body) > MAX_BODY_BYTES:
        raise Refused(f"The body has {len(body)} bytes, and may have {MAX_BODY_BYTES}: send fewer signals at once.")
    return body


class EarlyAnswers(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    """Reads the response of a server that answers, such as with 413, and closes the connection before it has read the body."""

    def do_open(self, http_class, request, **options):
        class Connection(http_class):
            def request(self, *arguments, **options):
                self.connect()
                try:
                    super().request(*arguments, **options)
                except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
                    pass  # If there is no response, urllib fails when it reads one.

        return super().do_open(Connection, request, **options)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: followed, it would take the key elsewhere."""

    def redirect_request(self, *arguments):
        return None


OPENER = urllib.request.build_opener(EarlyAnswers, NoRedirects)


def post(url: str, key: str, body: bytes, timeout: float) -> tuple[int | None, str, str | None]:
    """Returns the status, the body and Retry-After when all has arrived. Without a response in time, returns only the reason."""
    future: Future = Future()

    def attempt() -> None:
        try:
            future.set_result(receive(url, key, body, timeout))
        except BaseException as error:
            future.set_exception(error)

    # urllib's timeout is one of each read. A thread that is given up ends with its connection, or with the program.
    threading.Thread(target=attempt, daemon=True).start()
    try:
        return future.result(timeout)
    except FutureTimeout:
        return None, f"no whole response within {timeout} s", None


def receive(url: str, key: str, body: bytes, timeout: float) -> tuple[int | None, str, str | None]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers, method="POST")
    try:
        try:
            response = OPENER.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            # This exception is a response too: its body can be cut off like that of a 200.
            response = error
        with response:
            return response.status, response.read().decode(errors="replace"), response.headers.get("Retry-After")
    except (OSError, http.client.HTTPException) as error:
        return None, repr(error), None


def wait_before(attempt: int, retry_after: str | None) -> float:
    if retry_after and retry_after.isdecimal():
        return float(retry_after)
    return random.uniform(0, min(0.5 * 2 ** min(attempt, MAX_EXPONENT), MAX_WAIT))
