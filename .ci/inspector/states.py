"""The page when it is empty, paused, or when the stack was reset or started again."""

import re

from playwright.sync_api import Route, expect

from .page import InspectorPage

# The number of no request.
UNKNOWN = "999999"


class States(InspectorPage):
    """The page when it is empty, paused, or when the stack was reset or started again."""

    def empty_page_says_how_to_begin(self) -> None:
        empty = self.page.locator("#empty")
        expect(empty).to_contain_text(self.client.base_url)
        assert f"curl -sS {self.client.base_url}/api/event-flows/signal" in empty.inner_text() and self.client.key in empty.inner_text()

    def unmatched_filter_unknown_number_and_cleared_list_have_a_sentence(self) -> None:
        self.client.send("GET", "/api/sdk/ping")
        expect(self.rows.first).to_contain_text("/api/sdk/ping")
        self.page.get_by_label("Filter").fill("nothing-has-this")
        expect(self.page.locator("#nothing")).to_contain_text(re.compile("None of the [0-9]+ requests? matches \"nothing-has-this\""))
        self.page.get_by_role("button", name="Show all").click()
        expect(self.rows.first).to_contain_text("/api/sdk/ping")
        self.page.evaluate(f"location.hash = '#{UNKNOWN}'")
        expect(self.page.locator("#notice")).to_have_text(f"There is no request #{UNKNOWN} yet.")
        n = self.rows.first.get_attribute("data-n")
        self._clear()
        self.page.evaluate(f"location.hash = '#{n}'")
        expect(self.page.locator("#notice")).to_have_text(f"Request #{n} is no longer in the list.")
        # What is said of requests stands beside nothing else.
        self._tab("Rejected")
        expect(self.page.locator("#notice")).to_be_hidden()
        self._tab("Requests")
        self._clear()
        expect(self.page.locator("#empty")).to_contain_text("Cleared. The next request appears here.")
        expect(self.page.locator("#notice")).to_have_text("")

    def reset_of_a_test_empties_the_list_and_nothing_is_missing(self) -> None:
        for _ in range(3):
            self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(3)
        self._open_newest("ping")
        self.client.reset()
        self._expect_rows(0)
        expect(self.detail).to_be_hidden()
        self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(1)
        expect(self.page.locator("#older")).to_have_text("")

    def list_pauses(self) -> None:
        self.page.get_by_role("button", name="Pause").click()
        # Once a second the page would ask: it has answered the click, so what is sent now comes later.
        self.client.send("GET", "/api/sdk/ping")
        self.page.wait_for_timeout(2_500)
        self._expect_rows(0)
        self.page.get_by_role("button", name="Pause").click()
        self._expect_rows(1)

    def list_begins_anew_when_the_stack_was_started_again(self) -> None:
        for _ in range(2):
            self.client.send("GET", "/api/sdk/ping")
        self._expect_rows(2)
        self._open_newest("ping")
        kept = int(self.rows.last.get_attribute("data-n"))

        def answer_of_another_stack(route: Route) -> None:
            answer = route.fetch().json() | {"stack": "another"}
            # It has as many requests, but only one of them is kept.
            answer["rows"] = [row for row in answer["rows"] if row["n"] == kept]
            answer["last"] = kept
            route.fulfill(json=answer)

        self.page.route("**/rows?after=*", answer_of_another_stack)
        self._expect_rows(1)
        expect(self.detail).to_be_hidden()
        self.page.unroute("**/rows?after=*")
        self._expect_rows(2)

    def reset_of_a_test_closes_the_signal_that_it_deletes(self) -> None:
        self._tab("Signals")
        self.client.signals('{"signals":[{"customerId":"c","eventType":"deleted"}]}')
        self._expect_rows(1, "Signals")
        self._open(self.signals.first)
        self.client.reset()
        expect(self.detail).to_be_hidden()
        expect(self.page.locator("#empty")).to_contain_text("The next signal appears here.")
        self.client.signals('{"signals":[{"customerId":"c","eventType":"next"}]}')
        expect(self.signals.locator(".type")).to_have_text(["next"])
