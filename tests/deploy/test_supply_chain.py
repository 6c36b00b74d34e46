"""What CI, a release and the tests install: one version of each package, with the hashes that the repository has."""

import json
import re
import unittest
from pathlib import Path

import yaml

from template import PROJECT


class SupplyChain(unittest.TestCase):
    """What CI and a release install, they install by hashes that the repository has."""

    REQUIREMENTS = [PROJECT / name for name in (".ci/requirements.txt", ".ci/uv-requirements.txt", ".ci/clients/go-requirements.txt",
                                                "tests/bench/peers/requirements.txt", "tests/deploy/requirements.txt",
                                                "tests/deploy/sam-requirements.txt", "tests/deploy/aws-requirements.txt")]
    LOCKS = [PROJECT / name for name in (".ci/package-lock.json", "tests/bench/peers/package-lock.json")]

    def test_every_package_has_one_version_and_hashes(self):
        for path in self.REQUIREMENTS:
            entries = [line for line in path.read_text().replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
            for entry in entries:
                self.assertRegex(entry, r"^[a-z0-9._-]+==\S+( ; [^#]+?)? +--hash=sha256:[0-9a-f]{64}", path)
            asked = re.findall(r"^[a-z].*==.*$", path.with_suffix(".in").read_text(), re.M)
            self.assertLessEqual({re.sub(r"\[\w+\]", "", one) for one in asked}, {entry.split()[0] for entry in entries}, path)
        for path in self.LOCKS:
            packages = json.loads(path.read_text())["packages"]
            wanted = json.loads(path.with_name("package.json").read_text())["dependencies"]
            self.assertEqual(packages.pop("")["dependencies"], wanted, path)
            for name, package in packages.items():
                self.assertRegex(package["integrity"], "^sha512-", name)

    def test_every_installation_checks_hashes(self):
        folders = (".ci", ".github/workflows", "deploy", "tests/deploy", "tests/bench/peers")
        scripts = [path for folder in folders for path in (PROJECT / folder).iterdir() if path.is_file() and path != Path(__file__)]
        installing = set()
        for path in scripts:
            text = re.sub(r"\s+", " ", path.read_text())
            if re.search(r"""pip["']?,? ["']?install\b""", text):
                installing.add(path)
            self.assertNotRegex(text, r"npm (install|i|update) ", path)
        venv = PROJECT / ".ci" / "venv"
        self.assertEqual(installing, {venv})
        text = venv.read_text()
        self.assertRegex(text, r"options=\(.*--require-hashes.*\)")
        self.assertEqual(re.findall(r"pip install (\S+)", text), ['"${options[@]}"'] * 2)

    def test_dependabot_updates_each_of_them(self):
        updates = yaml.safe_load((PROJECT / ".github" / "dependabot.yml").read_text())["updates"]
        updated = {update["package-ecosystem"]: set(update.get("directories", [])) for update in updates}
        folders = [{f"/{path.parent.relative_to(PROJECT)}" for path in paths} for paths in (self.REQUIREMENTS, self.LOCKS)]
        self.assertEqual([updated["uv"], updated["npm"]], folders)


if __name__ == "__main__":
    unittest.main()
