"""Runs the retry programs of docs/examples in the situations of the table of docs/clients.md: what was sent is stored once, twice or not at
all, as the table says, and the program reports what is lost.

    python3 .ci/clients/situations.py FOLDER     the folder with the programs
"""

import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripted import Handler, Service

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
SIGNALS = 20
HOUR_MS = 3_600_000
PROGRAMS = {"retry.mts": ["node", "send_batch.ts"], "retry.py": ["python3", "send_batch.py"]}

# What the service answers to a batch of each situation; and the clock, which is ahead before and after the first attempt.
SCRIPTS = {
    "429, 503, 408, 425, 500": "429,503-1,408,425,500,599,200",
    "no response in time": "hang,drip,stored-hang,200",
    "a connection breaks": "drop,cut-503,stored-drop,cut-200,200",
    "a 200 of another server": "html,json,echo,200",
    "a 204": "204,200",
    "a redirect": "redirect,200",
    "the clock is set back by two hours": "503,200",
    "the clock is a year ahead, then right": "stored-drop,200",
    "the clock jumps by a day": "503,forget-200",
}
CLOCKS = {
    "the clock is set back by two hours": (0, -2 * HOUR_MS),
    "the clock is a year ahead, then right": (365 * 24 * HOUR_MS, 0),
    "the clock jumps by a day": (0, 24 * HOUR_MS),
}
STOPPED, KILLED = "the server is stopped, and started again", "the server is killed with the batch stored, and started again"


def table(column: int) -> dict[str, tuple[int, int, int]]:
    """How many signals the table has as stored once, twice and lost, by situation: of page.ts (1) or the retry programs (2)."""
    rows = PAGE.read_text().split("\n| situation |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {row[0]: tuple(int(number) for number in row[column].split(",")) for row in cells if row[column]}


def counted(name: str) -> tuple[int, int, int]:
    """Of the signals 0, 1, 2 and so on that were sent to this script: how many are stored once, twice or more, and not at all."""
    times = Counter(min(Handler.scripts[name].stored[str(n)], 2) for n in range(SIGNALS))
    return times[1], times[2], times[0]


def differences(program: str, expected: dict, found: dict) -> int:
    """Prints where the table is wrong."""
    wrong = {situation for situation in expected | found if expected.get(situation) != found.get(situation)}
    for situation in wrong:
        print(f"error: {program}: {situation}: docs/clients.md has {expected.get(situation)} stored once, twice, lost, "
              f"and found is {found.get(situation)}", file=sys.stderr)
    return len(wrong)


def send(program: str, folder: str, service: Service, name: str, clock: tuple[int, int] = (0, 0)) -> tuple[int, int, int]:
    """Sends a batch to this script. A program that says that the service accepted it must be right."""
    # Each attempt that hangs takes this long. Others must not be given up, also on a busy machine.
    timeout_ms = 1_000 if "drip" in name else 30_000
    variables = {
        "BASE_URL": f"{service.url}/{name}", "COUNT": str(SIGNALS), "TIMEOUT_MS": str(timeout_ms), "CLOCK_MS": ",".join(map(str, clock)),
    }
    ran = subprocess.run(PROGRAMS[program], cwd=folder, env=os.environ | variables, timeout=60, text=True, capture_output=True)
    found = counted(name)
    is_told = ran.stdout.startswith("told: ")
    if not is_told and (ran.stdout.strip() != f"accepted {SIGNALS}" or found[2] > 0):
        raise AssertionError(f"{program}: {name}: stored once, twice, lost are {found}: {ran.stdout}{ran.stderr}")
    return found


def measure(situation: str, program: str, folder: str, service: Service) -> tuple[int, int, int]:
    name = f"{SCRIPTS[situation]}@{program}-{situation.replace(' ', '-')}"
    return send(program, folder, service, name, CLOCKS.get(situation, (0, 0)))


def measure_restart(situation: str, program: str, folder: str) -> tuple[int, int, int]:
    """The server ends while the batch is under way."""
    service = Service()
    name = f"{'stored-hang' if situation == KILLED else 'hang'},200@{program}"
    with ThreadPoolExecutor() as pool:
        sending = pool.submit(send, program, folder, service, name)
        while not Handler.scripts[name].requests and not sending.done():
            time.sleep(0.01)
        service.stop()
        service.go_on()
        return sending.result()


def main() -> None:
    folder, service = sys.argv[1], Service()
    wrong = 0
    # Mostly they wait.
    with ThreadPoolExecutor(16) as pool:
        measured = {
            program: {situation: pool.submit(measure, situation, program, folder, service) for situation in SCRIPTS}
            | {situation: pool.submit(measure_restart, situation, program, folder) for situation in (STOPPED, KILLED)}
            for program in PROGRAMS
        }
    for program, situations in measured.items():
        wrong += differences(program, table(2), {situation: future.result() for situation, future in situations.items()})
        print(f"{program}: {len(situations)} situations, {SIGNALS} signals in each.")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
