"""The list of signals, which the page shows first, and one signal."""

import json
import uuid
from pathlib import Path

from playwright.sync_api import expect

from .page import BATCH, DIGITS, UNKNOWN_KEY, InspectorPage


class SignalList(InspectorPage):
    """The list of signals, and one signal."""

    TAB = "Signals"

    def _send_batch(self) -> str:
        """Sends the batch under another identifier, which it returns."""
        identifier = str(uuid.uuid4())
        self.client.signals(BATCH.replace("0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11", identifier))
        self._expect_rows(5, "Signals")
        return identifier

    def row_has_type_subject_verdict_and_milliseconds_in_this_order(self) -> None:
        self.client.signals('{"signals":[{"customerId":"c-7","eventType":"viewed"}]}')
        self._expect_rows(1, "Signals")
        cells = self.signals.first.locator("[role=gridcell]:visible").all_inner_texts()
        assert cells[:3] == ["viewed", "c-7", "stored"] and cells[3].endswith(" ms"), cells

    def batch_is_a_row_for_each_signal_under_its_request(self) -> None:
        self._send_batch()
        expect(self.heads).to_have_count(1)
        expect(self.heads).to_contain_text("4 signals")
        expect(self.heads).to_contain_text("2 accepted, 2 rejected")
        expect(self.signals.locator(".type")).to_have_text(["purchase", "no type", '" "', "product_viewed"])
        expect(self.signals.locator(".verdict")).to_have_text(["stored", "rejected", "rejected", "stored"])
        whys = self.signals.locator(".why").all_inner_texts()
        assert whys == ["", "required /signals/1/eventType", "blank /signals/2/eventType", "contract-broken /signals/3/data (+1)"], whys

    def refused_batch_has_a_row_for_each_signal_with_the_reason(self) -> None:
        self.client.signals(BATCH, key=UNKNOWN_KEY)
        self.client.signals('{"signals": [')
        self._expect_rows(6, "Signals")
        expect(self.signals.locator(".verdict")).to_have_text(["refused"] * 5)
        expect(self.signals.first.locator(".type")).to_have_text("no type")
        expect(self.signals.first.locator(".why")).to_have_text("malformed-json")
        expect(self.signals.nth(1).locator(".why")).to_have_text("unauthorized · unknown")

    def request_without_signals_is_in_the_list_of_requests_only(self) -> None:
        self.client.send("GET", "/api/sdk/ping")
        self.client.signals('{"signals":[{"customerId":"c-7","eventType":"viewed"}]}')
        self._expect_rows(1, "Signals")
        self._tab("Requests")
        self._expect_rows(2)

    def signal_is_shown_as_it_was_sent_with_its_own_errors(self) -> None:
        self._send_batch()
        self._open(self.signals.nth(0))
        expect(self.detail.locator("h2")).to_have_text("purchase")
        assert DIGITS in self.detail.locator("pre").inner_text()
        expect(self.detail.locator("mark")).to_have_count(0)
        self._open(self.signals.nth(1))
        expect(self.detail).to_contain_text("1 error")
        marks = [(kind, text) for kind, text, *_ in self._marks() if "note" not in kind]
        assert marks == [("bad", "{")], marks
        self._open(self.signals.nth(3))
        expect(self.detail).to_contain_text("2 breaks of event contracts, 1 warning")
        marks = [(kind, text) for kind, text, *_ in self._marks() if "note" not in kind]
        assert marks == [("warned", "{"), ("warned", '"49.90",')], marks
        # With a signal open, its row still says what it is.
        row = self.page.locator("#signals .row[aria-selected=true]")
        for text in ("product_viewed", "c-1001", "stored", " ms"):
            expect(row).to_contain_text(text)

    def request_of_a_signal_is_one_click_away_and_back_leads_to_the_signal(self) -> None:
        identifier = self._send_batch()
        self._open(self.signals.nth(3))
        address = self.page.url
        self.detail.get_by_role("button", name="Open the request").click()
        expect(self.detail).to_contain_text("2 accepted, 2 rejected")
        expect(self.detail).to_contain_text(identifier)
        assert self.page.url == address.rsplit(".", 1)[0], self.page.url
        self.page.go_back()
        expect(self.detail.locator("h2")).to_have_text("product_viewed")
        assert self.page.url == address
        self.page.go_back()
        expect(self.detail).to_be_hidden()
        for leading in (self.signals.nth(3).locator(".n a"), self.heads.locator("a"), self.heads):
            leading.click()
            expect(self.detail).to_contain_text(identifier)
            expect(self.rows.first).to_have_attribute("aria-selected", "true")
            self._tab("Signals")

    def signal_has_an_address_that_survives_a_reload(self) -> None:
        self._send_batch()
        self._open(self.signals.nth(3))
        self.client.signals('{"signals":[{"customerId":"c-7","eventType":"viewed"}]}')
        self.page.reload()
        expect(self.detail.locator("h2")).to_have_text("product_viewed")
        expect(self.page.locator("#signals .row[aria-selected=true]")).to_contain_text("product_viewed")
        self.page.keyboard.press("Escape")
        expect(self.detail).to_be_hidden()

    def filter_selects_signals_of_a_batch(self) -> None:
        self._send_batch()
        for text, types in (("c-1001 stored", ["purchase", "product_viewed"]), ("rejected", ["no type", '" "']), ("level:warning", ["product_viewed"]),
                            ("-stored -blank", ["no type"]), ("PURCHASE 2xx", ["purchase"]), ("body:Acme", ["purchase"]),
                            ("body:p-17 level:error", ["no type"]), ("-body:Acme -body:p-17 stored", ["product_viewed"])):
            self.filter.fill(text)
            expect(self.signals.locator(".type")).to_have_text(types)
            expect(self.heads).to_contain_text(f"{len(types)} of 4 signals")
        self.filter.fill("body:acme")
        expect(self.page.locator("#nothing")).to_contain_text('None of the 4 signals matches "body:acme"')
        self.filter.fill("")
        self._expect_rows(5, "Signals")

    def text_in_bodies_is_also_found_in_what_arrives_later(self) -> None:
        self.filter.fill("body:late")
        for text in ("early", "late", "later"):
            self.client.signals(json.dumps({"signals": [{"customerId": "c", "eventType": "e", "data": {"text": text}}]}))
        self._expect_rows(2, "Signals")
        self._tab("Requests")
        self._expect_rows(2)
        # A response has a body, too.
        self.client.send("POST", "/api/customers", '{"customerId":"c-late","customerData":{}}')
        self._expect_rows(3)
        self.filter.fill("")

    def long_id_is_cut_and_whole_in_its_title(self) -> None:
        subject = "a-very-long-id-" * 12
        self.client.signals(json.dumps({"signals": [{"customerId": subject, "eventType": "e" * 200}]}))
        cell = self.signals.first.locator(".subject")
        expect(cell).to_have_attribute("title", subject)
        expect(self.signals.first.locator(".type")).to_have_attribute("title", "e" * 200)
        assert cell.evaluate("(cell) => cell.scrollWidth > cell.clientWidth")
        assert self.signals.first.bounding_box()["height"] == 34
        self._open(self.signals.first)
        expect(self.detail).to_contain_text(subject)

    def shown_signals_are_exported_as_they_were_sent(self) -> None:
        self._send_batch()
        self.filter.fill("stored")
        self._expect_rows(3, "Signals")
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="Export").click()
        assert download.value.suggested_filename == "signals.ndjson"
        lines = Path(download.value.path()).read_text().splitlines()
        exported = [json.loads(line) for line in lines]
        assert [(one["type"], one["verdict"], one["index"], one["signal"]["eventType"]) for one in exported] == [
            ("purchase", "stored", 0, "purchase"), ("product_viewed", "stored", 3, "product_viewed")], exported
        assert f'"price":{DIGITS}' in lines[0], lines[0]
        self.filter.fill("")
