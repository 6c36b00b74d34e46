"""Requests to a deployed API, as client applications send them."""

import http.client
import json
import urllib.parse

TIMEOUT_SECONDS = 20


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
