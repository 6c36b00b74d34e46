"""Uses the inspector of a local stack in a real browser, as a developer does, and checks what it shows. Called by .ci/browser."""

import re
from collections.abc import Mapping
from pathlib import Path

from browser_client import Client
from playwright.sync_api import Browser, Error, expect

from .accessibility import Accessibility
from .hostile_requests import HostileRequests
from .layout import Layout
from .many_signals import ManySignals
from .navigation import Navigation
from .pictures import take_first_screen, take_pictures
from .request_detail import RequestDetail
from .request_list import RequestList
from .signal_list import SignalList
from .states import States
from .stored_data import StoredData

# Only a hang reaches it.
SHOWN_WITHIN_MS = 30_000
# Answers that a check asks for, and that the browser reports as errors.
REFUSED = re.compile(r"/requests/[0-9]+$|/rejected/redrive")

# What belongs together is checked one after the other, in one page.
CHECKS = [RequestDetail, RequestList, SignalList, Layout, Navigation, HostileRequests, States, StoredData, Accessibility, ManySignals]


def check(browser: Browser, variables: Mapping[str, str], folder: Path) -> tuple[int, int]:
    """How many checks there were and how many failed; pictures go to `folder`."""
    number = failed = 0
    page = browser.new_page(viewport={"width": 1240, "height": 620}, accept_downloads=True)
    page.set_default_timeout(SHOWN_WITHIN_MS)
    expect.set_options(timeout=SHOWN_WITHIN_MS)
    trouble = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: message.type == "error" and not REFUSED.search(message.location["url"]) and trouble.append(message.text))
    page.goto(variables["INSPECTOR_URL"])
    client = Client(variables)
    take_first_screen(page, client, folder)
    for checks in CHECKS:
        inspector = checks(page, client)
        for name in [name for name in vars(checks) if not name.startswith("_") and name != "TAB"]:
            number += 1
            try:
                inspector._begin()
                getattr(inspector, name)()
            except (AssertionError, Error) as error:
                failed += 1
                # What the page has is in the picture.
                why = str(error).split("Aria snapshot:")[0]
                print(f"error: inspector: {name}: {why}", flush=True)
                page.screenshot(path=folder / f"{name}.png")
    if trouble:
        failed += 1
        print(f"error: inspector: the browser complains: {trouble}")
    take_pictures(page, client, folder)
    return number, failed
