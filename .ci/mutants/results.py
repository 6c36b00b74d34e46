"""What was found out about each mutant, kept in a file: a run that was stopped goes on."""

import json
from dataclasses import asdict
from pathlib import Path

from .checks import Check, Result, quick_checks, slow_checks
from .table import MISSED, NOT_RUN, QUICK, Row


class Results:
    """The file is whole after each change. Mutants go by their names."""

    def __init__(self, path: Path):
        stored = json.loads(path.read_text()) if path.exists() else {}
        self.path = path
        # The digest of the sources that were tried.
        self.sources: str = stored.get("sources", "")
        # Kinds of tests that have passed without a mutant.
        self.passed: list[str] = stored.get("passed", [])
        # The names of the mutants of this run.
        self.drawn: list[str] = stored.get("drawn", [])
        self.mutants: dict[str, dict] = stored.get("mutants", {})
        self.do_not_compile: dict[str, str] = stored.get("do_not_compile", {})

    def begin(self, sources: str, is_kept: bool):
        """Forgets what was found out of other sources."""
        if self.sources != sources:
            self.sources = sources
            self.passed = []
            if not is_kept:
                self.drawn, self.mutants, self.do_not_compile = [], {}, {}

    def save(self):
        content = {name: value for name, value in vars(self).items() if name != "path"}
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(content, indent=1))
        draft.rename(self.path)

    def add(self, mutant: str, check: Check, result: Result):
        self.mutants.setdefault(mutant, {})[check.name] = asdict(result)
        self.save()

    def has(self, mutant: str, check: Check) -> bool:
        return check.name in self.mutants.get(mutant, {})

    def is_noticed(self, mutant: str) -> bool:
        return any(result["is_noticed"] for result in self.mutants.get(mutant, {}).values())

    def missing_quick(self, mutant: str) -> list[Check]:
        return [check for check in quick_checks(mutant) if not self.has(mutant, check)]

    def next_slow(self, mutant: str) -> Check | None:
        """The next kind of tests for a mutant that nothing has noticed yet."""
        if self.is_noticed(mutant):
            return None
        return next((check for check in slow_checks(mutant) if not self.has(mutant, check)), None)

    def is_judged(self, mutant: str) -> bool:
        return not self.missing_quick(mutant) and self.next_slow(mutant) is None

    def row(self, mutant: str) -> Row:
        results = self.mutants[mutant]
        quick = [results[name]["how"] if name in results else NOT_RUN for name in QUICK]
        slow = [name for name in results if name not in QUICK]
        noticing = [f"{name}: {results[name]['how']}" for name in slow if results[name]["is_noticed"]]
        return Row(mutant, (*quick, noticing[0] if noticing else MISSED if slow else NOT_RUN))
