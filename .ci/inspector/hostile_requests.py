"""Requests that would attack the page, or the shell into which a developer copies one."""

import json
import os
import re
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import expect

from .page import UNKNOWN_KEY, InspectorPage

HOSTILE = '</script><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
RUN = "$(touch${IFS}ran)`touch ran`"
SIGNALS_PATH = "/api/event-flows/signal"
JSON = {"Content-Type": "application/json"}
# What a client may send to have the line of `Copy as curl` do something else: method, path, headers, body.
HOSTILE_REQUESTS = [
    ("POST", SIGNALS_PATH, JSON | {"Authorization": f"{RUN} abc"}, "{}"),
    ("POST", SIGNALS_PATH, JSON | {"Authorization": f"\"{RUN}' abc"}, "{}"),
    ("POST", SIGNALS_PATH, JSON | {"Authorization": "Bearer unknown"}, "@/etc/hostname"),
    ("POST", SIGNALS_PATH, {"Content-Type": f"text/plain'{RUN}", "Prefer": f"a';touch ran;'\"{RUN}", "Origin": "\\\\';touch ran #"}, "a=b&c"),
    ("POST", SIGNALS_PATH, {}, f"';touch ran;'\"{RUN}\\\n$HOME !! é李\n\n"),
    ("POST", SIGNALS_PATH, JSON, "\0\x1b[201~\r\ntouch ran\r\n\x03\u202e\x9b%s\\n%%'\\''\n"),
    ("POST", SIGNALS_PATH, JSON, "'%\\" * 100_000),
    ("POST", "/api/[1-9]{a,b}/../$HOME'$(touch$IFS'ran')", JSON, "{}"),
    ("X'`touch$IFS!ran`", "/api/customers", {}, ""),
    ("HEAD", "/api/sdk/ping", {}, ""),
]


class Recorder(ThreadingHTTPServer):
    """Keeps the requests that curl sends: method, path, the headers that a line may have, and body."""

    COPIED = ("authorization", "content-type", "prefer", "origin")

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self._handler())
        self.address, self.requests = f"http://127.0.0.1:{self.server_port}", []

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def _handler(recorder):
        class Handler(BaseHTTPRequestHandler):
            def __getattr__(self, name):
                if not name.startswith("do_"):
                    raise AttributeError(name)
                return self._answer

            def _answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                headers = {name.lower(): value for name, value in self.headers.items() if name.lower() in Recorder.COPIED}
                recorder.requests.append((self.command, self.path, headers, body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler


class HostileRequests(InspectorPage):
    """Requests that would attack the page, or the shell into which a developer copies one."""

    def hostile_strings_stay_text(self) -> None:
        self.client.signals(json.dumps({"signals": [{"customerId": HOSTILE, "eventType": HOSTILE, HOSTILE: 1}]}))
        self.client.send("POST", "/api/customers", json.dumps({"customerId": "c", "customerData": {HOSTILE: HOSTILE}}))
        self.client.send("GET", "/api/%3Cimg%20src=x%20onerror=alert(1)%3E")
        self._open_newest("404")
        self.rows.nth(2).click()
        expect(self.detail.locator("pre").first).to_contain_text("</script><img src=x")
        assert self.page.locator("img").count() == 0
        assert self.page.evaluate("window.hacked") is None

    def hidden_characters_are_escaped_and_other_directions_move_nothing(self) -> None:
        hidden = "\u202eegasuf\u202c\u2066\u2069\u200e\u200f\u200b\u00ad\U000e0041\u00a0"
        escaped = r"\u202eegasuf\u202c\u2066\u2069\u200e\u200f\u200b\u00ad\udb40\udc41\u00a0"
        arabic = "\u0633\u0639\u0631"
        signal = {"customerId": arabic, "eventType": "a" + hidden, "data": {arabic: arabic, hidden: 1}}
        self.client.signals(json.dumps({"signals": [signal]}, ensure_ascii=False))
        self._open_newest("1 accepted")
        expect(self.rows.first.locator(".type")).to_have_text("a" + escaped)
        expect(self.detail.locator("dd", has_text=escaped)).to_have_text("a" + escaped)
        shown = self.detail.locator("pre").first
        expect(shown).to_contain_text(f'"{escaped}": 1')
        # The name stands before its value, and the comma after both.
        name, value = (shown.locator("bdi", has_text=arabic).nth(n).bounding_box() for n in (1, 2))
        assert name["x"] + name["width"] <= value["x"], (name, value)
        self.page.get_by_role("button", name="Edit and send").click()
        expect(self.page.get_by_label("Body")).to_have_value(re.compile(re.escape(escaped)))
        self.page.get_by_role("button", name="Cancel").click()
        self.client.signals('{"signals": [\n\u202e]]')
        self._open_newest("malformed-json")
        expect(self.detail.locator("pre").first).to_contain_text(r"\u202e")

    def hidden_characters_are_escaped_in_signals_and_customers(self) -> None:
        hidden = "\u202eegasuf\u202c\u200b"
        escaped = r"\u202eegasuf\u202c\u200b"
        self._tab("Signals")
        self._clear()
        signal = {"customerId": "c" + hidden, "eventType": "a" + hidden, "data": {"text": HOSTILE + hidden}}
        self.client.signals(json.dumps({"signals": [signal, {"customerId": "c" + hidden, hidden: HOSTILE}]}, ensure_ascii=False))
        self._expect_rows(3, "Signals")
        row = self.signals.first
        for cell, text in (("type", "a" + escaped), ("subject", "c" + escaped)):
            expect(row.locator(f".{cell}")).to_have_text(text)
            expect(row.locator(f".{cell}")).to_have_attribute("title", text)
        self._open(row)
        expect(self.detail.locator("h2")).to_have_text("a" + escaped)
        expect(self.detail.locator("pre")).to_contain_text("<img src=x")
        expect(self.detail.locator("pre")).to_contain_text(escaped)
        self.detail.get_by_role("link", name="c\\u202e").click()
        expect(self.page.locator("#customers h2")).to_have_text("c" + escaped)
        expect(self.page.get_by_label("customerId or emitterId")).to_have_value("")
        events = self.page.locator("#customers .events li")
        expect(events.first).to_contain_text("a" + escaped)
        events.first.locator("summary").click()
        expect(events.first.locator("pre")).to_contain_text(escaped)
        self.page.get_by_role("link", name="All customers").click()
        expect(self.page.locator("#customers li").first).to_contain_text("c" + escaped)
        self._tab("Rejected")
        expect(self.page.locator("#rejected .card h2").last).to_have_text("c" + escaped)
        assert self.page.locator("img").count() == 0
        assert self.page.evaluate("window.hacked") is None

    def request_is_copied_and_saved_without_a_secret_key(self) -> None:
        self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.client.signals("{\"signals\":[{\"customerId\":\"it's\",\"eventType\":\"e\"}]}")
        self._open_newest("1 accepted")
        self.page.get_by_role("button", name="Copy as curl").click()
        expect(self.detail).to_contain_text("Copied.")
        curl = self.page.evaluate("navigator.clipboard.readText()")
        assert '-H "Authorization: Bearer $API_KEY"' in curl and self.client.key not in curl and r"it'\''s" in curl, curl
        self.client.send("GET", "/api/sdk/ping", key=UNKNOWN_KEY)
        self._open_newest("unknown")
        self.page.get_by_role("button", name="Copy as curl").click()
        expect(self.detail).to_contain_text("Copied.")
        other = self.page.evaluate("navigator.clipboard.readText()")
        assert """-H 'Authorization: Bearer '"$OTHER_KEY\"""" in other and "$API_KEY" not in other, other
        self.rows.nth(1).click()
        expect(self.detail).to_contain_text("it's")
        with self.page.expect_download() as download:
            self.page.get_by_role("link", name="Save as API Gateway event").click()
        event = json.loads(Path(download.value.path()).read_text())
        assert event["version"] == "2.0" and json.loads(event["body"])["signals"][0]["customerId"] == "it's", event

    def copied_line_sends_the_request_and_runs_nothing_of_it(self) -> None:
        self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        with tempfile.TemporaryDirectory() as folder, Recorder() as recorder:
            for method, path, headers, body in HOSTILE_REQUESTS:
                self._clear()
                self.client.send_raw(method, path, headers, body)
                self._expect_rows(1)
                self.rows.first.click()
                self.page.get_by_role("button", name="Copy as curl").click()
                expect(self.detail).to_contain_text("Copied.")
                line = self.page.evaluate("navigator.clipboard.readText()")
                assert self.page.evaluate(f"OBEYED.test({json.dumps(line)})") is False, line
                environment = {"PATH": os.environ["PATH"], "HOME": folder, "BASE_URL": recorder.address, "API_KEY": "own", "OTHER_KEY": "other"}
                ran = subprocess.run(["sh"], input=line, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
                assert ran.returncode == 0 and not ran.stderr, (line, ran)
                assert os.listdir(folder) == [], (line, os.listdir(folder))
                shown = dict(headers)
                authorization = shown.get("Authorization")
                if authorization is not None:
                    shown["Authorization"] = authorization.split(" ")[0] + " other"
                expected = {name.lower(): value for name, value in shown.items()}
                assert recorder.requests.pop() == (method, path, expected, body), line
