"""The page for those who do not see it, or use no mouse."""

import os
from pathlib import Path

from playwright.sync_api import expect

from .page import BATCH, WIDTHS, InspectorPage

AXE_WIDTHS = WIDTHS[:3]


class Accessibility(InspectorPage):
    """The page for those who do not see it, or use no mouse."""

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

        for tab in ("Signals", "Requests"):
            self._tab(tab)
            self._clear()
            look(f"{tab}, empty")
            self.client.signals(BATCH.replace("0b0c7a52", {"Signals": "7b0c7a52", "Requests": "7b0c7a53"}[tab]))
            rows = self.page.locator(f"#{tab.lower()} .row")
            expect(rows.last).to_be_visible()
            look(tab)
            self.filter.fill("nothing-has-this")
            look(f"{tab}, unmatched")
            self.filter.fill("")
            self._open(rows.last)
            look(f"{tab}, detail")
            if tab == "Requests":
                self.page.get_by_role("button", name="Edit and send").click()
                look("editor")
            self.page.get_by_role("button", name="Close").click()
        self.page.keyboard.press("?")
        look("keys")
        self.page.keyboard.press("Escape")
        # A second click leads from the customer that was shown last to all.
        self._tab("Customers")
        self._tab("Customers")
        look("customers")
        self.page.locator("#customers li a").first.click()
        self.page.locator("#customers summary").first.click()
        look("customer")
        self._tab("Rejected")
        expect(self.page.locator("#rejected .card").first).to_be_visible()
        look("rejected")
        assert not found, found
