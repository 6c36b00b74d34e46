"""Sends a batch of signals, and sends it again until it is answered: docs/clients.md, The retry recipe."""

import http.client
import json
import random
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

RETRIED = (429, 500, 502, 503, 504)
MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_WAIT = 60.0
# The longest wait is reached before this attempt. A larger exponent would only be too large for a float.
MAX_EXPONENT = 7


class Refused(Exception):
    """The request is wrong: it must not be sent again unchanged."""


class GaveUp(Exception):
    """No answer in time; some signals may be stored."""


def send_batch(signals: list[dict], base_url: str, key: str, timeout: float = 60.0, give_up_after: float = 24 * 3600.0) -> dict:
    """Returns the response of a 200. Times are in seconds; the service forgets the requestIdentifier after 24 hours."""
    # What cannot be sent is refused before the first attempt: another attempt would not change it.
    check_address(base_url)
    key = checked_key(key)
    # The same body in each attempt, so that the signals are stored once.
    body = make_body(signals)
    # The clock of the computer, as time.monotonic stops while it sleeps.
    give_up_at = time.time() + give_up_after
    attempt = 0
    while True:
        attempt += 1
        status, text, retry_after = post(f"{base_url}/api/event-flows/signal", key, body, timeout)
        if status == 200:
            return json.loads(text)
        if status is not None and status not in RETRIED:
            raise Refused(f"The batch was refused with {status}: {text}")
        wait = wait_before(attempt, retry_after)
        is_time_left = time.time() + wait + timeout <= give_up_at
        if is_time_left:
            time.sleep(wait)
            # The computer may have slept longer.
            is_time_left = time.time() + timeout <= give_up_at
        if not is_time_left:
            raise GaveUp(f"Gave up after {attempt} attempts; some signals may be stored. Last: {status or f'no response, {text}'}")


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


def make_body(signals: list[dict]) -> bytes:
    """The body of all attempts. Raises a ValueError for what JSON cannot write."""
    for index, signal in enumerate(signals):
        try:
            json.dumps(signal, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"signals[{index}] cannot be written as JSON, which has no NaN and no Infinity: {error}") from error
    body = json.dumps({"requestIdentifier": str(uuid.uuid4()), "signals": signals}).encode()
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


OPENER = urllib.request.build_opener(EarlyAnswers)


def post(url: str, key: str, body: bytes, timeout: float) -> tuple[int | None, str, str | None]:
    """The status, the body and Retry-After, once they are there as a whole. Without a response: no status, and the reason."""
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
