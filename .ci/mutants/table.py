"""The table: a row for each mutant, with what notices it. It is kept in the repository, so that a later run is compared with it."""

from dataclasses import dataclass
from pathlib import Path

KEPT = Path(".ci/mutants/table.tsv")
# The kinds of tests that all run for a mutant.
QUICK = ("unit", "scripted", "seeds")
COLUMNS = ("mutant", *QUICK, "slow")
MISSED = "-"
# The kind does not run for the mutant, or did not yet.
NOT_RUN = "not run"


@dataclass(frozen=True)
class Row:
    mutant: str
    # A cell for each of the columns, such as "3 tests", "seed 7" or "hangs".
    cells: tuple[str, ...]

    @property
    def is_noticed(self) -> bool:
        return any(cell not in (MISSED, NOT_RUN) for cell in self.cells)

    @property
    def is_missed(self) -> bool:
        """Not as long as the slow tests have not run."""
        return not self.is_noticed and self.cells[-1] == MISSED


@dataclass(frozen=True)
class Table:
    # What was drawn, when, and of which sources.
    heading: str
    rows: tuple[Row, ...]

    def shares(self) -> str:
        """How many mutants each kind of tests notices, of those for which it ran."""
        shares = []
        for place, name in enumerate(COLUMNS[1:]):
            cells = [row.cells[place] for row in self.rows if row.cells[place] != NOT_RUN]
            shares.append(f"{name} {sum(cell != MISSED for cell in cells)} of {len(cells)}")
        noticed = sum(row.is_noticed for row in self.rows)
        missed = sum(row.is_missed for row in self.rows)
        return f"Noticed by {', '.join(shares)}; by any {noticed} of {noticed + missed}."

    def as_text(self) -> str:
        lines = [f"# {self.heading}", f"# {self.shares()}"]
        lines += ["\t".join(line) for line in [COLUMNS, *((row.mutant, *row.cells) for row in self.rows)]]
        return "\n".join(lines) + "\n"


def read_kept(project: Path) -> Table | None:
    path = project / KEPT
    if not path.exists():
        return None
    heading, _, _, *lines = path.read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    return Table(heading.removeprefix("# "), tuple(Row(mutant, tuple(cells)) for mutant, *cells in rows))
