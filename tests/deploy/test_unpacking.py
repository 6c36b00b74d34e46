"""What the scripts of the workflow of a release take out of an archive."""

import hashlib
import io
import os
import subprocess
import tarfile
import unittest
from pathlib import Path

import template
from template import PROJECT
from workflows import WorkflowSteps

FUNCTION = b"a function"


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, target: str = "", content: bytes = FUNCTION
) -> tuple[tarfile.TarInfo, bytes]:
    """A member of an archive, whose name is one below the archive's top folder."""
    member = tarfile.TarInfo(f"intake-0.0.0-arm64/{name}")
    member.type, member.linkname, member.mode = kind, target, 0o755
    member.size = len(content) if kind == tarfile.REGTYPE else 0
    return member, content


class Unpacking(WorkflowSteps):
    """What the deploying and the verifying job take out of an archive that a hostile build script may have written."""

    NAMES = sorted({str(Path(file).parent / function["Properties"]["CodeUri"] / "bootstrap")
                    for file in ("template.yaml", "delivery/template.yaml")
                    for function in template.of_type(template.written(file), "AWS::Serverless::Function").values()})

    def setUp(self):
        super().setUp()
        (self.folder / ".ci").symlink_to(PROJECT / ".ci")
        (self.folder / "downloaded").mkdir()
        for name in ("template.yaml", "deploy/monitoring.yaml", "delivery/template.yaml", "samconfig.toml", "delivery/samconfig.toml"):
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).touch()

    def unpack(
        self, *added: tuple[tarfile.TarInfo, bytes], job: str = "deploy.deploy", step: str = "Unpack the functions",
        names: list[str] = NAMES, program: bytes = FUNCTION, sha256: str = "",
    ) -> subprocess.CompletedProcess:
        """Unpacks an archive of what a build makes and of what was added, in front of it and behind it."""
        archive = self.folder / "downloaded" / "intake-0.0.0-arm64.tar.gz"
        with tarfile.open(archive, "w:gz") as written:
            for member, content in [*added, entry("LICENSE"), *(entry(name, content=program) for name in names), *added]:
                written.addfile(member, io.BytesIO(content))
        return self.run_script(job, step, SHA256=sha256 or hashlib.sha256(archive.read_bytes()).hexdigest())

    def assert_nothing_is_unpacked(self, done: subprocess.CompletedProcess, why: str):
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(why, done.stderr)
        self.assertFalse((self.folder / "package").exists())

    def test_functions_of_an_archive_are_unpacked_and_nothing_else_of_it(self):
        done = self.unpack(entry("functions", tarfile.DIRTYPE), entry("template.yaml"), entry("functions/signals/x/bootstrap"))
        self.assertEqual(done.returncode, 0, done.stderr)
        package = self.folder / "package"
        unpacked = {str(path.relative_to(package)) for path in package.rglob("*") if not path.is_dir() and path.read_bytes()}
        self.assertEqual(unpacked, set(self.NAMES))
        for name in self.NAMES:
            self.assertEqual((package / name).read_bytes(), FUNCTION)
            self.assertTrue(os.access(package / name, os.X_OK))

    def test_archive_with_a_link_or_a_device_is_not_unpacked(self):
        secret = self.folder / "secret"
        secret.touch()
        for name in ("functions/signals/x/bootstrap", "functions/signals/bootstrap", "functions/signals", "LICENSE"):
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
                with self.subTest(name=name, kind=kind):
                    self.assert_nothing_is_unpacked(self.unpack(entry(name, kind, str(secret))), "neither a file nor a folder")

    def test_archive_with_a_function_twice_or_as_a_folder_is_not_unpacked(self):
        for kind in (tarfile.REGTYPE, tarfile.DIRTYPE):
            done = self.unpack(entry("functions/signals/bootstrap", kind))
            self.assert_nothing_is_unpacked(done, "is a folder, or is there twice")

    def test_archive_without_a_function_is_not_unpacked(self):
        self.assert_nothing_is_unpacked(self.unpack(names=self.NAMES[1:]), f"lacks {self.NAMES[0]}")

    def test_archive_with_another_checksum_is_not_unpacked(self):
        self.assert_nothing_is_unpacked(self.unpack(sha256="0" * 64), "SHA-256")

    def test_command_line_of_an_archive_with_a_link_is_not_run(self):
        done = self.unpack(entry("intake", tarfile.SYMTYPE, "/bin/sh"), job="deploy.verify", step="Unpack the command line")
        self.assert_nothing_is_unpacked(done, "neither a file nor a folder")

    def test_command_line_of_the_archive_verifies_the_stack(self):
        program = b'#!/bin/sh\nprintf "%s\\n" "$@"\n'
        done = self.unpack(job="deploy.verify", step="Unpack the command line", names=["intake"], program=program)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_script("deploy.verify", "Verify", STACK="intake-prod", GITHUB_STEP_SUMMARY="summary.md")
        self.assertEqual(done.stdout.split(), ["--stack", "intake-prod", "verify", "--yes", "--report", "summary.md"])


if __name__ == "__main__":
    unittest.main()
