"""The list of requests."""

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from .page import BATCH, InspectorPage, key_of


class RequestList(InspectorPage):
    """The list of requests."""

    def preflight_of_another_origin_says_what_to_add(self) -> None:
        self.client.send("OPTIONS", "/api/customers", key=None, Origin="http://localhost:3000",
                         **{"Access-Control-Request-Method": "POST"})
        self._open_newest("OPTIONS")
        expect(self.rows.first).to_contain_text("add --cors http://localhost:3000")

    def result_of_an_update_and_blank_identifiers_can_be_told(self) -> None:
        for result in ("created", "updated"):
            self.client.send("POST", "/api/customers", '{"customerId":"told","customerData":{}}')
            expect(self.rows.first.locator(".outcome")).to_have_text(result)
        for sent, shown in (("", '""'), (" \\t", r'" \t"'), ("\\u200b", r'"\u200b"')):
            self.client.signals('{"signals":[{"customerId":"told","eventType":"' + sent + '"}]}')
            expect(self.rows.first.locator(".type")).to_have_text(shown)

    def rejections_and_breaks_of_contracts_are_in_one_row(self) -> None:
        self.client.signals(BATCH.replace("0b0c7a52", "4b0c7a52"))
        expect(self.rows.first).to_contain_text("required /signals/1/eventType (+1)")
        expect(self.rows.first).to_contain_text("contract-broken /signals/3/data (+1)")
        expect(self.rows.first).to_contain_text("1 warning")

    def status_of_a_partly_rejected_batch_is_no_success(self) -> None:
        self.client.signals(BATCH.replace("0b0c7a52", "6b0c7a52"))
        expect(self.rows.first.locator(".chip")).to_have_class("chip warned")
        self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(2)
        expect(self.rows.first.locator(".chip")).to_have_class("chip good")

    def filter_selects_requests(self) -> None:
        self.client.signals('{"signals":[{"customerId":"ada","eventType":"purchase"}]}')
        self.client.send("GET", "/api/nothing")
        self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(3)
        for text, wanted in (("4xx", "/api/nothing"), ("body:ada", "ada"), ("-body:ada -404", "ping"), ("purchase", "ada"), ("ADA 200", "ada"), ("dev purchase", "ada"), ("ping 200", "ping"),
                             ("no such path: the paths", "/api/nothing"), ("1 accepted", "ada"), ("level:error", "/api/nothing"),
                             ("-level:error -ping", "ada")):
            self.page.keyboard.press("/")
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
            self._expect_rows(1)
            expect(self.rows).to_contain_text(wanted)
            self.page.keyboard.press("Escape")
            self._expect_rows(3)

    def filter_finds_each_subject_of_a_batch(self) -> None:
        self.client.signals('{"signals":[{"customerId":"c-1","eventType":"e"},{"customerId":"c-2","eventType":"e"}]}')
        self._expect_rows(1)
        self.page.get_by_label("Filter").fill("c-2")
        self._expect_rows(1)
        self.page.get_by_label("Filter").fill("")

    def accounts_are_told_apart(self) -> None:
        other = key_of("other")
        self.client.signals('{"signals":[{"customerId":"o","eventType":"of-other"}]}', key=other)
        self.client.signals('{"signals":[{"customerId":"d","eventType":"of-dev"}]}')
        self._expect_rows(2)
        expect(self.rows.first.locator(".account")).to_have_text("dev")
        expect(self.rows.nth(1).locator(".account")).to_have_text("other")
        selector = self.page.get_by_label("Account")
        expect(selector.locator("option:checked")).to_have_text("All accounts")
        selector.select_option("other")
        self._expect_rows(1)
        expect(self.rows).to_contain_text("of-other")
        self._tab("Rejected")
        expect(selector.locator("option:checked")).to_have_text("Account dev")
        self._tab("Requests")
        expect(selector.locator("option:checked")).to_have_text("Account other")
        selector.select_option("")
        self._expect_rows(2)

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
        self._expect_rows(2)
        expect(self.detail).to_be_focused()
        self.page.keyboard.press("Escape")
        expect(self.detail).to_be_hidden()
        selector.select_option("")

    def list_stays_where_it_is_read_when_requests_arrive(self) -> None:
        for _ in range(60):
            self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(60)
        newest = self.rows.first.get_attribute("data-n")
        self.page.locator("#requests").evaluate("(list) => { list.scrollTop = 1_500; }")
        n = int(newest) - 33
        place = self.page.locator(f'#requests .row[data-n="{n}"]')
        expect(place).to_be_in_viewport()
        before = place.bounding_box()["y"]
        for _ in range(10):
            self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(70)
        assert place.bounding_box()["y"] == before

    def what_is_shown_is_exported_as_lines_of_json(self) -> None:
        self.client.send("GET", "/api/nothing")
        self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(2)
        self.page.get_by_label("Filter").fill("4xx")
        self._expect_rows(1)
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="Export").click()
        assert download.value.suggested_filename == "requests.ndjson"
        exported = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
        assert "signals" not in exported[0], exported
        assert [(one["path"], one["status"]) for one in exported] == [("/api/nothing", 404)], exported
        self.page.get_by_label("Filter").fill("")
