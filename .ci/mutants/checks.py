"""The kinds of tests that may notice a mutant."""

import re
from dataclasses import dataclass

from .runner import Limit, Outcome, Runner

TEST = ("cargo", "test", "--locked", "--no-fail-fast")
# They take a minute of one idle core. A number, and not a time: then they notice the same on a busy machine.
SEEDS = 20
# More tests than this do not fail only because the machine is busy.
MAX_TESTS_AGAIN = 20


@dataclass(frozen=True)
class Result:
    """What one kind of tests says of a mutant."""

    is_noticed: bool
    # For the table, such as "3 tests".
    how: str
    # The names of the tests that fail.
    tests: tuple[str, ...] = ()


MISSES = Result(False, "-")
HANGS = Result(True, "hangs")


def result_of(outcome: Outcome) -> Result:
    if outcome.is_hanging:
        return HANGS
    if outcome.status == 0:
        return MISSES
    tests = names_of_failed_tests(outcome)
    if not tests:
        return Result(True, "fails")
    return Result(True, "1 test" if len(tests) == 1 else f"{len(tests)} tests", tests)


def names_of_failed_tests(outcome: Outcome) -> tuple[str, ...]:
    """As libtest lists them: none when the process ended before its list."""
    return tuple(sorted(set(re.findall(r"^---- (\S+) stdout ----$", outcome.output, re.MULTILINE))))


@dataclass(frozen=True)
class CargoTest:
    """A target of `cargo test`."""

    name: str
    command: tuple[str, ...]
    limit: Limit
    # Parts of the names of tests that do not run.
    skipped: tuple[str, ...] = ()

    def build(self, runner: Runner):
        runner.build([*self.command, "--no-run"])

    def run(self, runner: Runner) -> Result:
        skip = [f"--skip={name}" for name in self.skipped]
        outcome = runner.run([*self.command, "--", *skip], self.limit)
        tests = names_of_failed_tests(outcome)
        if not outcome.is_hanging and 0 < len(tests) <= MAX_TESTS_AGAIN:
            # A test may fail because the machine is busy: what fails again without others counts.
            outcome = runner.run([*self.command, "--", "--exact", "--test-threads=1", *tests], self.limit)
        return result_of(outcome)


@dataclass(frozen=True)
class Seeds:
    """The simulator, one seed after the other."""

    name: str

    def build(self, runner: Runner):
        runner.build(["cargo", "build", "--locked", "--bin", "simulate"])

    def run(self, runner: Runner) -> Result:
        for seed in range(1, SEEDS + 1):
            outcome = runner.run(["target/debug/simulate", "--seed", str(seed)], Limit(300, computing=60))
            if outcome.is_hanging:
                return HANGS
            if outcome.status != 0:
                return Result(True, f"seed {seed}")
        return MISSES


@dataclass(frozen=True)
class Program:
    """A program that ends with an error when it notices something."""

    name: str
    build_command: tuple[str, ...]
    command: tuple[str, ...]
    limit: Limit

    def build(self, runner: Runner):
        runner.build([*self.build_command])

    def run(self, runner: Runner) -> Result:
        outcome = runner.run([*self.command], self.limit)
        if outcome.status != 0 and not outcome.is_hanging:
            # As above.
            outcome = runner.run([*self.command], self.limit)
        return result_of(outcome)


Check = CargoTest | Seeds | Program

UNIT = CargoTest("unit", (*TEST, "--lib"), Limit(900, computing=60))
SCRIPTED = CargoTest("scripted", (*TEST, "--test", "scripted"), Limit(900, computing=60))
SEEDED = Seeds("seeds")
# A page names the judge, which is not among its sources.
INTEGRATION = CargoTest("integration", (*TEST, "--test", "integration"), Limit(3600), skipped=("docs::links",))
COMMANDS = CargoTest("commands", (*TEST, "--test", "commands"), Limit(3600))
HISTORY_OPTIONS = ("--quiet", "--locked", "--bin", "history")
HISTORY = Program("history", ("cargo", "build", *HISTORY_OPTIONS), ("cargo", "run", *HISTORY_OPTIONS), Limit(1200))
FUNCTIONS = tuple(f"--bin={name}" for name in ("customers", "deliver", "overflow", "signals"))
DEPLOY = Program(
    "deploy", ("cargo", "build", "--locked", *FUNCTIONS), ("python3", "tests/deploy/run.py", "deployment", "deployed_delivery"), Limit(3600)
)


def quick_checks(mutant: str) -> list[Check]:
    """Those that all run for the mutant of this name. The simulator has no commands of the operator."""
    return [UNIT] if mutant.startswith("tools/") else [UNIT, SCRIPTED, SEEDED]


def slow_checks(mutant: str) -> list[Check]:
    """Those that run one after the other until one notices, when no quick one does. The history has no commands of the operator."""
    return [COMMANDS, INTEGRATION, DEPLOY] if mutant.startswith("tools/") else [INTEGRATION, COMMANDS, HISTORY, DEPLOY]
