"""Sends a batch of signals, and sends it again until it is answered: docs/clients.md, The retry recipe."""

import http.client
import json
import random
import time
import urllib.error
import urllib.request
import uuid

RETRIED = (429, 500, 502, 503, 504)
MAX_WAIT = 60.0


class Refused(Exception):
    """The request is wrong: it must not be sent again unchanged."""


class GaveUp(Exception):
    """No answer in time; some signals may be stored."""


def send_batch(signals: list[dict], base_url: str, key: str, timeout: float = 60.0, give_up_after: float = 24 * 3600.0) -> dict:
    """Returns the response of a 200. Times are in seconds; the service forgets the requestIdentifier after 24 hours."""
    if not base_url.startswith(("https://", "http://")):
        raise ValueError("The base address must begin with https:// or http://.")
    # The same body in each attempt, so that the signals are stored once.
    body = json.dumps({"requestIdentifier": str(uuid.uuid4()), "signals": signals}).encode()
    give_up_at = time.monotonic() + give_up_after
    attempt = 0
    while True:
        attempt += 1
        status, text, retry_after = post(f"{base_url}/api/event-flows/signal", key, body, timeout)
        if status == 200:
            return json.loads(text)
        if status is not None and status not in RETRIED:
            raise Refused(f"The batch was refused with {status}: {text}")
        wait = wait_before(attempt, retry_after)
        if time.monotonic() + wait + timeout > give_up_at:
            raise GaveUp(f"Gave up after {attempt} attempts; some signals may be stored. Last: {status or f'no response, {text}'}")
        time.sleep(wait)


def post(url: str, key: str, body: bytes, timeout: float) -> tuple[int | None, str, str | None]:
    """The status, the body and Retry-After, once they are there as a whole. Without a response: no status, and the reason."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers, method="POST")
    try:
        try:
            response = urllib.request.urlopen(request, timeout=timeout)
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
    return random.uniform(0, min(0.5 * 2**attempt, MAX_WAIT))
