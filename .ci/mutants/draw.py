"""Which mutants there are, and which of them are drawn. A mutant is the code with one small mistake, as cargo-mutants lists them."""

import collections
import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

CARGO_MUTANTS = "27.1.0"


@dataclass(frozen=True)
class Area:
    """Code whose mutants are drawn together."""

    folders: tuple[str, ...]
    drawn: int


# First what the fewest tests run for.
AREAS = (Area(("tools/operator",), 10), Area(("functions", "shared"), 40))


@dataclass(frozen=True)
class Position:
    line: int
    column: int


@dataclass(frozen=True)
class Mutant:
    """`name` says file, function and change without a line number, so that it is the same mutant after a change elsewhere."""

    name: str
    file: str
    start: Position
    end: Position
    replacement: str

    def is_in(self, area: Area) -> bool:
        return any(self.file.startswith(f"{folder}/") for folder in area.folders)

    def changed(self, text: str) -> str:
        """The text of its file with the mistake."""
        lines = text.splitlines(keepends=True)

        def offset(position: Position) -> int:
            return sum(map(len, lines[: position.line - 1])) + position.column - 1

        return text[: offset(self.start)] + self.replacement + text[offset(self.end) :]


def installed_cargo_mutants(project: Path) -> Path:
    """The folder of the program. Compiled once for each version, some minutes."""
    home = project / "target" / "ci" / f"cargo-mutants-{CARGO_MUTANTS}"
    if not (home / "bin" / "cargo-mutants").exists():
        # Without optimizations: it runs for seconds.
        install = ["cargo", "install", "--quiet", "--locked", "--debug", "--root", home, f"cargo-mutants@{CARGO_MUTANTS}"]
        build = home / "build"
        subprocess.run(install, cwd=project, check=True, env=os.environ | {"CARGO_TARGET_DIR": str(build)})
        shutil.rmtree(build)
    return home / "bin"


def list_mutants(project: Path, sources: Path) -> list[Mutant]:
    """All mutants of the areas, in the order of the code."""
    folders = [folder for area in AREAS for folder in area.folders]
    files = [option for folder in folders for option in ("--file", f"{folder}/**")]
    path = f"{installed_cargo_mutants(project)}{os.pathsep}{os.environ['PATH']}"
    command = ["cargo", "mutants", "--list", "--json", *files]
    done = subprocess.run(command, cwd=sources, check=True, stdout=subprocess.PIPE, env=os.environ | {"PATH": path})
    seen = collections.Counter()
    mutants = []
    for listed in json.loads(done.stdout):
        name = re.sub(r"^(\S+?):\d+:\d+: ", r"\1: ", listed["name"])
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} (number {seen[name]})"
        start, end = (Position(**listed["span"][edge]) for edge in ("start", "end"))
        mutants.append(Mutant(name, listed["file"], start, end, listed["replacement"]))
    return mutants


def draw(mutants: list[Mutant], seed: int, without: set[str]) -> list[Mutant]:
    """Those of each area whose names have the smallest hashes: a change of the code changes few of them. In the order of the list, so
    that a crate is compiled for one mutant after the other."""

    def place(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} {mutant.name}".encode()).digest()

    drawn = []
    for area in AREAS:
        candidates = [mutant for mutant in mutants if mutant.is_in(area) and mutant.name not in without]
        first = set(sorted(candidates, key=place)[: area.drawn])
        drawn += [mutant for mutant in candidates if mutant in first]
    return drawn
