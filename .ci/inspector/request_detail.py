"""What the detail of a request shows."""

import gzip
import json
import re

from playwright.sync_api import expect

from .page import BATCH, DIGITS, MALFORMED, UNKNOWN_KEY, InspectorPage


class RequestDetail(InspectorPage):
    """What the detail of a request shows."""

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
        self.client.send("GET", "/api/sdk/ping", key=UNKNOWN_KEY)
        self._open_newest("unknown")
        self.client.send("GET", "/api/sdk/ping", key=None)
        self._open_newest("missing: the request has no Authorization header")

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

    def error_of_a_long_body_is_one_jump_away(self) -> None:
        signals = [{"customerId": "many", "eventType": f"type-{n}"} for n in range(497)]
        self.client.signals(json.dumps({"signals": signals + [{"customerId": "last"}] * 3}))
        self._open_newest("497 accepted, 3 rejected")
        expect(self.rows.first).to_contain_text("required /signals/497/eventType (+2)")
        jumps = self.detail.locator(".jumps button")
        expect(jumps).to_have_count(3)
        jumps.nth(2).click()
        expect(self.detail.locator("mark.note").nth(2)).to_be_in_viewport()

    def refused_request_has_its_types_apart_from_its_outcome(self) -> None:
        self.client.signals('{"signals":[{"customerId":"c","eventType":"refused-type"}]}', key=UNKNOWN_KEY)
        self._open_newest("unknown")
        facts = self.detail.locator("dl")
        names = facts.locator("dt").all_inner_texts()
        assert "Outcome" not in names, names
        assert facts.locator("dd").all_inner_texts()[names.index("Types")] == "refused-type"

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
        self.detail.locator("textarea").fill('{"signals":[{"customerId":"edited","eventType":"e"}]}')
        send.click()
        expect(shown).to_contain_text("edited")
