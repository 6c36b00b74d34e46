"""As many signals as the inspector keeps."""

import json
import statistics
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from .page import UNKNOWN_KEY, InspectorPage

BATCHES, SIGNALS = 500, 500
# How many rows are drawn: those of the highest window here, and some more.
MOST_ROWS = 60
# What one answer may have; all rows together have many times as much.
MOST_BYTES = 2_000_000
# How long scrolling by a window may take, on a busy machine.
MOST_MS = 100

SCROLL = """() => {
    const list = document.getElementById("signals"), times = [];
    list.scrollTop = list.scrollHeight / 10;
    for (let step = 0; step < 25; step++) {
        const before = performance.now();
        list.scrollTop += list.clientHeight;
        lists.signals.draw();
        list.querySelector(".row").getBoundingClientRect();
        times.push(performance.now() - before);
    }
    return times;
}"""


class ManySignals(InspectorPage):
    """As many signals as the inspector keeps."""

    TAB = "Signals"

    def _send(self, batches: int) -> None:
        """Batches that are refused are listed like others, and nothing has to store them."""
        batch = {"signals": [{"customerId": f"c-{n}", "eventType": f"type-{n % 7}", "data": {"n": n}} for n in range(SIGNALS)]}
        body = json.dumps(batch)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: self.client.signals(body, key=UNKNOWN_KEY), range(batches)))
        self._expect_rows(batches * (SIGNALS + 1), "Signals")

    def _scroll(self) -> float:
        times = self.page.evaluate(SCROLL)
        rows = self.page.locator("#signals .row").count()
        assert rows <= MOST_ROWS, rows
        return statistics.median(times)

    def quarter_of_a_million_signals_scroll_as_five_hundred_do(self) -> None:
        answers = []
        self.page.on("response", lambda answer: "/rows?" in answer.url and answers.append(answer))
        self._send(1)
        few = self._scroll()
        self._clear()
        self._send(BATCHES)
        many = self._scroll()
        self.page.reload()
        self._expect_rows(BATCHES * (SIGNALS + 1), "Signals")
        bytes_of = [len(answer.body()) for answer in answers[-20:]]
        print(f"Scrolling by a window: {few:.1f} ms with 500 signals, {many:.1f} ms with 250,000; the largest answer: {max(bytes_of)} bytes.")
        assert many < MOST_MS and max(bytes_of) < MOST_BYTES, (few, many, bytes_of)
        self.page.keyboard.press("End")
        oldest = self.page.locator("#signals .row").last
        assert oldest.locator(".subject").inner_text() == "c-499"
        self.filter.fill("c-499 type-2")
        self._expect_rows(BATCHES * 2, "Signals")
        self.filter.fill("")
        with urllib.request.urlopen(f"{self.client.inspector_url}/counts") as counts:
            assert json.load(counts)["refused"] == BATCHES * SIGNALS
        self._clear()
