"""The page of the inspector, and what the checks of it have in common."""

import os
import subprocess
from pathlib import Path

from browser_client import Client
from playwright.sync_api import Page, expect

PROJECT = Path(__file__).resolve().parent.parent.parent

DIGITS = "12345678901234567890.10"
BATCH = (
    '{"requestIdentifier":"0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11","signals":['
    '{"customerId":"c-1001","eventType":"purchase","data":{"price":' + DIGITS + ',"brand":"Acme"}},'
    '{"customerId":"c-1001","data":{"productId":"p-17"}},'
    '{"customerId":"c-1001","eventType":" "},'
    '{"customerId":"c-1001","eventType":"product_viewed","data":{"price":"49.90","category":"shoes"}}]}'
)
MALFORMED = '{\n  "signals": [{"customerId": "ä"},]\n}'
UNKNOWN_KEY = "intake_sk_" + "0" * 64
# The widths at which the page is tried: a phone, and screens of a laptop, a desk and a wall.
WIDTHS = (390, 1280, 1920, 2560)


def key_of(account: str) -> str:
    """A new key of this account, as the operator creates it."""
    program = PROJECT / "target" / "debug" / "intake"
    local = dict(os.environ)
    environment = {name: value for name, value in local.items() if name != "INTAKE_STACK"}
    if not program.exists():
        subprocess.run(["cargo", "build", "--quiet", "--locked", "--bin", "intake"], cwd=PROJECT, check=True)
    create = [program, "keys", "create", "--account", account, "--name", "browser"]
    return subprocess.run(create, env=environment, check=True, capture_output=True, text=True).stdout.strip()


class InspectorPage:
    """The page. Each method of a class below this one whose name has no underscore in front is one check."""

    # The tab in which a check begins.
    TAB = "Requests"

    def __init__(self, page: Page, client: Client):
        self.page, self.client = page, client
        self.detail, self.filter = page.locator("#detail"), page.get_by_label("Filter")
        self.rows = page.locator("#requests .row")
        self.signals = page.locator("#signals .row:not(.head-of-group)")
        self.heads = page.locator("#signals .head-of-group")

    def _tab(self, name: str) -> None:
        self.page.locator("nav button", has_text=name).click()
        expect(self.page.locator("nav [aria-current=page]")).to_contain_text(name)

    def _begin(self) -> None:
        """A check finds nothing of the one before it in the lists."""
        self._tab(self.TAB)
        self._clear()

    def _expect_rows(self, count: int, tab: str = "Requests") -> None:
        """Each row is counted, also one that is not drawn, and with the heading of the columns."""
        expect(self.page.locator(f"#{tab.lower()} .grid")).to_have_attribute("aria-rowcount", str(count + 1))

    def _clear(self) -> None:
        self.page.get_by_role("button", name="Clear").click()
        expect(self.page.locator(".list .row:visible")).to_have_count(0)

    def _open(self, row) -> None:
        row.click()
        expect(self.detail).to_have_attribute("data-key", row.get_attribute("data-key"))

    def _open_newest(self, text: str) -> None:
        expect(self.rows.first).to_contain_text(text)
        self._open(self.rows.first)

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
