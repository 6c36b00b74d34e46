"""Runs commands in the copy of the sources, for a limited time."""

import os
import resource
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Without load, the longest build takes minutes.
BUILD_LIMIT = 7200


class DoesNotCompile(Exception):
    """Has the end of what the compiler printed."""


@dataclass(frozen=True)
class Outcome:
    status: int
    output: str
    is_hanging: bool


@dataclass(frozen=True)
class Limit:
    """How long a command may run, in seconds, and how long each of its processes may compute."""

    elapsed: int
    computing: int | None = None


class Runner:
    """`log` has what the last command printed."""

    def __init__(self, folder: Path, log: Path):
        self.folder = folder
        self.log = log
        # Without what would lead the tests to other programs, or to another DynamoDB.
        inherited = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR" and not name.startswith("INTAKE_")}
        self.environment = inherited | {"PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, command: list[str], limit: Limit) -> Outcome:
        def limit_computing():
            if limit.computing:
                resource.setrlimit(resource.RLIMIT_CPU, (limit.computing, limit.computing))

        with self.log.open("w+", errors="replace") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=limit_computing,
            )
            is_hanging = False
            try:
                process.wait(limit.elapsed)
            except subprocess.TimeoutExpired:
                is_hanging = True
            finally:
                # What a test has left behind would disturb the next one.
                end_group(process)
            log.seek(0)
            output = log.read()
        # So the kernel ends a process that has computed for too long, and so cargo reports it.
        is_killed = process.returncode == -signal.SIGKILL or "(signal: 9, SIGKILL" in output
        return Outcome(process.returncode, output, is_hanging or is_killed)

    def build(self, command: list[str]):
        outcome = self.run(command, Limit(BUILD_LIMIT))
        if outcome.status != 0:
            raise DoesNotCompile(outcome.output[-4000:])


def end_group(process: subprocess.Popen):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
