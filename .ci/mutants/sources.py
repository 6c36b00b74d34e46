"""The copy of the sources in which mutants are tried: the working tree stays as it is."""

import hashlib
import subprocess
from contextlib import contextmanager
from pathlib import Path

from .draw import Mutant


class Sources:
    """`folder` has the files that git does not ignore, but those of the judge, and a build folder of its own."""

    def __init__(self, project: Path, folder: Path):
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", ":!.ci/judge", ":!.ci/mutants"],
            cwd=project, check=True, stdout=subprocess.PIPE, text=True,
        ).stdout
        names = sorted(name for name in listed.split("\0") if name and (project / name).is_file())
        digest = hashlib.sha256()
        for name in names:
            content = (project / name).read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
            self.put(name, content, (project / name).stat().st_mode)
        self.remove_all_but(set(names))
        self.digest = digest.hexdigest()

    def put(self, name: str, content: bytes, mode: int):
        """Writes only what differs: cargo compiles what is newer."""
        path = self.folder / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        path.chmod(mode)

    def remove_all_but(self, names: set[str]):
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder)
            if name.parts[0] != "target" and str(name) not in names and not path.is_dir():
                path.unlink()

    @contextmanager
    def with_mutant(self, mutant: Mutant):
        path = self.folder / mutant.file
        text = path.read_text()
        path.write_text(mutant.changed(text))
        try:
            yield
        finally:
            path.write_text(text)
