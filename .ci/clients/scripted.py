"""A service whose answers are written in its address: BASE/503-3,drop,200 answers the first request with 503 and `Retry-After: 3`,
drops the connection of the second, and answers the third, and all that follow, with 200. GET BASE/.../log has the requests, and
BASE/.../stored how often each signal was stored, by its `n`.

200 and rejected store the batch once for each requestIdentifier, as the service does; rejected, without its first signal. stored-drop
stores the batch, too, and so does each step with stored- before it. forget-200 is a 200 of a service that has forgotten all identifiers,
as after 24 hours. Other steps than a status:

- drop, hang: no response, and the connection is closed, or stays. drip: a response that never ends.
- html, json, echo: a 200 of another server. redirect: a 302 to another host, where the address begins with "elsewhere-".
- cut-503: a 503 whose body breaks off. latin-502: a 502 whose body is not UTF-8. early-413: a 413 of a server that closes the
  connection without having read the body.
- later: the 200 of a later version.
"""

import json
import socket
import sys
import threading
import time
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PLAIN = {"field": "f", "pointer": "/f", "message": "m"}
# What a later version may add: members, codes and results that no client knows yet.
LATER = {
    "requestIdentifier": "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11", "received": 3, "accepted": 2, "rejected": 1, "deferred": 2,
    "replayed": False, "fieldErrors": [PLAIN | {"code": "later-error"}], "warnings": [PLAIN | {"code": "later-warning"}],
    "laterMember": {"a": 1},
}
LATER_CUSTOMER = {"customerId": "c", "result": "later-result", "updatedAt": "2026-11-20T22:33:44.123Z", "warnings": [], "laterMember": 1}
REJECTED = {"field": "signals[0].eventType", "pointer": "/signals/0/eventType", "code": "blank", "message": "signals[0].eventType must not be blank."}
# What a page of another origin may send, as template.yaml has it.
CORS = {
    "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "authorization, content-type", "Access-Control-Allow-Methods": "POST",
    "Access-Control-Expose-Headers": "Retry-After, x-request-id",
}
DRIP_SECONDS = 3


class Script:
    """What became of one address."""

    def __init__(self):
        self.requests = []
        # By requestIdentifier.
        self.bodies = {}
        # How often each signal was stored, by its n.
        self.stored = Counter()
        # The step of all requests from now on, when a check sets it.
        self.step = None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripts = defaultdict(Script)
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def do_OPTIONS(self):
        self.write(204, b"")

    def do_GET(self):
        name, question = self.path.split("/")[1], self.path.rsplit("/", 1)[1]
        if question == "log":
            self.answer(200, self.scripts[name].requests)
        elif question == "stored":
            self.answer(200, self.scripts[name].stored)
        else:
            self.do_POST()

    def do_POST(self):
        name = self.path.split("/")[1]
        script = self.scripts[name]
        with self.lock:
            request = {"at": time.monotonic(), "authorization": self.headers["Authorization"]}
            script.requests.append(request)
            # A comma at the end, and @ with a word, make another name for the same script.
            steps = ["json"] if name.startswith("elsewhere-") else name.partition("@")[0].strip(",").split(",")
            step = script.step or steps[min(len(script.requests), len(steps)) - 1]
        if step.startswith("early-"):
            self.answer(int(step.removeprefix("early-")), {"message": "scripted"})
            self.close_connection = True
            return
        request["body"] = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        answer = self.store(script, request["body"], step)
        if step in ("200", "rejected", "forget-200"):
            self.answer(*answer)
        else:
            self.fail(name, request["body"], step.removeprefix("stored-"))

    do_PATCH = do_POST

    def fail(self, name: str, body: str, step: str) -> None:
        if step == "drop":
            self.close_connection = True
        elif step == "hang":
            # Until the client closes the connection.
            self.rfile.read(1)
            self.close_connection = True
        elif step == "drip":
            self.drip()
        elif step == "redirect":
            self.write(302, b"", headers={"Location": f"http://localhost:{self.server.server_port}/elsewhere-{name}"})
        elif step == "html":
            self.write(200, b"<!doctype html><title>Sign in</title>", headers={"Content-Type": "text/html"})
        elif step == "json":
            self.answer(200, {"offline": True})
        elif step == "echo":
            self.write(200, body.encode())
        elif step.startswith("cut-"):
            # Less than it says: the response is not whole.
            self.answer(int(step.removeprefix("cut-")), {}, declared=1_000)
            self.close_connection = True
        elif step.startswith("latin-"):
            self.write(int(step.removeprefix("latin-")), "<h1>Passerelle indisponible : réessayez</h1>".encode("latin-1"))
        elif step == "later":
            self.answer(200, LATER_CUSTOMER if self.path.endswith("/customers") else LATER)
        else:
            status, _, seconds = step.partition("-")
            self.answer(int(status), {"message": "scripted"}, headers={"Retry-After": seconds} if seconds else {})

    def store(self, script: Script, body: str, step: str) -> tuple[int, dict] | None:
        """What the service does with a batch, and its answer. Nothing for a step that does not store."""
        if step not in ("200", "rejected") and not step.startswith(("stored-", "forget-")):
            return None
        batch = json.loads(body)
        identifier, signals = batch["requestIdentifier"], batch["signals"]
        errors = [REJECTED] if step.endswith("rejected") else []
        with self.lock:
            if step.startswith("forget-"):
                script.bodies.clear()
            is_replayed = identifier in script.bodies
            if is_replayed and script.bodies[identifier] != body:
                return 422, {"message": "reused", "code": "request-identifier-reused", "fieldErrors": []}
            if not is_replayed:
                script.bodies[identifier] = body
                script.stored.update(str(signal.get("n")) for signal in signals[len(errors):])
        return 200, {"requestIdentifier": identifier, "received": len(signals), "accepted": len(signals) - len(errors), "rejected": len(errors),
                     "replayed": is_replayed, "fieldErrors": errors, "warnings": []}

    def drip(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        end = time.monotonic() + DRIP_SECONDS
        try:
            while time.monotonic() < end:
                self.wfile.write(b" ")
                time.sleep(0.05)
        except OSError:
            pass  # The client is gone.
        self.close_connection = True

    def answer(self, status, value, declared=None, headers=None):
        self.write(status, json.dumps(value).encode(), declared, headers)

    def write(self, status, body, declared=None, headers=None):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(declared or len(body)))
        for name, header in {"Content-Type": "application/json", **CORS, **(headers or {})}.items():
            self.send_header(name, header)
        self.end_headers()
        self.wfile.write(body if status != 204 else b"")


class Service(ThreadingHTTPServer):
    """Answers on a port of its own."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.connections = []
        self.is_stopped = False
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def process_request(self, request, client_address):
        if self.is_stopped:
            self.shutdown_request(request)
            return
        self.connections.append(request)
        super().process_request(request, client_address)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def stop(self) -> None:
        """Breaks every connection, and each new one until `go_on`. (A port that is closed may be another program's before it is opened again.)"""
        self.is_stopped = True
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It is closed.

    def go_on(self) -> None:
        self.is_stopped = False


def start() -> str:
    """Starts it, and returns its address."""
    return Service().url
