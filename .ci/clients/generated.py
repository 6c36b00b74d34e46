"""Runs programs that use generated clients, beside the local stack, and compares what each sent with what is stored. A program sends
the customer c-NAME, and a batch with an event of it, a step of the journey e-NAME and a signal of the customer `undefined`, which is
rejected; sends the batch again; and reads what the service of SCRIPTED_URL answers.

    .ci/with-stack python3 .ci/clients/generated.py FOLDER NAME=PROGRAM ...     a program is a file of FOLDER, or a command there
"""

import json
import os
import shlex
import subprocess
import sys
import urllib.request
import uuid

import scripted

PROFILE = {"firstName": "Ada", "loyalty": {"tier": "gold", "points": [1, 2.5]}}
DATA = {"price": 49.9, "brand": "Acme", "quantity": 12345678901, "gift": True, "coupon": {"code": "SPRING", "uses": [1, 2.5, None, {"a": "b"}]}}


def inspect(path: str):
    with urllib.request.urlopen(os.environ["INSPECTOR_URL"] + path) as response:
        return json.load(response)


def expect(what: str, wanted, got) -> None:
    if wanted != got:
        sys.exit(f"error: {what}: wanted {wanted!r}, got {got!r}")


def check(name: str, program: str, folder: str, scripted_url: str) -> None:
    command = {"py": ["python3"], "ts": ["node"]}.get(program.rsplit(".")[-1], []) + shlex.split(program)
    # Some languages have no UUIDs of their own.
    variables = {"NAME": name, "SCRIPTED_URL": f"{scripted_url}/later", "REQUEST_IDENTIFIER": str(uuid.uuid4())}
    if subprocess.run(command, cwd=folder, env=os.environ | variables).returncode != 0:
        sys.exit(f"error: {name} failed: see above.")
    arrived = inspect(f"/signals?subject=c-{name}&count=2&wait=10s")["signals"]
    verdicts = [signal["verdict"].replace("deferred", "stored") for signal in arrived]
    expect(f"{name}: what arrived", ["stored", "stored"], verdicts)
    expect(f"{name}: what was replayed", [False, True], [signal["replayed"] for signal in arrived])
    customer = inspect(f"/customers/c-{name}?account=dev")
    profile = {field: customer["profile"].get(field) for field in (*PROFILE, "city")}
    expect(f"{name}: the stored profile", PROFILE | {"city": None}, profile)
    [event] = customer["signals"]
    expect(f"{name}: the stored event", ("purchase", DATA, {"sessionId": "s-9"}), tuple(
        event.get(field) for field in ("eventType", "data", "undocumented")))
    [step] = inspect(f"/customers/e-{name}?account=dev")["signals"]
    expect(f"{name}: the stored step", ("start", {"channel": "mail"}), (step["stepNodeId"], step["data"]))
    print(f"{name}: what was sent is what is stored.")


def main() -> None:
    folder, programs = sys.argv[1], sys.argv[2:]
    scripted_url = scripted.start()
    for program in programs:
        check(*program.split("=", 1), folder, scripted_url)


if __name__ == "__main__":
    main()
