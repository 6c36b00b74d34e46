"""Writes the bill of materials of a package of the workspace: what is linked into its program for a target.

    python3 .ci/sbom.py customers x86_64-unknown-linux-gnu customers.cdx.json

cargo-cyclonedx lists what any package of the workspace needs, with the features that all of them ask for. `cargo tree`
knows what this one needs, so the rest is taken out.
"""

import json
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
NAME = "bill-of-materials"


def cargo(*arguments: str) -> str:
    return subprocess.run(["cargo", *arguments], cwd=PROJECT, check=True, stdout=subprocess.PIPE, text=True).stdout


def bill_of(package: str, target: str) -> dict:
    """What cargo-cyclonedx lists. It writes a file beside the manifest of every package."""
    metadata = json.loads(cargo("metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"))
    files = {found["name"]: Path(found["manifest_path"]).with_name(f"{NAME}.json") for found in metadata["packages"]}
    try:
        cargo("cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--target", target, "--no-build-deps",
              "--override-filename", NAME)
        # The folder of the project says nothing to a reader elsewhere.
        return json.loads(files[package].read_text().replace(f"path+file://{PROJECT}/", "path+file:///"))
    finally:
        for file in files.values():
            file.unlink(missing_ok=True)


def linked_into(package: str, target: str) -> set[tuple[str, str]]:
    """Name and version of each crate that the package's program is made of."""
    tree = cargo("tree", "--locked", "--offline", "--package", package, "--edges", "normal", "--target", target,
                 "--prefix", "none", "--format", "{p}")
    return {(name, version.removeprefix("v")) for name, version, *_ in map(str.split, filter(None, tree.splitlines()))}


def main() -> int:
    package, target, to = sys.argv[1:]
    bill, linked = bill_of(package, target), linked_into(package, target)
    bill["components"] = [found for found in bill["components"] if (found["name"], found["version"]) in linked]
    kept = {bill["metadata"]["component"]["bom-ref"], *(component["bom-ref"] for component in bill["components"])}
    bill["dependencies"] = [entry | {"dependsOn": [ref for ref in entry.get("dependsOn", []) if ref in kept]}
                            for entry in bill["dependencies"] if entry["ref"] in kept]
    Path(to).write_text(json.dumps(bill, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
