"""A service whose answers are written in its address: BASE/503-3,drop,200 answers the first request with 503 and `Retry-After: 3`,
drops the connection of the second, and answers the third, and all that follow, with 200. GET BASE/.../log has the requests.
cut-503 is a 503 whose body breaks off; latin-502 a 502 whose body is not UTF-8; early-413 a 413 of a server that closes the connection
without having read the body.
"""

import json
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PLAIN = {"field": "f", "pointer": "/f", "message": "m"}
# What a later version may add: members, codes and results that no client knows yet.
LATER = {
    "requestIdentifier": "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11", "received": 3, "accepted": 2, "rejected": 1, "deferred": 2,
    "replayed": False, "fieldErrors": [PLAIN | {"code": "later-error"}], "warnings": [PLAIN | {"code": "later-warning"}],
    "laterMember": {"a": 1},
}
LATER_CUSTOMER = {"customerId": "c", "result": "later-result", "updatedAt": "2026-11-20T22:33:44.123Z", "warnings": [], "laterMember": 1}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = defaultdict(list)
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(200, self.requests[self.path.split("/")[1]])

    def do_POST(self):
        name = self.path.split("/")[1]
        with self.lock:
            request = {"at": time.monotonic(), "authorization": self.headers["Authorization"]}
            self.requests[name].append(request)
            # A comma at the end makes another name for the same script.
            steps = name.strip(",").split(",")
            step = steps[min(len(self.requests[name]), len(steps)) - 1]
        if step.startswith("early-"):
            self.answer(int(step.removeprefix("early-")), {"message": "scripted"})
            self.close_connection = True
            return
        request["body"] = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if step == "drop":
            self.close_connection = True
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

    do_PATCH = do_POST

    def answer(self, status, value, declared=None, headers=None):
        self.write(status, json.dumps(value).encode(), declared, headers)

    def write(self, status, body, declared=None, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(declared or len(body)))
        for name, header in (headers or {}).items():
            self.send_header(name, header)
        self.end_headers()
        self.wfile.write(body)


def start() -> str:
    """Starts it, and returns its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
