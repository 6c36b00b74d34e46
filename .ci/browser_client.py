"""The client application of the browser checks: it sends what .ci/inspector.py then looks for."""

import urllib.error
import urllib.request
from collections.abc import Mapping


class Client:
    """The application under development."""

    def __init__(self, variables: Mapping[str, str]):
        self.base_url, self.key = variables["BASE_URL"], variables["API_KEY"]

    def send(self, method: str, path: str, body: str | bytes | None = None, key: str | None = "", **headers: str) -> int:
        if key is not None:
            headers["Authorization"] = f"Bearer {key or self.key}"
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        body = body.encode() if isinstance(body, str) else body
        request = urllib.request.Request(self.base_url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    def signals(self, body: str | bytes, **headers: str) -> int:
        return self.send("POST", "/api/event-flows/signal", body, **headers)
