"""The keys of the page, and its addresses."""

import re

from playwright.sync_api import expect

from .page import BATCH, InspectorPage


class Navigation(InspectorPage):
    """The keys of the page, and its addresses."""

    def request_has_an_address_that_survives_a_reload(self) -> None:
        self.client.signals(BATCH)
        self._open_newest("2 accepted, 2 rejected")
        n = self.detail.get_attribute("data-key")
        assert self.page.url.endswith(f"#{n}"), self.page.url
        self.client.send("GET", "/api/sdk/ping")
        self.page.reload()
        expect(self.detail).to_contain_text(f"#{n} POST /api/event-flows/signal")
        self.page.keyboard.press("Escape")
        expect(self.detail).to_be_hidden()

    def old_request_is_in_sight_when_its_address_is_opened(self) -> None:
        for _ in range(60):
            self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(60)
        n = str(int(self.rows.first.get_attribute("data-n")) - 59)
        row = self.page.locator(f'#requests .row[data-n="{n}"]')
        expect(row).to_have_count(0)
        self.page.evaluate(f"location.hash = '#{n}'")
        expect(self.detail).to_have_attribute("data-key", n)
        expect(row).to_be_in_viewport()
        self.page.keyboard.press("Escape")

    def keyboard_leads_from_a_row_into_its_detail(self) -> None:
        for _ in range(2):
            self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(2)
        self.page.locator("body").press("ArrowDown")
        self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Enter")
        expect(self.detail).to_have_attribute("data-key", self.rows.nth(1).get_attribute("data-n"))
        self.page.keyboard.press("Tab")
        expect(self.page.get_by_role("button", name="Edit and send")).to_be_focused()
        expect(self.detail).to_have_attribute("data-key", self.rows.nth(1).get_attribute("data-n"))
        self.page.keyboard.press("Shift+Tab")
        expect(self.rows.nth(1)).to_be_focused()
        self.page.keyboard.press("Escape")
        expect(self.detail).to_be_hidden()
        # After that, the keys go on from where they were.
        expect(self.rows.nth(1)).to_be_focused()

    def keys_lead_through_the_list(self) -> None:
        for _ in range(4):
            self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(4)
        press = self.page.keyboard.press
        self.page.locator("body").press("j")
        for key, place in (("j", 1), ("End", 3), ("k", 2), ("Home", 0)):
            press(key)
            expect(self.rows.nth(place)).to_be_focused()
        # Tab leads past the list, whose rows are one stop.
        press("Tab")
        assert self.page.evaluate("document.activeElement.closest('.rows')") is None
        press("?")
        keys = self.page.get_by_role("dialog")
        expect(keys).to_contain_text("Home")
        press("Escape")
        expect(keys).to_be_hidden()

    def back_closes_what_was_opened_and_the_address_has_the_filter(self) -> None:
        self.client.send("GET", "/api/nothing")
        self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(2)
        self.page.get_by_label("Filter").fill("4xx -level:ok")
        self._expect_rows(1)
        self.rows.first.click()
        expect(self.detail).to_be_visible()
        self.page.reload()
        expect(self.detail).to_contain_text("/api/nothing")
        expect(self.page.get_by_label("Filter")).to_have_value("4xx -level:ok")
        self._expect_rows(1)
        self.page.get_by_role("button", name="Close").click()
        self.rows.first.click()
        expect(self.detail).to_be_visible()
        self.page.go_back()
        expect(self.detail).to_be_hidden()
        self._expect_rows(1)
        self.page.get_by_label("Filter").fill("-4xx")
        expect(self.rows).to_contain_text("/api/sdk/ping")
        self.page.get_by_label("Filter").fill("")

    def keys_lead_through_the_signals_of_a_batch(self) -> None:
        self._tab("Signals")
        self.client.signals('{"signals":[{"customerId":"c-7","eventType":"oldest"}]}')
        self.client.signals('{"signals":[{"customerId":"c-1","eventType":"first"},{"customerId":"c-2","eventType":"second"}]}')
        self._expect_rows(4, "Signals")
        press = self.page.keyboard.press
        self.page.locator("body").press("j")
        for key, place in (("j", 1), ("j", 2), ("k", 1), ("Home", 0), ("End", 2), ("k", 1)):
            press(key)
            expect(self.signals.nth(place)).to_be_focused()
        press("Tab")
        assert self.page.evaluate("document.activeElement.closest('.rows')") is None
        press("Shift+Tab")
        expect(self.signals.nth(1)).to_be_focused()
        press("Enter")
        expect(self.detail.locator("h2")).to_have_text("second")
        press("j")
        expect(self.detail.locator("h2")).to_have_text("oldest")
        press("r")
        expect(self.page.locator("nav [aria-current=page]")).to_have_text("Requests")
        self.page.go_back()
        expect(self.detail.locator("h2")).to_have_text("oldest")
        press("Escape")
        self.page.locator("body").press("j")
        press("c")
        expect(self.page.locator("#customers h2")).to_have_text("c-1")

    def tab_leads_to_the_newest_row_when_rows_have_arrived(self) -> None:
        for count in (1, 2):
            self.client.send("GET", "/api/sdk/ping")
            self._expect_rows(count)
        self.page.locator("#requests").focus()
        self.page.keyboard.press("Tab")
        expect(self.rows.first).to_be_focused()

    def keys_lead_to_signals_that_are_not_drawn(self) -> None:
        self._tab("Signals")
        signals = ",".join(f'{{"customerId":"c-{n}","eventType":"type-{n}"}}' for n in range(500))
        self.client.signals(f'{{"signals":[{signals}]}}')
        self._expect_rows(501, "Signals")
        expect(self.signals.filter(has_text="type-499")).to_have_count(0)
        self.page.locator("body").press("End")
        last = self.signals.filter(has_text="type-499")
        expect(last).to_be_focused()
        expect(last).to_be_in_viewport()
        for _ in range(3):
            self.page.keyboard.press("k")
        expect(self.signals.filter(has_text="type-496")).to_be_focused()
        self.page.keyboard.press("Home")
        expect(self.signals.first).to_be_focused()
        expect(self.signals.first).to_be_in_viewport()
