"""Uses a deployed API once as client applications do, and fails when an answer is not the one they need.

    INTAKE_API_KEY=... python3 tests/deploy/smoke.py https://the.api
    INTAKE_API_KEY=... python3 tests/deploy/smoke.py https://the.api --origins https://shop.example

With the stack's CorsOrigins it also asks as a browser does for a page of each of them, and for one of another origin.
Needs only Python. It leaves one customer and two signals (two more for each origin) in the key's account, the same ones
each time it runs but for the signals' time of arrival.
"""

import argparse
import http.client
import json
import os
import sys
import urllib.parse

TIMEOUT_SECONDS = 20
# What a page sends beside what every browser lets it.
ASKED_HEADERS = {"authorization", "content-encoding", "content-type", "prefer"}
CUSTOMER = {"customerId": "smoke-test", "customerData": {"firstName": "Smoke", "city": ""}}
SIGNALS = {
    "signals": [
        {"customerId": "smoke-test", "eventType": "smoke_test", "data": {"price": 12.50}},
        {
            "emitterId": "8f14e45f-ceea-467f-a0e6-5b2c4f0d7f10",
            "stepNodeId": "start",
            "data": {},
            "eventflowIdentifier": "8f14e45f-ceea-467f-a0e6-5b2c4f0d7f11",
        },
    ]
}


class Api:
    """The API at `url`. `host` stands in for the host name where the address does not carry it."""

    def __init__(self, url: str, key: str, host: str | None = None):
        self.url = urllib.parse.urlsplit(url)
        self.key = key
        self.host = host

    def call(self, method: str, path: str, body=None, key: str | None = None,
             more: dict[str, str] | None = None) -> tuple[int, dict[str, str], object]:
        """Status, headers (names in lower case) and JSON body of the answer to a request with `more` headers."""
        secure = self.url.scheme == "https"
        connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = connect(self.url.hostname, self.url.port, timeout=TIMEOUT_SECONDS)
        headers = {"Content-Type": "application/json"} | (more or {})
        key = self.key if key is None else key
        if key:
            headers["Authorization"] = f"Bearer {key}"
        if self.host:
            headers["Host"] = self.host
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, self.url.path.rstrip("/") + path, text, headers)
            answer = connection.getresponse()
            content = answer.read()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, headers, json.loads(content) if content else None
        finally:
            connection.close()


def check(api: Api) -> list[str]:
    """What is wrong with the API's answers, a sentence each."""
    wrong = []

    def expect(what: str, wanted, got) -> None:
        if wanted != got:
            wrong.append(f"{what}: wanted {wanted!r}, got {got!r}.")

    status, _, body = api.call("GET", "/api/sdk/ping")
    expect("GET /api/sdk/ping", (200, {"response": "pong"}), (status, body))

    status, headers, body = api.call("GET", "/api/sdk/ping", key="")
    expect("GET /api/sdk/ping without a key", (401, "application/problem+json"), (status, headers.get("content-type")))
    expect("its fieldErrors", [], (body or {}).get("fieldErrors"))

    status, headers, body = api.call("POST", "/api/customers", CUSTOMER)
    expect("POST /api/customers", (200, "smoke-test"), (status, (body or {}).get("customerId")))
    expect("that its answer has an x-request-id", True, "x-request-id" in headers)

    status, _, body = api.call("POST", "/api/event-flows/signal", SIGNALS)
    counts = tuple((body or {}).get(count) for count in ("received", "accepted", "rejected"))
    expect("POST /api/event-flows/signal", (200, (2, 2, 0)), (status, counts))

    status, headers, _ = api.call("DELETE", "/api/customers")
    expect("DELETE /api/customers", (405, True), (status, "allow" in headers))
    return wrong


def check_pages(api: Api, origins: list[str]) -> list[str]:
    """The errors in the CORS responses for pages of these origins, a sentence each."""
    wrong = []

    def preflight(origin: str) -> tuple[int, dict[str, str]]:
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST",
                 "Access-Control-Request-Headers": ",".join(sorted(ASKED_HEADERS))}
        status, headers, _ = api.call("OPTIONS", "/api/event-flows/signal", key="", more=asked)
        return status, headers

    def listed(headers: dict[str, str], name: str) -> set[str]:
        return {item.strip().lower() for item in headers.get(name, "").split(",")}

    for configured in origins:
        # API Gateway allows every origin, or every one of a scheme, by a star.
        origin = "https://a.example" if configured == "*" else configured.replace("*", "a.example")
        allowed = (origin, "*")
        status, headers = preflight(origin)
        if not 200 <= status <= 299:
            wrong.append(f"A preflight from {origin}: wanted a status of 2xx, got {status}.")
        if headers.get("access-control-allow-origin") not in allowed:
            wrong.append(f"A preflight from {origin}: the origin is not allowed.")
        if "post" not in listed(headers, "access-control-allow-methods"):
            wrong.append(f"A preflight from {origin}: POST is not allowed.")
        missing = ASKED_HEADERS - listed(headers, "access-control-allow-headers")
        if missing:
            wrong.append(f"A preflight from {origin}: not allowed are {', '.join(sorted(missing))}.")
        status, headers, _ = api.call("POST", "/api/event-flows/signal", SIGNALS, more={"Origin": origin})
        if (status, headers.get("access-control-allow-origin") in allowed) != (200, True):
            wrong.append(f"A batch from {origin}: the page cannot read the answer, of status {status}.")
    if not any(origin.endswith("*") for origin in origins):
        _, headers = preflight("https://another.invalid")
        if "access-control-allow-origin" in headers:
            wrong.append("A preflight from an origin that is not configured: the origin is allowed.")
    return wrong


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("url", help="the BaseUrl of the stack's outputs")
    arguments.add_argument("--host", help="the Host header, where it is not the address's own")
    arguments.add_argument("--origins", default="", help="the CorsOrigins of the stack's outputs, where it has any")
    given = arguments.parse_args()
    origins = [origin for origin in given.origins.split(",") if origin]
    key = os.environ.get("INTAKE_API_KEY")
    if not key:
        print("Set INTAKE_API_KEY to a key of the API.", file=sys.stderr)
        return 2
    try:
        api = Api(given.url, key, given.host)
        wrong = check(api) + (check_pages(api, origins) if origins else [])
    except (OSError, ValueError, http.client.HTTPException) as error:
        wrong = [f"The API at {given.url} did not answer in JSON: {error}"]
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"{given.url} {'does not answer' if wrong else 'answers'} as it should.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
