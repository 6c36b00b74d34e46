"""What the workflows alone can show: which jobs have permissions, what these jobs run, and what their scripts do."""

import hashlib
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import tomlkit
import yaml

from template import PROJECT

FOLDER = PROJECT / ".github" / "workflows"
BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"


def jobs() -> dict[str, dict]:
    """Every job, by its workflow's name and its own."""
    workflows = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yml"))}
    return {f"{workflow}.{name}": {"permissions": content["permissions"]} | job
            for workflow, content in workflows.items() for name, job in content["jobs"].items()}


def script(job: str, step: str) -> str:
    (found,) = [s["run"] for s in jobs()[job]["steps"] if s.get("name") == step]
    return found


class Permissions(unittest.TestCase):
    def test_only_jobs_that_need_it_have_more_than_reading_the_repository(self):
        more = {name: job["permissions"] for name, job in jobs().items() if job["permissions"] != {"contents": "read"}}
        self.assertEqual(more, {
            "deploy.deploy": {"contents": "read", "id-token": "write"},
            "deploy.verify": {"id-token": "write"},
            "release.publish": {"contents": "write", "id-token": "write", "attestations": "write"},
        })

    def test_jobs_with_credentials_neither_compile_nor_run_what_was_compiled(self):
        for name in ("deploy.deploy", "release.publish"):
            scripts = "\n".join(step.get("run", "") for step in jobs()[name]["steps"])
            self.assertNotRegex(scripts, r"\b(cargo|rustup|rustc|sam build|pip|npm)\b|\.ci/", name)
            self.assertEqual(set(re.findall(r"run\.py (\w+)", scripts)), {"sam"} if name == "deploy.deploy" else set())

    def test_job_that_runs_the_compiled_command_line_cannot_assume_the_role_that_deploys(self):
        deploying, verifying = jobs()["deploy.deploy"], jobs()["deploy.verify"]
        # deployment-role.yaml names the environments so.
        self.assertEqual(verifying["environment"], deploying["environment"].replace("'prod'", "'prod-verify'").replace("'dev'", "'dev-verify'"))
        self.assertFalse([step for step in verifying["steps"] if "checkout" in step.get("uses", "")])

    def test_actions_are_pinned_to_commits(self):
        for path in FOLDER.glob("*.yml"):
            for used in re.findall(r"uses: (\S+.*)", path.read_text()):
                self.assertRegex(used, r"^(\./\.github/workflows/\w+\.yml|[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$", path.name)


class Scripts(unittest.TestCase):
    """The scripts of the deploying job, run as the job runs them: `bash -e`, in a folder of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_script(self, job: str, step: str, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-e", "-c", script(job, step)], cwd=self.folder, text=True, capture_output=True,
                              env={"PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}"} | variables)

    def deployed_with(self, environment: str, boundary: str) -> list[str]:
        """The arguments that `sam` gets."""
        (self.folder / "sam").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        (self.folder / "sam").chmod(0o755)
        (self.folder / "samconfig.toml").write_text((PROJECT / "samconfig.toml").read_text())
        done = self.run_script("deploy.deploy", "Deploy", CONFIG_ENV=environment, BOUNDARY=boundary)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_prod_is_deployed_with_the_parameters_of_samconfig_the_architecture_and_the_boundary(self):
        listed = tomlkit.parse((PROJECT / "samconfig.toml").read_text())["prod"]["deploy"]["parameters"]["parameter_overrides"]
        self.assertEqual(self.deployed_with("prod", BOUNDARY), [
            "deploy", "--config-env", "prod", "--parameter-overrides", *listed, "Architecture=arm64",
            f"PermissionsBoundaryArn={BOUNDARY}"])

    def test_dev_is_deployed_with_the_architecture_and_the_boundary(self):
        self.assertEqual(self.deployed_with("default", BOUNDARY)[3:],
                         ["--parameter-overrides", "Architecture=arm64", f"PermissionsBoundaryArn={BOUNDARY}"])

    def test_dev_without_a_boundary_is_deployed_with_the_architecture_alone(self):
        self.assertEqual(self.deployed_with("default", ""),
                         ["deploy", "--config-env", "default", "--parameter-overrides", "Architecture=arm64"])

    def delivered_with(self, environment: str, boundary: str) -> list[str]:
        """The arguments that `sam deploy` gets for the delivery."""
        outputs = [{"OutputKey": "SignalsStreamArn", "OutputValue": "arn:signals"}, {"OutputKey": "BaseUrl", "OutputValue": "https://x"},
                   {"OutputKey": "CustomersStreamArn", "OutputValue": "arn:customers"}]
        (self.folder / "sam").write_text(f"#!/bin/sh\nif [ $1 = list ]; then echo '{json.dumps(outputs)}'; else printf '%s\\n' \"$@\"; fi\n")
        (self.folder / "sam").chmod(0o755)
        (self.folder / "samconfig.toml").write_text((PROJECT / "samconfig.toml").read_text())
        done = self.run_script("deploy.deploy", "Deploy the delivery", DELIVERY_ENV=environment, BOUNDARY=boundary, STACK="intake-dev")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_delivery_is_deployed_with_its_parameters_the_streams_and_the_boundary(self):
        listed = tomlkit.parse((PROJECT / "samconfig.toml").read_text())["delivery-prod"]["deploy"]["parameters"]["parameter_overrides"]
        streams = ["SignalsStreamArn=arn:signals", "CustomersStreamArn=arn:customers"]
        self.assertEqual(self.delivered_with("delivery-prod", BOUNDARY), [
            "deploy", "--config-env", "delivery-prod", "--parameter-overrides", *listed, *streams, "Architecture=arm64",
            f"PermissionsBoundaryArn={BOUNDARY}"])
        self.assertEqual(self.delivered_with("delivery", ""), [
            "deploy", "--config-env", "delivery", "--parameter-overrides", *streams, "Architecture=arm64"])

    def test_delivery_is_deployed_only_where_a_variable_says_so(self):
        (step,) = [s for s in jobs()["deploy.deploy"]["steps"] if s.get("name") == "Deploy the delivery"]
        self.assertEqual(step["if"], "vars.DELIVERY == 'on'")

    def test_archive_with_another_checksum_is_not_unpacked(self):
        (self.folder / "downloaded").mkdir()
        (self.folder / "downloaded" / "intake-0.0.0-arm64.tar.gz").write_bytes(b"another")
        done = self.run_script("deploy.deploy", "Unpack the functions", SHA256="0" * 64)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("FAILED", done.stdout)
        self.assertFalse((self.folder / "package").exists())

    def test_command_line_of_an_archive_with_another_checksum_is_not_run(self):
        (self.folder / "downloaded").mkdir()
        (self.folder / "downloaded" / "intake-0.0.0-arm64.tar.gz").write_bytes(b"another")
        done = self.run_script("deploy.verify", "Unpack the command line", SHA256="0" * 64)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse((self.folder / "intake").exists())

    def test_command_line_of_the_archive_verifies_the_stack(self):
        package = self.folder / "intake-0.0.0-arm64"
        package.mkdir()
        (package / "intake").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        (package / "intake").chmod(0o755)
        (self.folder / "downloaded").mkdir()
        archive = self.folder / "downloaded" / "intake-0.0.0-arm64.tar.gz"
        subprocess.run(["tar", "--create", "--gzip", "--file", archive, package.name], cwd=self.folder, check=True)
        shasum = hashlib.sha256(archive.read_bytes()).hexdigest()
        unpacked = self.run_script("deploy.verify", "Unpack the command line", SHA256=shasum)
        self.assertEqual(unpacked.returncode, 0, unpacked.stderr)
        for variable, options in (("", []), ("off", []), ("on", ["--delivery", "intake-prod-delivery"])):
            done = self.run_script("deploy.verify", "Verify", STACK="intake-prod", GITHUB_STEP_SUMMARY="summary.md", DELIVERY=variable)
            self.assertEqual(done.stdout.split(), ["--stack", "intake-prod", "verify", "--yes", "--signals", "3000",
                                                   "--report", "summary.md", *options])

    def test_archives_with_other_checksums_are_not_published(self):
        for architecture in ("arm64", "x86_64"):
            (self.folder / f"intake-1.2.3-{architecture}.tar.gz").write_bytes(b"another")
        done = self.run_script("release.publish", "Check the archives", GITHUB_REF_NAME="v1.2.3", ARM64="0" * 64, X86_64="0" * 64)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("FAILED"), 2)


if __name__ == "__main__":
    unittest.main()
