"""The client application of the browser checks: it sends what .ci/inspector then looks for."""

import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping


class Client:
    """The application under development."""

    def __init__(self, variables: Mapping[str, str]):
        self.base_url, self.key = variables["BASE_URL"], variables["API_KEY"]
        self.inspector_url = variables["INSPECTOR_URL"]

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

    def reset(self) -> None:
        """As a test does before it begins."""
        request = urllib.request.Request(self.inspector_url + "/reset", b"", {"X-Intake-Inspector": "1"}, method="POST")
        urllib.request.urlopen(request, timeout=60).close()

    def send_raw(self, method: str, path: str, headers: Mapping[str, str], body: str) -> None:
        """Sends what no library would: any method, path and header that HTTP/1.1 can carry."""
        content = body.encode()
        host = urllib.parse.urlsplit(self.base_url)
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host.netloc}", f"Content-Length: {len(content)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        with socket.create_connection((host.hostname, host.port), timeout=60) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + content)
            while connection.recv(65536):
                pass

    def signals(self, body: str | bytes, key: str = "", **headers: str) -> int:
        return self.send("POST", "/api/event-flows/signal", body, key, **headers)
