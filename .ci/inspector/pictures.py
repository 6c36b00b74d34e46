"""Pictures of the page at each width in both colour schemes, and the one that README.md shows."""

import json
import uuid
from pathlib import Path

from browser_client import Client
from playwright.sync_api import Page, expect

from .page import BATCH, MALFORMED, UNKNOWN_KEY, WIDTHS, InspectorPage

SHOP = [
    '{"customerId":"c-1001","eventType":"product_viewed","data":{"productId":"p-17","category":"shoes","price":49.90}}',
    '{"customerId":"c-1001","eventType":"cart_updated","data":{"productId":"p-17","quantity":1}}',
    '{"customerId":"c-1002","eventType":"product_viewed","data":{"productId":"p-9","category":"bags","price":"89"}}',
    '{"customerId":"c-1001","eventType":"purchase","data":{"price":49.90}}',
]


def take_pictures(page: Page, client: Client, folder: Path) -> None:
    inspector = InspectorPage(page, client)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name, body, text in (("malformed", MALFORMED, "malformed-json"), ("partial", BATCH, "2 accepted, 2 rejected")):
            # Another identifier, so that it is not a replay.
            client.signals(body.replace("0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11", str(uuid.uuid4())))
            page.set_viewport_size({"width": WIDTHS[1], "height": 720})
            inspector._tab("Requests")
            inspector._open_newest(text)
            at_each_width(page, folder, f"{name}-{scheme}")
            page.get_by_role("button", name="Close").click()
            at_each_width(page, folder, f"requests-{scheme}")
        inspector._tab("Signals")
        at_each_width(page, folder, f"signals-{scheme}")
        page.set_viewport_size({"width": WIDTHS[1], "height": 720})
        inspector._open(inspector.signals.nth(1))
        at_each_width(page, folder, f"signal-{scheme}")
        page.get_by_role("button", name="Close").click()
        # A second click leads from the customer that was shown last to all.
        inspector._tab("Customers")
        inspector._tab("Customers")
        page.locator("#customers li a").first.click()
        expect(page.locator("#customers .events li").first).to_be_visible()
        at_each_width(page, folder, f"customer-{scheme}")
        inspector._tab("Rejected")
        expect(page.locator("#rejected .card").first).to_be_visible()
        at_each_width(page, folder, f"rejected-{scheme}")


def at_each_width(page: Page, folder: Path, name: str) -> None:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 720})
        page.screenshot(path=folder / f"inspector-{name}-{width}.png")


def take_first_screen(page: Page, client: Client, folder: Path) -> None:
    """What README.md shows, as docs/inspector.png: the signals of a shop that is being developed."""
    inspector = InspectorPage(page, client)
    size = page.viewport_size
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 400})
    client.reset()
    client.signals('{"signals":[' + SHOP[0] + "]}")
    client.signals('{"signals":[' + ",".join([*SHOP[1:], '{"customerId":"c-1002","data":{"productId":"p-9"}}']) + "]}")
    client.signals('{"signals":[' + SHOP[3] + "]}", key=UNKNOWN_KEY)
    client.signals(json.dumps({"signals": [{"customerId": "c-1003", "eventType": "search", "data": {"text": "red shoes"}}]}))
    inspector._expect_rows(8, "Signals")
    page.locator("h1").hover()
    page.screenshot(path=folder / "inspector-first-screen.png")
    page.set_viewport_size(size)
