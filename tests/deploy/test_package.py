"""What .ci/package made, as a release has it. .ci/nightly makes it first: it takes many minutes."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import tomlkit

import template
from deployed_stack import ARCHITECTURE, FUNCTIONS, PACKAGES
from template import PROJECT

DEPLOYED = ("template.yaml", "delivery/template.yaml")
TOOLS = ("dev", "intake")


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        (archive,) = PACKAGES.glob(f"intake-*-{ARCHITECTURE}.tar.gz")
        subprocess.run(["tar", "--extract", "--strip-components=1", "--file", archive, "--directory", folder.name], check=True)
        cls.folder = Path(folder.name)

    def test_package_is_the_repository_with_its_functions_built(self):
        files = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}
        sources = {Path(file).parent / function["Properties"]["CodeUri"] for file in DEPLOYED
                   for function in template.of_type(template.written(file), "AWS::Serverless::Function").values()}
        built = {"THIRD-PARTY-LICENSES.txt", *TOOLS, *(f"{source}/bootstrap" for source in sources),
                 *(f"sbom/{program}.cdx.json" for program in (*FUNCTIONS, *TOOLS))}
        copied = {"CHANGELOG.md", "LICENSE", "deploy/deployment-role.yaml", "deploy/monitoring.yaml", "deploy/streams", "samconfig.toml",
                  "delivery/queries.sql", "delivery/samconfig.toml",
                  "events/seed/customers.ndjson", "events/seed/signals.ndjson"}
        self.assertEqual(files, built | copied | set(DEPLOYED))
        for name in copied:
            self.assertEqual((self.folder / name).read_bytes(), (PROJECT / name).read_bytes(), name)
        for source in sources:
            self.assertTrue(os.access(self.folder / source / "bootstrap", os.X_OK), source)
        for file in DEPLOYED:
            expected = template.written(file)
            expected["Parameters"]["Architecture"] |= {"Default": ARCHITECTURE, "AllowedValues": [ARCHITECTURE]}
            if file == "template.yaml":
                expected["Outputs"]["Commit"]["Value"] = self.commit()
            self.assertEqual(template.written(self.folder / file), expected)
        version = subprocess.run([self.folder / "intake", "--version"], check=True, capture_output=True, text=True).stdout
        self.assertIn(f"({self.commit()})", version)

    @staticmethod
    def commit() -> str:
        command = ["git", "rev-parse", "--short=12", "HEAD"]
        return subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout.strip()

    def test_bills_of_materials_and_licences_list_the_locked_versions_of_what_is_linked(self):
        locked = {(package["name"], package["version"]) for package in
                  tomlkit.parse((PROJECT / "Cargo.lock").read_text())["package"]}
        for function in FUNCTIONS:
            bill = json.loads((self.folder / "sbom" / f"{function}.cdx.json").read_text())
            listed = {(component["name"], component["version"]) for component in bill["components"]}
            self.assertEqual((bill["bomFormat"], bill["metadata"]["component"]["name"]), ("CycloneDX", function))
            self.assertLessEqual(listed, locked)
            self.assertLessEqual({"aws-sdk-dynamodb", "lambda_http", "ring", "store"}, {name for name, _ in listed})
            licenses = (self.folder / "THIRD-PARTY-LICENSES.txt").read_text()
            for component in bill["components"]:
                if component["bom-ref"].startswith("registry+"):
                    self.assertIn(f"{component['name']} {component['version']} (", licenses)
            # What the command line and the tests need.
            self.assertFalse({"aws-sdk-sso", "dynoxide-rs", "proptest"} & {name for name, _ in listed})
            # Procedural macros: the compiler runs them.
            self.assertFalse({"syn", "serde_derive"} & {name for name, _ in listed})


if __name__ == "__main__":
    unittest.main()
