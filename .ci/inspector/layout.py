"""Where things stand at each width."""

from playwright.sync_api import expect

from .page import BATCH, WIDTHS, InspectorPage


class Layout(InspectorPage):
    """Where things stand at each width."""

    def narrow_page_has_one_column(self) -> None:
        self.client.send("GET", "/api/nothing")
        wide = self.page.viewport_size
        self.page.set_viewport_size({"width": 390, "height": 800})
        self._open_newest("404")
        expect(self.rows.first).to_be_hidden()
        assert self.detail.bounding_box()["width"] == 390
        self.page.get_by_role("button", name="Close").click()
        expect(self.rows.first).to_be_visible()
        assert self.page.evaluate("document.documentElement.scrollWidth") == 390
        self.page.set_viewport_size(wide)

    def columns_stand_under_their_headings_at_every_width(self) -> None:
        for tab in ("Signals", "Requests"):
            self._tab(tab)
            self._clear()
            self.client.signals(BATCH.replace("0b0c7a52", {"Signals": "5b0c7a52", "Requests": "5b0c7a53"}[tab]))
            rows = self.page.locator(f"#{tab.lower()} .row:not(.head-of-group)")
            expect(rows.first).to_contain_text("purchase")
            wide = self.page.viewport_size
            for width in WIDTHS:
                self.page.set_viewport_size({"width": width, "height": 800})
                self._check_columns(tab, rows, width)
                self._open(rows.first)
                self._check_columns(tab, rows, width)
                self.page.get_by_role("button", name="Close").click()
                expect(self.detail).to_be_hidden()
            self.page.set_viewport_size(wide)

    def _check_columns(self, tab: str, rows, width: int) -> None:
        left = "all => all.map((cell) => Math.round(cell.getBoundingClientRect().left))"
        headings = self.page.locator(f"#{tab.lower()} .head > :visible")
        names = [name.split()[0] for name in headings.evaluate_all("all => all.map((cell) => cell.className)")]
        if names:
            by_name = dict(zip(names, headings.evaluate_all(left)))
            for name, place in by_name.items():
                cell = rows.first.locator(f".{name}")
                assert round(cell.bounding_box()["x"]) == place, (tab, width, name, by_name)
        assert self.page.evaluate("document.documentElement.scrollWidth") == width, (tab, width)
        # No cell leaves the list, nor what is in a heading of a group.
        shown = self.page.locator(f"#{tab.lower()}")
        if shown.is_visible():
            cells = shown.locator(".row > :visible, .group > :visible")
            edges = cells.evaluate_all("all => all.map((cell) => [cell.className, Math.round(cell.getBoundingClientRect().right)])")
            edge = round(shown.bounding_box()["x"] + shown.bounding_box()["width"])
            assert all(right <= edge for _, right in edges), (tab, width, edge, edges)
        # No row is higher than its place.
        boxes = [row.bounding_box() for row in rows.all() if row.is_visible()]
        for upper, lower in zip(boxes, boxes[1:]):
            assert upper["y"] + upper["height"] <= lower["y"] + 0.5, (tab, width, upper, lower)
