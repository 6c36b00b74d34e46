"""Uses the inspector of a local stack in a real browser, as a developer does, and checks what it shows. Called by .ci/browser."""

import gzip
import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from browser_client import Client
from playwright.sync_api import Browser, Page, Route, expect

PROJECT = Path(__file__).resolve().parent.parent

# Only a hang reaches it.
SHOWN_WITHIN_MS = 30_000

DIGITS = "12345678901234567890.10"
BATCH = (
    '{"requestIdentifier":"0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11","signals":['
    '{"customerId":"c-1001","eventType":"purchase","data":{"price":' + DIGITS + ',"brand":"Acme"}},'
    '{"customerId":"c-1001","data":{"productId":"p-17"}},'
    '{"customerId":"c-1001","eventType":" "},'
    '{"customerId":"c-1001","eventType":"product_viewed","data":{"price":"49.90","category":"shoes"}}]}'
)
MALFORMED = '{\n  "signals": [{"customerId": "ä"},]\n}'
HOSTILE = '</script><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
# The number of no request.
UNKNOWN = "999999"
# The widths at which the page is tried: a phone, and screens of a laptop, a desk and a wall.
WIDTHS = (390, 1280, 1920, 2560)
AXE_WIDTHS = WIDTHS[:3]
# Answers that a check asks for, and that the browser reports as errors.
REFUSED = re.compile(r"/requests/[0-9]+$|/rejected/redrive")
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


def key_of(account: str) -> str:
    """A new key of this account, as the operator creates it."""
    program = PROJECT / "target" / "debug" / "intake"
    local = dict(os.environ)
    environment = {name: value for name, value in local.items() if name != "INTAKE_STACK"}
    if not program.exists():
        subprocess.run(["cargo", "build", "--quiet", "--locked", "--bin", "intake"], cwd=PROJECT, check=True)
    create = [program, "keys", "create", "--account", account, "--name", "browser"]
    return subprocess.run(create, env=environment, check=True, capture_output=True, text=True).stdout.strip()


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


class Inspector:
    """The page."""

    def __init__(self, page: Page, client: Client):
        self.page, self.client = page, client
        self.detail, self.rows = page.locator("#detail"), page.locator("#rows tr")

    def _clear(self) -> None:
        self.page.get_by_role("button", name="Clear").click()
        expect(self.rows).to_have_count(0)

    def _open_newest(self, text: str) -> None:
        expect(self.rows.first).to_contain_text(text)
        self.rows.first.click()
        expect(self.detail).to_have_attribute("data-n", self.rows.first.get_attribute("data-n"))

    def _marks(self) -> list:
        """Each mark of the body: its class, its text, and the line in which it is."""
        return self.detail.locator("pre").first.evaluate("""(pre) => {
            const lines = pre.textContent.split("\\n"), marks = [];
            for (const mark of pre.querySelectorAll("mark")) {
                const range = document.createRange();
                range.setStart(pre, 0);
                range.setEndBefore(mark);
                const line = range.toString().split("\\n").length;
                marks.push([mark.className, mark.textContent, lines[line - 1].trim().slice(0, 24), line]);
            }
            return marks;
        }""")

    # Each of the others is one check.

    def partial_batch_has_its_marks_at_their_places(self) -> None:
        self.client.signals(BATCH)
        self._open_newest("2 accepted, 2 rejected")
        marks = self._marks()
        places = [(kind, text) for kind, text, *_ in marks if "note" not in kind]
        assert places == [("bad", "{"), ("bad", '" "'), ("warned", "{"), ("warned", '"49.90",')], marks
        lines = [line for kind, *_, line in marks if "note" not in kind]
        sentences = [(kind, text.split(":")[0], line) for kind, text, _, line in marks if "note" in kind]
        assert sentences == [("bad note", "required", lines[0]), ("bad note", "blank", lines[1]), ("warned note", "contract-broken", lines[2]),
                             ("warned note", "contract-broken", lines[3]), ("warned note", "unexpected-type", lines[3])], marks
        starts = [start for kind, _, start, _ in marks if "note" not in kind]
        assert starts == ["{required: signals[1].ev", '"eventType": " "blank: s', '"data": {contract-broken', '"price": "49.90",contrac'], marks
        expect(self.detail).to_contain_text("2 errors, 2 breaks of event contracts, 1 warning")
        assert DIGITS in self.detail.locator("pre").first.inner_text()

    def malformed_json_has_its_place(self) -> None:
        self.client.signals(MALFORMED)
        self._open_newest("malformed-json")
        marks = self._marks()
        assert [(kind, text) for kind, text, *_ in marks][0] == ("bad", "]"), marks
        assert marks[0][3] == 2 and "line 2" in marks[1][1], marks

    def unauthorized_request_says_why(self) -> None:
        self.client.send("GET", "/api/sdk/ping", key="intake_sk_" + "0" * 64)
        self._open_newest("unknown")
        self.client.send("GET", "/api/sdk/ping", key=None)
        self._open_newest("missing: the request has no Authorization header")

    def preflight_of_another_origin_says_what_to_add(self) -> None:
        self.client.send("OPTIONS", "/api/customers", key=None, Origin="http://localhost:3000",
                         **{"Access-Control-Request-Method": "POST"})
        self._open_newest("OPTIONS")
        expect(self.rows.first).to_contain_text("add --cors http://localhost:3000")

    def compressed_body_is_shown_as_text(self) -> None:
        self.client.signals(gzip.compress(b'{"signals":[{"customerId":"g","eventType":"zipped"}]}'), **{"Content-Encoding": "gzip"})
        self._open_newest("1 accepted")
        expect(self.detail).to_contain_text("sent as gzip, shown decoded")
        expect(self.detail.locator("pre").first).to_contain_text('"eventType": "zipped"')

    def large_batches_are_shown(self) -> None:
        def signal(n: int, size: int) -> dict:
            return {"customerId": "many", "eventType": f"type-{n}", "data": {"text": "x" * size}}
        self.client.signals(json.dumps({"signals": [signal(n, 10) for n in range(499)] + [{"customerId": "last"}]}))
        self._open_newest("499 accepted, 1 rejected")
        assert [text.split(":")[0] for kind, text, *_ in self._marks() if "note" in kind] == ["required"]
        self.client.signals(json.dumps({"signals": [signal(n, 200_000) for n in range(20)]}))
        self._open_newest("20 accepted")
        expect(self.detail.locator("pre").first).to_contain_text("type-19")

    def hostile_strings_stay_text(self) -> None:
        self.client.signals(json.dumps({"signals": [{"customerId": HOSTILE, "eventType": HOSTILE, HOSTILE: 1}]}))
        self.client.send("POST", "/api/customers", json.dumps({"customerId": "c", "customerData": {HOSTILE: HOSTILE}}))
        self.client.send("GET", "/api/%3Cimg%20src=x%20onerror=alert(1)%3E")
        self._open_newest("404")
        self.rows.nth(2).click()
        expect(self.detail.locator("pre").first).to_contain_text("</script><img src=x")
        assert self.page.locator("img").count() == 0
        assert self.page.evaluate("window.hacked") is None

    def filter_selects_requests(self) -> None:
        self._clear()
        self.client.signals('{"signals":[{"customerId":"ada","eventType":"purchase"}]}')
        self.client.send("GET", "/api/nothing")
        self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(3)
        for text, wanted in (("4xx", "/api/nothing"), ("purchase", "ada"), ("ADA 200", "ada"), ("dev purchase", "ada"), ("ping 200", "ping"),
                             ("no such path: the paths", "/api/nothing"), ("1 accepted", "ada"), ("level:error", "/api/nothing"),
                             ("-level:error -ping", "ada")):
            self.page.keyboard.press("/")
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
            expect(self.rows).to_have_count(1)
            expect(self.rows).to_contain_text(wanted)
            self.page.keyboard.press("Escape")
            expect(self.rows).to_have_count(3)

    def request_is_sent_again(self) -> None:
        body = BATCH.replace("0b0c7a52", "1b0c7a52")
        self.client.signals(body)
        self._open_newest("2 accepted, 2 rejected")
        edit, send = (self.page.get_by_role("button", name=name, exact=True) for name in ("Edit and send", "Send"))
        is_new = self.page.get_by_label("with a new requestIdentifier")
        edit.click()
        expect(self.page.get_by_label("Body")).to_have_value(re.compile('"price": ' + DIGITS + ',\n        "brand"'))
        is_new.uncheck()
        send.click()
        expect(self.detail).to_contain_text("Sent again: 200, replayed.")
        edit.click()
        edit.click()
        expect(self.detail.locator("textarea")).to_have_count(1)
        # With the old one, a changed body would be a 422.
        expect(is_new).to_be_checked()
        self.page.get_by_label("Body").fill(body.replace("Acme", "Other"))
        send.click()
        expect(self.detail).to_contain_text("Sent again: 200.")
        shown = self.detail.locator("pre").first
        expect(shown).not_to_contain_text("1b0c7a52")
        expect(shown).to_contain_text(DIGITS)
        edit.click()
        self.page.locator("textarea").fill('{"signals":[{"customerId":"edited","eventType":"e"}]}')
        send.click()
        expect(shown).to_contain_text("edited")

    def request_has_an_address_that_survives_a_reload(self) -> None:
        self.client.signals(BATCH)
        self._open_newest("2 accepted, 2 rejected")
        n = self.detail.get_attribute("data-n")
        assert self.page.url.endswith(f"#{n}"), self.page.url
        self.client.send("GET", "/api/sdk/ping")
        self.page.reload()
        expect(self.detail).to_contain_text(f"#{n} POST /api/event-flows/signal")
        self.page.keyboard.press("Escape")
        expect(self.detail).to_be_hidden()

    def customer_and_rejected_signals_have_addresses_that_survive_a_reload(self) -> None:
        self.client.send("POST", "/api/customers", '{"customerId":"re loaded","customerData":{"firstName":"Grace"}}')
        self.page.get_by_role("button", name="Customer", exact=True).click()
        self.page.get_by_label("customerId or emitterId").fill("re loaded")
        self.page.get_by_role("button", name="Show").click()
        expect(self.page.locator("#customer pre")).to_contain_text('"firstName": "Grace"')
        self.page.reload()
        expect(self.page.locator("#customer pre")).to_contain_text('"firstName": "Grace"')
        expect(self.page.get_by_label("customerId or emitterId")).to_have_value("re loaded")
        self.page.get_by_role("button", name="Rejected", exact=True).click()
        expect(self.page.locator("#rejected .card").first).to_be_visible()
        self.page.reload()
        expect(self.page.locator("#rejected .card").first).to_be_visible()
        self.page.get_by_role("button", name="Requests", exact=True).click()
        expect(self.page).not_to_have_url(re.compile("#"))

    def old_request_is_in_sight_when_its_address_is_opened(self) -> None:
        self._clear()
        for _ in range(60):
            self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(60)
        n = self.rows.last.get_attribute("data-n")
        expect(self.rows.last).not_to_be_in_viewport()
        self.page.evaluate(f"location.hash = '#{n}'")
        expect(self.detail).to_have_attribute("data-n", n)
        expect(self.rows.last).to_be_in_viewport()
        self.page.keyboard.press("Escape")

    def result_of_an_update_and_blank_identifiers_can_be_told(self) -> None:
        self._clear()
        for result in ("created", "updated"):
            self.client.send("POST", "/api/customers", '{"customerId":"told","customerData":{}}')
            expect(self.rows.first.locator(".outcome")).to_have_text(result)
        for sent, shown in (("", '""'), (" \\t", r'" \t"'), ("\\u200b", r'"\u200b"')):
            self.client.signals('{"signals":[{"customerId":"told","eventType":"' + sent + '"}]}')
            expect(self.rows.first.locator(".types")).to_have_text(shown)

    def keyboard_leads_from_a_row_into_its_detail(self) -> None:
        self._clear()
        for _ in range(2):
            self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(2)
        self.page.locator("body").press("ArrowDown")
        self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Enter")
        expect(self.detail).to_have_attribute("data-n", self.rows.nth(1).get_attribute("data-n"))
        self.page.keyboard.press("Tab")
        expect(self.page.get_by_role("button", name="Edit and send")).to_be_focused()
        expect(self.detail).to_have_attribute("data-n", self.rows.nth(1).get_attribute("data-n"))
        self.page.keyboard.press("Shift+Tab")
        expect(self.rows.nth(1)).to_be_focused()
        self.page.keyboard.press("Escape")
        expect(self.detail).to_be_hidden()

    def error_of_a_long_body_is_one_jump_away(self) -> None:
        signals = [{"customerId": "many", "eventType": f"type-{n}"} for n in range(497)]
        self.client.signals(json.dumps({"signals": signals + [{"customerId": "last"}] * 3}))
        self._open_newest("497 accepted, 3 rejected")
        expect(self.rows.first).to_contain_text("required /signals/497/eventType (+2)")
        jumps = self.detail.locator(".jumps button")
        expect(jumps).to_have_count(3)
        jumps.nth(2).click()
        expect(self.detail.locator("mark.note").nth(2)).to_be_in_viewport()

    def narrow_page_has_one_column(self) -> None:
        self._clear()
        self.client.send("GET", "/api/nothing")
        wide = self.page.viewport_size
        self.page.set_viewport_size({"width": 390, "height": 800})
        self._open_newest("404")
        expect(self.rows.first).to_be_hidden()
        assert self.detail.bounding_box()["width"] == 390
        self.page.get_by_role("button", name="Close").click()
        expect(self.rows.first).to_be_visible()
        assert self.page.evaluate("document.documentElement.scrollWidth") == 390
        labels = self.rows.first.locator("td[data-label]:visible").evaluate_all("all => all.map((cell) => cell.dataset.label)")
        assert labels[:2] == ["Time", "Why"], labels
        self.page.set_viewport_size(wide)

    def columns_stand_under_their_headings_at_every_width(self) -> None:
        self._clear()
        self.client.signals(BATCH.replace("0b0c7a52", "5b0c7a52"))
        wide = self.page.viewport_size
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 800})
            for is_open in (True, False):
                if is_open:
                    expect(self.rows.first).to_contain_text("2 accepted, 2 rejected")
                    self.rows.first.click()
                    expect(self.detail).to_be_visible()
                left = "all => all.map((cell) => Math.round(cell.getBoundingClientRect().left))"
                headings = self.page.locator("thead th:visible").evaluate_all(left)
                cells = self.rows.first.locator("td:visible").evaluate_all(left)
                assert headings in ([], cells), (width, is_open, headings, cells)
                assert self.page.evaluate("document.documentElement.scrollWidth") == width
                if is_open:
                    self.page.get_by_role("button", name="Close").click()
                    expect(self.detail).to_be_hidden()
        self.page.set_viewport_size(wide)

    def hidden_characters_are_escaped_and_other_directions_move_nothing(self) -> None:
        hidden = "\u202eegasuf\u202c\u2066\u2069\u200e\u200f\u200b\u00ad\U000e0041\u00a0"
        escaped = r"\u202eegasuf\u202c\u2066\u2069\u200e\u200f\u200b\u00ad\udb40\udc41\u00a0"
        arabic = "\u0633\u0639\u0631"
        signal = {"customerId": arabic, "eventType": "a" + hidden, "data": {arabic: arabic, hidden: 1}}
        self.client.signals(json.dumps({"signals": [signal]}, ensure_ascii=False))
        self._open_newest("1 accepted")
        expect(self.rows.first.locator(".types")).to_have_text("a" + escaped)
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

    def refused_request_has_its_types_apart_from_its_outcome(self) -> None:
        self.client.signals('{"signals":[{"customerId":"c","eventType":"refused-type"}]}', key="intake_sk_" + "0" * 64)
        self._open_newest("unknown")
        facts = self.detail.locator("dl")
        names = facts.locator("dt").all_inner_texts()
        assert "Outcome" not in names, names
        assert facts.locator("dd").all_inner_texts()[names.index("Types")] == "refused-type"

    def status_of_a_partly_rejected_batch_is_no_success(self) -> None:
        self._clear()
        self.client.signals(BATCH.replace("0b0c7a52", "6b0c7a52"))
        expect(self.rows.first.locator(".status")).to_have_class("status warned")
        self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(2)
        expect(self.rows.first.locator(".status")).to_have_class("status good")

    def filter_finds_each_subject_of_a_batch(self) -> None:
        self._clear()
        self.client.signals('{"signals":[{"customerId":"c-1","eventType":"e"},{"customerId":"c-2","eventType":"e"}]}')
        expect(self.rows).to_have_count(1)
        self.page.get_by_label("Filter").fill("c-2")
        expect(self.rows).to_have_count(1)
        self.page.get_by_label("Filter").fill("")

    def list_stays_where_it_is_read_when_requests_arrive(self) -> None:
        self._clear()
        for _ in range(60):
            self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(60)
        line = self.rows.nth(40)
        n = line.get_attribute("data-n")
        line.scroll_into_view_if_needed()
        place = self.page.locator(f'tr[data-n="{n}"]')
        before = place.bounding_box()["y"]
        for _ in range(10):
            self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(70)
        assert place.bounding_box()["y"] == before

    def reset_of_a_test_empties_the_list_and_nothing_is_missing(self) -> None:
        self._clear()
        for _ in range(3):
            self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(3)
        self._open_newest("ping")
        self.client.reset()
        expect(self.rows).to_have_count(0)
        expect(self.detail).to_be_hidden()
        self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(1)
        expect(self.page.locator("#older")).to_have_text("")

    def keys_lead_through_the_list(self) -> None:
        self._clear()
        for _ in range(4):
            self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(4)
        press = self.page.keyboard.press
        self.page.locator("body").press("j")
        for key, place in (("j", 1), ("End", 3), ("k", 2), ("Home", 0)):
            press(key)
            expect(self.rows.nth(place)).to_be_focused()
        # Tab leads past the list, whose rows are one stop.
        press("Tab")
        assert self.page.evaluate("document.activeElement.closest('#rows')") is None
        press("?")
        keys = self.page.get_by_role("dialog")
        expect(keys).to_contain_text("Home")
        press("Escape")
        expect(keys).to_be_hidden()

    def back_closes_what_was_opened_and_the_address_has_the_filter(self) -> None:
        self._clear()
        self.client.send("GET", "/api/nothing")
        self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(2)
        self.page.get_by_label("Filter").fill("4xx -level:ok")
        expect(self.rows).to_have_count(1)
        self.rows.first.click()
        expect(self.detail).to_be_visible()
        self.page.reload()
        expect(self.detail).to_contain_text("/api/nothing")
        expect(self.page.get_by_label("Filter")).to_have_value("4xx -level:ok")
        expect(self.rows).to_have_count(1)
        self.page.get_by_role("button", name="Close").click()
        self.rows.first.click()
        expect(self.detail).to_be_visible()
        self.page.go_back()
        expect(self.detail).to_be_hidden()
        expect(self.rows).to_have_count(1)
        self.page.get_by_label("Filter").fill("-4xx")
        expect(self.rows).to_contain_text("/api/sdk/ping")
        self.page.get_by_label("Filter").fill("")

    def what_is_shown_is_exported_as_lines_of_json(self) -> None:
        self._clear()
        self.client.send("GET", "/api/nothing")
        self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(2)
        self.page.get_by_label("Filter").fill("4xx")
        expect(self.rows).to_have_count(1)
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="Export").click()
        assert download.value.suggested_filename == "requests.ndjson"
        exported = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
        assert [(one["path"], one["status"]) for one in exported] == [("/api/nothing", 404)], exported
        self.page.get_by_label("Filter").fill("")

    def page_is_accessible_in_each_state(self) -> None:
        source = next(Path(folder).parent.joinpath("axe-core/axe.min.js") for folder in os.environ["PATH"].split(":")
                      if folder.endswith("node_modules/.bin") and Path(folder).parent.joinpath("axe-core").exists())
        script = source.read_text()
        wide, found = self.page.viewport_size, []

        def look(state: str) -> None:
            for width in AXE_WIDTHS:
                for scheme in ("light", "dark"):
                    self.page.set_viewport_size({"width": width, "height": 720})
                    self.page.emulate_media(color_scheme=scheme)
                    self.page.evaluate(script)
                    violations = self.page.evaluate("axe.run().then(({violations}) => violations)")
                    found.extend((state, width, scheme, one["id"], [node["html"][:120] for node in one["nodes"]]) for one in violations)
            self.page.set_viewport_size(wide)

        self._clear()
        look("empty")
        self.client.signals(BATCH.replace("0b0c7a52", "7b0c7a52"))
        expect(self.rows).to_have_count(1)
        look("list")
        self.page.get_by_label("Filter").fill("nothing-has-this")
        look("unmatched")
        self.page.get_by_label("Filter").fill("")
        self._open_newest("2 accepted, 2 rejected")
        look("detail")
        self.page.get_by_role("button", name="Edit and send").click()
        look("editor")
        for tab in ("Customer", "Rejected"):
            self.page.get_by_role("button", name=tab, exact=True).click()
            look(tab)
        self.page.get_by_role("button", name="Requests", exact=True).click()
        self.page.get_by_role("button", name="Close").click()
        self.page.keyboard.press("?")
        look("keys")
        self.page.keyboard.press("Escape")
        assert not found, found

    def unmatched_filter_unknown_number_and_cleared_list_have_a_sentence(self) -> None:
        self.client.send("GET", "/api/sdk/ping")
        expect(self.rows.first).to_contain_text("/api/sdk/ping")
        self.page.get_by_label("Filter").fill("nothing-has-this")
        expect(self.page.locator("#requests")).to_contain_text(re.compile("None of the [0-9]+ requests matches \"nothing-has-this\""))
        self.page.get_by_role("button", name="Show all requests").click()
        expect(self.rows.first).to_contain_text("/api/sdk/ping")
        self.page.evaluate(f"location.hash = '#{UNKNOWN}'")
        expect(self.page.locator("#notice")).to_have_text(f"There is no request #{UNKNOWN} yet.")
        n = self.rows.first.get_attribute("data-n")
        self._clear()
        self.page.evaluate(f"location.hash = '#{n}'")
        expect(self.page.locator("#notice")).to_have_text(f"Request #{n} is no longer kept.")
        # What is said of requests stands beside nothing else.
        self.page.get_by_role("button", name="Rejected", exact=True).click()
        expect(self.page.locator("#notice")).to_be_hidden()
        self.page.get_by_role("button", name="Requests", exact=True).click()
        self._clear()
        expect(self.page.locator("#requests")).to_contain_text("Cleared. The next request appears here.")
        expect(self.page.locator("#notice")).to_have_text("")

    def rejections_and_breaks_of_contracts_are_in_one_row(self) -> None:
        self.client.signals(BATCH.replace("0b0c7a52", "4b0c7a52"))
        expect(self.rows.first).to_contain_text("required /signals/1/eventType (+1)")
        expect(self.rows.first).to_contain_text("contract-broken /signals/3/data (+1)")
        expect(self.rows.first).to_contain_text("1 warning")

    def accounts_are_told_apart(self) -> None:
        self._clear()
        other = key_of("other")
        self.client.signals('{"signals":[{"customerId":"o","eventType":"of-other"}]}', key=other)
        self.client.signals('{"signals":[{"customerId":"d","eventType":"of-dev"}]}')
        expect(self.rows).to_have_count(2)
        expect(self.rows.first.locator(".account")).to_have_text("dev")
        expect(self.rows.nth(1).locator(".account")).to_have_text("other")
        selector = self.page.get_by_label("Account")
        expect(selector.locator("option:checked")).to_have_text("All accounts")
        selector.select_option("other")
        expect(self.rows).to_have_count(1)
        expect(self.rows).to_contain_text("of-other")
        self.page.get_by_role("button", name="Rejected", exact=True).click()
        expect(selector.locator("option:checked")).to_have_text("Account dev")
        self.page.get_by_role("button", name="Requests", exact=True).click()
        expect(selector.locator("option:checked")).to_have_text("Account other")
        selector.select_option("")
        expect(self.rows).to_have_count(2)

    def keys_in_the_account_selector_and_the_detail_stay_there(self) -> None:
        # The check before this one has shown the selector.
        self._clear()
        self.client.send("GET", "/api/sdk/ping")
        self._open_newest("200")
        selector, pause = self.page.get_by_label("Account"), self.page.get_by_role("button", name="Pause")
        title = self.detail.locator("h2")
        for place, focus in ((selector, selector.focus), (self.detail, title.click)):
            focus()
            self.page.keyboard.press("p")
            expect(pause).to_have_attribute("aria-pressed", "false")
            self.page.keyboard.press("ArrowDown")
            expect(place).to_be_focused()
        # The list is drawn anew while the detail has the focus.
        self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(2)
        expect(self.detail).to_be_focused()
        self.page.keyboard.press("Escape")
        expect(self.detail).to_be_hidden()
        selector.select_option("")

    def empty_page_says_how_to_begin(self) -> None:
        self._clear()
        empty = self.page.locator("#empty")
        expect(empty).to_contain_text(self.client.base_url)
        assert f"curl -sS {self.client.base_url}/api/event-flows/signal" in empty.inner_text() and self.client.key in empty.inner_text()

    def request_is_copied_and_saved_without_a_secret_key(self) -> None:
        self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.client.signals("{\"signals\":[{\"customerId\":\"it's\",\"eventType\":\"e\"}]}")
        self._open_newest("1 accepted")
        self.page.get_by_role("button", name="Copy as curl").click()
        expect(self.detail).to_contain_text("Copied.")
        curl = self.page.evaluate("navigator.clipboard.readText()")
        assert '-H "Authorization: Bearer $API_KEY"' in curl and self.client.key not in curl and r"it'\''s" in curl, curl
        self.client.send("GET", "/api/sdk/ping", key="intake_sk_" + "0" * 64)
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
                expect(self.rows).to_have_count(1)
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

    def list_pauses(self) -> None:
        self._clear()
        self.page.get_by_role("button", name="Pause").click()
        # Once a second the page would ask: it has answered the click, so what is sent now comes later.
        self.client.send("GET", "/api/sdk/ping")
        self.page.wait_for_timeout(2_500)
        expect(self.rows).to_have_count(0)
        self.page.get_by_role("button", name="Pause").click()
        expect(self.rows).to_have_count(1)

    def list_begins_anew_when_the_stack_was_started_again(self) -> None:
        self._clear()
        for _ in range(2):
            self.client.send("GET", "/api/sdk/ping")
        expect(self.rows).to_have_count(2)
        self._open_newest("ping")

        def answer_of_another_stack(route: Route) -> None:
            answer = route.fetch().json() | {"stack": "another"}
            # It has as many requests, but only one of them is kept.
            answer["requests"] = answer["requests"][:1]
            route.fulfill(json=answer)

        self.page.route("**/requests?after=*", answer_of_another_stack)
        expect(self.rows).to_have_count(1)
        expect(self.detail).to_be_hidden()
        self.page.unroute("**/requests?after=*")
        expect(self.rows).to_have_count(2)

    def customer_and_rejected_signals_are_shown_and_redriven(self) -> None:
        self.client.send("POST", "/api/customers", '{"customerId":"-c1","customerData":{"firstName":"Ada"}}')
        self.client.signals('{"signals":[{"customerId":"-c1","eventType":"e","data":{"price":' + DIGITS + "}}]}")
        self.page.get_by_role("button", name="Customer", exact=True).click()
        self.page.get_by_label("customerId or emitterId").fill("-c1")
        self.page.get_by_role("button", name="Show").click()
        customer = self.page.locator("#customer pre")
        expect(customer).to_contain_text('"firstName": "Ada"')
        expect(customer).to_contain_text(DIGITS.rstrip("0"))
        self.page.get_by_role("button", name="Rejected", exact=True).click()
        rejected = self.page.locator("#rejected")
        expect(rejected.locator("mark.note").first).to_contain_text(re.compile("required|blank"))
        payloads = rejected.get_by_label("Payload")
        # Deeper than the page can indent.
        nested = '{"customerId":"deep","eventType":"e","data":{"a":' + "[" * 20_000 + "]" * 20_000 + "}}"
        self.client.signals('{"signals":[' + nested + "]}")
        self.page.reload()
        # The newest is the last.
        expect(payloads.last).to_have_value(nested)
        payloads.last.fill('{"customerId":"c-1001","eventType":"flat"}')
        rejected.get_by_role("button", name="Redrive").last.click()
        expect(rejected).to_contain_text("Redriven: the signal is stored.")
        count = payloads.count()
        payloads.first.fill('{"customerId":"c-1001","eventType":"mended","eventflowIdentifier":"no UUID"}')
        rejected.get_by_role("button", name="Redrive").first.click()
        card = rejected.locator(".card").first
        expect(card).to_contain_text("The signal is not stored: it is still rejected.")
        expect(card.locator("mark.note")).to_contain_text("invalid-uuid: ")
        expect(payloads.first).to_have_value(re.compile("no UUID"))
        payloads.first.fill('{"customerId":"c-1001","eventType":"mended"}')
        rejected.get_by_role("button", name="Redrive").first.click()
        expect(payloads).to_have_count(count - 1)
        expect(rejected).to_contain_text("Redriven: the signal is stored.")
        self.page.get_by_role("button", name="Requests", exact=True).click()


def check(browser: Browser, variables: Mapping[str, str], folder: Path) -> tuple[int, int]:
    """How many checks there were and how many failed; screenshots go to `folder`."""
    checks = [name for name in vars(Inspector) if not name.startswith("_")]
    failed = 0
    page = browser.new_page(viewport={"width": 1240, "height": 620}, accept_downloads=True)
    page.set_default_timeout(SHOWN_WITHIN_MS)
    expect.set_options(timeout=SHOWN_WITHIN_MS)
    trouble = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: message.type == "error" and not REFUSED.search(message.location["url"]) and trouble.append(message.text))
    page.goto(variables["INSPECTOR_URL"])
    inspector = Inspector(page, Client(variables))
    for name in checks:
        try:
            getattr(inspector, name)()
        except AssertionError as error:
            failed += 1
            print(f"error: inspector: {name}: {error}", flush=True)
            page.screenshot(path=folder / f"{name}.png")
    if trouble:
        failed += 1
        print(f"error: inspector: the browser complains: {trouble}")
    inspector._clear()
    inspector.client.send("GET", "/api/sdk/ping", key="intake_sk_" + "0" * 64)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name, body, text in (("malformed", MALFORMED, "malformed-json"), ("partial", BATCH, "2 accepted, 2 rejected")):
            # Another identifier, so that it is not a replay.
            inspector.client.signals(body.replace("0b0c7a52", {"light": "2b0c7a52", "dark": "3b0c7a52"}[scheme]))
            page.set_viewport_size({"width": WIDTHS[1], "height": 720})
            inspector._open_newest(text)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 720})
                page.screenshot(path=folder / f"inspector-{name}-{scheme}-{width}.png")
            page.get_by_role("button", name="Close").click()
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 720})
                page.screenshot(path=folder / f"inspector-list-{scheme}-{width}.png")
    return len(checks), failed
