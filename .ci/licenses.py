"""Writes the licences of everything that is linked into programs of the workspace: a binary has to come with them.

    python3 .ci/licenses.py x86_64-unknown-linux-gnu licenses.txt customers signals
"""

import json
import re
import sys
from pathlib import Path

from sbom import cargo, linked_into

LICENSE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def texts(folder: Path) -> list[str]:
    return [file.read_text(errors="replace").strip() for file in sorted(folder.iterdir())
            if file.is_file() and LICENSE_FILE.match(file.name)]


def main() -> int:
    target, to, *packages = sys.argv[1:]
    linked = set().union(*(linked_into(package, target) for package in packages))
    metadata = json.loads(cargo("metadata", "--locked", "--offline", "--filter-platform", target, "--format-version", "1"))
    # Many crates share one text: each is written once, below all that have it.
    owners: dict[str, list[str]] = {}
    for crate in metadata["packages"]:
        # What has no source is this project's own.
        if crate["source"] and (crate["name"], crate["version"]) in linked:
            owner = f"{crate['name']} {crate['version']} ({crate['license'] or crate['license_file']})"
            for text in texts(Path(crate["manifest_path"]).parent) or ["(The crate comes without a licence text.)"]:
                owners.setdefault(text, []).append(owner)
    rule = "=" * 100
    sections = ["\n".join([rule, *sorted(names), rule, "", text]) for text, names in owners.items()]
    Path(to).write_text("\n\n".join(sorted(sections)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
