"""Runs the retry recipes of docs/examples beside a local stack that answers as `--answer` says, and compares what they sent with what
is stored: nothing is lost, nothing stored twice, and the bodies of a batch are the same.

    INTAKE_DEV_ANSWER=429:0.3,503:0.1 .ci/with-stack python3 .ci/clients/retries.py FOLDER     the folder with both programs
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections import defaultdict
from pathlib import Path

BATCHES, SIGNALS_OF_A_BATCH, CUSTOMERS = 40, 5, 4
# A request that API Gateway answers after 30 seconds is given up earlier.
TIMEOUT_MS = 3_000


def inspect(path: str):
    with urllib.request.urlopen(os.environ["INSPECTOR_URL"] + path) as response:
        return json.load(response)


def stored(customer: str) -> list[int]:
    return [signal["data"]["n"] for signal in inspect(f"/customers/{customer}?account=dev")["signals"]]


def check(language: str, program: list[str], folder: Path) -> None:
    urllib.request.urlopen(urllib.request.Request(
        os.environ["INSPECTOR_URL"] + "/reset", b"", {"X-Intake-Inspector": "1"}, method="POST"))
    subprocess.run(program, cwd=folder, check=True, timeout=300, env=os.environ | {"TIMEOUT_MS": str(TIMEOUT_MS)})
    # Deferred signals are stored a little later.
    sent = BATCHES * SIGNALS_OF_A_BATCH
    inspect(f"/counts?count={sent}&wait=30s")
    for customer in range(CUSTOMERS):
        expected = [
            batch * SIGNALS_OF_A_BATCH + n for batch in range(customer, BATCHES, CUSTOMERS) for n in range(SIGNALS_OF_A_BATCH)]
        found = stored(f"{language}-{customer}")
        if sorted(found) != expected:
            sys.exit(f"error: {language}: sent {expected}, stored {sorted(found)}")
    requests = inspect("/requests")["requests"]
    bodies = defaultdict(set)
    for request in requests:
        body = inspect(f"/requests/{request['n']}")["requestBody"]
        bodies[json.loads(body)["requestIdentifier"]].add(body)
    if len(bodies) != BATCHES or any(len(of_one) != 1 for of_one in bodies.values()):
        sys.exit(f"error: {language}: {BATCHES} batches were sent as {len(bodies)}, or with bodies that differ")
    # The inspector does not list an attempt that its client gave up, but says that the next one is a retry.
    refused = len(requests) - BATCHES
    replayed = sum(request["replayed"] is True for request in requests)
    if refused + replayed == 0:
        sys.exit(f"error: {language}: no batch was sent again, so nothing was tried")
    print(f"{language}: {sent} signals were stored once; {refused} attempts were refused, and {replayed} retries found them stored.")


def main() -> None:
    folder = Path(sys.argv[1])
    check("ts", ["node", "retry_check.ts"], folder)
    check("py", ["python3", "retry_check.py"], folder)


if __name__ == "__main__":
    main()
