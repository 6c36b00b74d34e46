"""Customers and rejected signals."""

import json
import re
import uuid

from playwright.sync_api import expect

from .page import BATCH, DIGITS, InspectorPage


class StoredData(InspectorPage):
    """Customers and rejected signals."""

    def customer_and_rejected_signals_have_addresses_that_survive_a_reload(self) -> None:
        self.client.send("POST", "/api/customers", '{"customerId":"re loaded","customerData":{"firstName":"Grace"}}')
        self.client.signals('{"signals":[{"customerId":"re loaded"}]}')
        self._tab("Customers")
        self.page.get_by_label("customerId or emitterId").fill("re loaded")
        self.page.get_by_role("button", name="Show").click()
        expect(self.page.locator("#customers pre")).to_contain_text('"firstName": "Grace"')
        self.page.reload()
        expect(self.page.locator("#customers pre")).to_contain_text('"firstName": "Grace"')
        expect(self.page.get_by_label("customerId or emitterId")).to_have_value("re loaded")
        self._tab("Rejected")
        expect(self.page.locator("#rejected .card").first).to_be_visible()
        self.page.reload()
        expect(self.page.locator("#rejected .card").first).to_be_visible()
        self._tab("Signals")
        expect(self.page).not_to_have_url(re.compile("#"))

    def customer_and_rejected_signals_are_shown_and_redriven(self) -> None:
        self.client.send("POST", "/api/customers", '{"customerId":"-c1","customerData":{"firstName":"Ada"}}')
        self.client.signals('{"signals":[{"customerId":"c-1001"},{"customerId":"c-1001"}]}')
        self.client.signals('{"signals":[{"customerId":"-c1","eventType":"e","data":{"price":' + DIGITS + "}}]}")
        self._tab("Customers")
        self.page.get_by_label("customerId or emitterId").fill("-c1")
        self.page.get_by_role("button", name="Show").click()
        customer = self.page.locator("#customers")
        expect(customer.locator("pre")).to_contain_text('"firstName": "Ada"')
        customer.locator(".events summary").first.click()
        expect(customer.locator(".events pre")).to_contain_text(DIGITS.rstrip("0"))
        self._tab("Rejected")
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
        self._tab("Signals")

    def customer_has_profile_and_signals_on_a_time_line_that_lead_to_their_rows(self) -> None:
        self._tab("Signals")
        customer = f"c-{uuid.uuid4()}"
        self.client.send("POST", "/api/customers", json.dumps({"customerId": customer, "customerData": {"firstName": "Ada"}}))
        signals = [{"customerId": customer, "eventType": "viewed"}, {"customerId": customer}, {"customerId": "another", "eventType": "e"}]
        self.client.signals(json.dumps({"signals": signals}))
        self._expect_rows(4, "Signals")
        self.signals.first.locator(".subject a").click()
        shown = self.page.locator("#customers")
        expect(shown.locator("h2")).to_have_text(customer)
        expect(shown.locator("pre").first).to_contain_text('"firstName": "Ada"')
        events = shown.locator(".events li")
        expect(events.locator("b")).to_have_text(["viewed", "a signal without a type", "profile created"])
        expect(events.locator(".chip")).to_have_text(["stored", "rejected"])
        # What comes now appears by itself.
        self.client.signals(json.dumps({"signals": [{"customerId": customer, "eventType": "purchase"}]}))
        expect(events.locator("b").first).to_have_text("purchase")
        events.nth(2).get_by_role("link").click()
        expect(self.detail).to_contain_text("A signal without a type")
        self.page.go_back()
        events.last.get_by_role("link").click()
        expect(self.detail).to_contain_text("POST /api/customers")
        self.detail.get_by_role("link", name=customer).click()
        expect(shown.locator("h2")).to_have_text(customer)

    def customers_that_were_seen_are_listed_with_their_signals(self) -> None:
        self._tab("Signals")
        self.client.signals('{"signals":[{"customerId":"seen-1","eventType":"e"},{"customerId":"seen-2","eventType":"e"},{"customerId":"seen-2"}]}')
        self.client.send("POST", "/api/customers", '{"customerId":"seen-3","customerData":{}}')
        self._tab("Customers")
        # The tab leads from a customer to all.
        self._tab("Customers")
        lines = self.page.locator("#customers li")
        expect(lines).to_have_count(3)
        expect(lines.nth(0)).to_contain_text("1 update")
        expect(lines.nth(1)).to_contain_text("1 signal")
        expect(lines.nth(2)).to_contain_text("2 signals, 1 rejected")
        self.client.signals('{"signals":[{"customerId":"seen-4","eventType":"e"}]}')
        expect(lines.first).to_contain_text("seen-4")
        self.page.get_by_label("customerId or emitterId").fill("EN-2")
        expect(lines).to_have_count(1)
        lines.get_by_role("link").click()
        expect(self.page.locator("#customers h2")).to_have_text("seen-2")

    def rejected_signals_are_counted_live_and_each_is_shown_once_with_its_request(self) -> None:
        self.client.reset()
        self._clear()
        number = self.page.locator("#rejected-number")
        expect(number).to_be_hidden()
        for _ in range(2):
            self.client.signals(BATCH.replace("0b0c7a52", "8b0c7a52"))
        expect(number).to_have_text(" 2")
        self._tab("Rejected")
        cards = self.page.locator("#rejected .card")
        expect(cards).to_have_count(2)
        # One that is being edited stays as it is when another one comes.
        cards.first.get_by_label("Payload").fill("edited")
        self.client.signals('{"signals":[{"customerId":"c-9"}]}')
        expect(cards).to_have_count(3)
        expect(number).to_have_text(" 3")
        expect(cards.first.get_by_label("Payload")).to_have_value("edited")
        cards.nth(1).get_by_role("link").click()
        expect(self.detail).to_contain_text("blank")
        expect(self.page.locator("#signals .row[aria-selected=true] .verdict")).to_have_text("rejected")
        self.client.reset()
        expect(number).to_be_hidden()
