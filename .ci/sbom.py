"""Writes the bills of materials of packages of the workspace: what is linked into their programs for a target.

    python3 .ci/sbom.py x86_64-unknown-linux-gnu sbom customers signals    sbom/customers.cdx.json and sbom/signals.cdx.json

cargo-cyclonedx lists what any package of the workspace needs, with the features that all of them ask for. `cargo tree`
knows what one package needs, so the rest is taken out.
"""

import json
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
NAME = "bill-of-materials"


def cargo(*arguments: str) -> str:
    return subprocess.run(["cargo", *arguments], cwd=PROJECT, check=True, stdout=subprocess.PIPE, text=True).stdout


def listed_bills(target: str) -> dict[str, dict]:
    """What cargo-cyclonedx lists, by package. It writes a file beside the manifest of every package."""
    metadata = json.loads(cargo("metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"))
    files = {found["name"]: Path(found["manifest_path"]).with_name(f"{NAME}.json") for found in metadata["packages"]}
    try:
        cargo("cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--target", target, "--no-build-deps",
              "--override-filename", NAME)
        # The folder of the project says nothing to a reader elsewhere.
        return {package: json.loads(file.read_text().replace(f"path+file://{PROJECT}/", "path+file:///"))
                for package, file in files.items()}
    finally:
        for file in files.values():
            file.unlink(missing_ok=True)


def linked_into(package: str, target: str) -> set[tuple[str, str]]:
    """Name and version of each crate that is linked into the package's program. The compiler only runs procedural macros."""
    tree = cargo("tree", "--locked", "--offline", "--package", package, "--edges", "normal,no-proc-macro", "--target", target,
                 "--prefix", "none", "--format", "{p}")
    return {(name, version.removeprefix("v")) for name, version, *_ in map(str.split, filter(None, tree.splitlines()))}


def without_unlinked(bill: dict, linked: set[tuple[str, str]]) -> dict:
    components = [found for found in bill["components"] if (found["name"], found["version"]) in linked]
    kept = {bill["metadata"]["component"]["bom-ref"], *(component["bom-ref"] for component in components)}
    dependencies = [entry | {"dependsOn": [ref for ref in entry.get("dependsOn", []) if ref in kept]}
                    for entry in bill["dependencies"] if entry["ref"] in kept]
    return bill | {"components": components, "dependencies": dependencies}


def main() -> int:
    target, folder, *packages = sys.argv[1:]
    bills = listed_bills(target)
    for package in packages:
        bill = without_unlinked(bills[package], linked_into(package, target))
        (Path(folder) / f"{package}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
