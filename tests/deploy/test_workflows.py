"""What the workflows alone can show: which jobs have permissions, what these jobs run, and what their scripts do."""

import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import tomlkit
import yaml

import template
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


class SupplyChain(unittest.TestCase):
    """What CI and a release install, they install by hashes that the repository has."""

    REQUIREMENTS = [PROJECT / name for name in (".ci/requirements.txt", "tests/bench/peers/requirements.txt",
                                                "tests/deploy/requirements.txt", "tests/deploy/sam-requirements.txt")]
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
        scripts = [path for folder in (".ci", ".github/workflows", "deploy", "tests/deploy")
                   for path in (PROJECT / folder).iterdir() if path.is_file() and path != Path(__file__)]
        found = 0
        for path in scripts:
            text = re.sub(r"\s+", " ", path.read_text())
            for installation in re.findall(r"""pip["']?,? ["']?install\b.{0,120}""", text):
                found += 1
                self.assertIn("--require-hashes", installation, path)
            self.assertNotRegex(text, r"npm (install|i|update) ", path)
        self.assertEqual(found, 3)

    def test_dependabot_updates_each_of_them(self):
        updates = yaml.safe_load((PROJECT / ".github" / "dependabot.yml").read_text())["updates"]
        updated = {update["package-ecosystem"]: set(update.get("directories", [])) for update in updates}
        folders = [{f"/{path.parent.relative_to(PROJECT)}" for path in paths} for paths in (self.REQUIREMENTS, self.LOCKS)]
        self.assertEqual([updated["uv"], updated["npm"]], folders)


class Permissions(unittest.TestCase):
    def test_only_jobs_that_need_it_have_more_than_reading_the_repository(self):
        more = {name: job["permissions"] for name, job in jobs().items() if job["permissions"] != {"contents": "read"}}
        self.assertEqual(more, {
            "deploy.deploy": {"contents": "read", "id-token": "write"},
            "deploy.verify": {"contents": "read", "id-token": "write"},
            "deploy.publish": {"contents": "write", "id-token": "write", "attestations": "write", "packages": "write"},
        })

    def test_jobs_with_credentials_neither_compile_nor_run_what_was_compiled(self):
        for name in ("deploy.deploy", "deploy.publish"):
            scripts = "\n".join(step.get("run", "") for step in jobs()[name]["steps"])
            self.assertNotRegex(scripts, r"\b(cargo|rustup|rustc|sam build|pip|npm)\b|\.ci/(?!unpack |image )", name)
            self.assertEqual(set(re.findall(r"run\.py (\w+)", scripts)), {"sam"} if name == "deploy.deploy" else set())

    def test_job_that_runs_the_compiled_command_line_cannot_assume_the_role_that_deploys(self):
        deploying, verifying = jobs()["deploy.deploy"], jobs()["deploy.verify"]
        # deploy/deployment-role.yaml names the environments so.
        self.assertEqual(verifying["environment"], deploying["environment"].replace("'prod'", "'prod-verify'").replace("'dev'", "'dev-verify'"))

    def test_release_is_published_after_it_was_deployed_and_verified_where_there_is_a_role(self):
        deploying, verifying, publishing = (jobs()[f"deploy.{name}"] for name in ("deploy", "verify", "publish"))
        self.assertEqual(deploying["needs"], ["check", "arm64"])
        self.assertEqual(publishing["needs"], ["arm64", "x86_64", "deploy", "verify"])
        for job, step in ((deploying, "deploy"), (verifying, "verify")):
            self.assertEqual(list(job["outputs"].values()), [f"${{{{ steps.{step}.outcome == 'success' }}}}"])
            conditions = [s.get("if") for s in job["steps"] if "configure-aws" in s.get("uses", "") or s.get("id") == step]
            self.assertEqual(conditions, ["vars.AWS_ROLE_ARN"] * 2)
        self.assertEqual(verifying["if"], "needs.deploy.outputs.deployed == 'true'")
        # Without such a condition, it would be skipped with verify.
        condition = " ".join(publishing["if"].split()).removeprefix("${{ ")
        for part in ("!cancelled()", "github.ref_type == 'tag'", "needs.x86_64.result == 'success'", "needs.deploy.result == 'success'",
                     "(needs.verify.result == 'success' || needs.deploy.outputs.deployed != 'true')"):
            self.assertIn(f"&& {part}", f"&& {condition}")

    def test_a_tag_runs_one_workflow_and_every_step_of_the_checks_runs_in_some_job(self):
        triggers = {path.name: yaml.safe_load(path.read_text())[True] for path in FOLDER.glob("*.yml")}
        self.assertEqual([name for name, trigger in triggers.items() if "tags" in ((trigger or {}).get("push") or {})], ["deploy.yml"])
        in_ci = [step for job in jobs()["ci.check"]["strategy"]["matrix"]["include"] for step in job["steps"].split()]
        for script_name, used in (("run", [*in_ci, "tools"]), ("nightly", jobs()["nightly.check"]["strategy"]["matrix"]["step"])):
            steps = re.findall(r'^  "(\w+) \d+ ', (PROJECT / ".ci" / script_name).read_text(), re.MULTILINE)
            self.assertEqual(sorted(used), sorted(steps), script_name)

    def test_actions_are_pinned_to_commits(self):
        for path in FOLDER.glob("*.yml"):
            for used in re.findall(r"uses: (\S+.*)", path.read_text()):
                self.assertRegex(used, r"^(\./\.github/workflows/\w+\.yml|[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$", path.name)


class Steps(unittest.TestCase):
    """Runs scripts of jobs as a job runs them: `bash -e`, in a folder of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_script(self, job: str, step: str, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-e", "-c", script(job, step)], cwd=self.folder, text=True, capture_output=True,
                              env={"PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}", "GITHUB_SHA": "0123456789abcdef" * 2,
                                   "GITHUB_STEP_SUMMARY": "summary"} | variables)

    def program(self, name: str, text: str):
        """A program that the scripts find instead of the real one."""
        (self.folder / name).write_text(f"#!/bin/sh\n{text}")
        (self.folder / name).chmod(0o755)


class Deploying(Steps):
    def test_each_environment_is_deployed_with_its_parameters_the_newest_streams_the_architecture_and_the_boundary(self):
        self.program("sam", "printf '%s\\n' \"$@\"\n")
        self.program("aws", """case "$*" in
            *"--stack-name intake-dev "*SignalsTableName*) echo S ;; *"--stack-name intake-dev "*CustomersTableName*) echo C ;;
            "dynamodb describe-table --table-name S "*LatestStreamArn) echo arn:signals ;;
            "dynamodb describe-table --table-name C "*LatestStreamArn) echo arn:customers ;; *) exit 1 ;; esac\n""")
        (self.folder / "samconfig.toml").write_text((PROJECT / "samconfig.toml").read_text())
        (self.folder / "deploy").symlink_to(PROJECT / "deploy")
        configured = tomlkit.parse((PROJECT / "samconfig.toml").read_text())
        streams = ["SignalsStreamArn=arn:signals", "CustomersStreamArn=arn:customers"]
        for step, environment, added in (("Deploy", "default", []), ("Deploy", "prod", []), ("Deploy the delivery", "delivery", streams),
                                         ("Deploy the delivery", "delivery-prod", streams)):
            listed = configured[environment]["deploy"]["parameters"].get("parameter_overrides", [])
            for boundary, last in ((BOUNDARY, [f"PermissionsBoundaryArn={BOUNDARY}"]), ("", [])):
                done = self.run_script("deploy.deploy", step, CONFIG_ENV=environment, DELIVERY_ENV=environment, BOUNDARY=boundary, STACK="intake-dev")
                self.assertEqual(done.stdout.split(), ["deploy", "--config-env", environment, "--parameter-overrides", *listed, *added,
                                                       "Architecture=arm64", *last], done.stderr)

    def test_delivery_is_not_deployed_when_a_stream_is_not_found(self):
        self.program("sam", "echo deployed\n")
        self.program("aws", "exit 1\n")
        (self.folder / "deploy").symlink_to(PROJECT / "deploy")
        done = self.run_script("deploy.deploy", "Deploy the delivery", DELIVERY_ENV="delivery", STACK="intake-dev")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")

    def test_parameters_of_the_environment_come_last_so_that_they_win(self):
        self.program("sam", "printf '%s\\n' \"$@\"\n")
        (self.folder / "samconfig.toml").write_text((PROJECT / "samconfig.toml").read_text())
        done = self.run_script("deploy.deploy", "Deploy", CONFIG_ENV="prod", STACK="intake-prod", PARAMETERS="GradualDeployment=false QuietMinutes=30")
        self.assertEqual(done.stdout.split()[-3:], ["Architecture=arm64", "GradualDeployment=false", "QuietMinutes=30"], done.stderr)

    def test_summary_names_the_commit_that_a_deployment_replaces(self):
        self.program("sam", "")
        (self.folder / "samconfig.toml").write_text((PROJECT / "samconfig.toml").read_text())
        for answer, replaced in (("echo fedcba987654", "fedcba987654"), ("exit 254", "no commit")):
            self.program("aws", f"""case "$*" in *"--stack-name intake-prod "*"OutputKey=='Commit'"*) {answer} ;; esac\n""")
            done = self.run_script("deploy.deploy", "Deploy", CONFIG_ENV="prod", STACK="intake-prod", GITHUB_STEP_SUMMARY=replaced)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.folder / replaced).read_text(), f"Deployed 0123456789ab to intake-prod. Before, it had: {replaced}.\n")


class Publishing(Steps):
    def publish(self, **variables: str) -> str:
        done = self.run_script("deploy.publish", "Publish", GITHUB_REF_NAME="v1.2.3", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_notes_of_a_release_say_whether_it_was_deployed_and_verified(self):
        self.program("gh", '[ "$2" != view ] || exit 1\nprintf "%s\\n" "$@"\n')
        for deployed, verified, said in (("true", "true", "was deployed to intake-prod and verified there"),
                                         ("true", "false", "and not verified: prod-verify has no role"),
                                         ("false", "", "neither deployed nor verified before it was published: prod has no role")):
            self.assertIn(said, self.publish(DEPLOYED=deployed, VERIFIED=verified))

    def test_publishing_goes_on_where_an_earlier_run_stopped(self):
        for state, wanted in (("exit 1", ["create", "upload", "edit"]), ("echo true; exit", ["upload", "edit"]), ("echo false; exit", [])):
            self.program("gh", f'[ "$2" != view ] || {{ {state}; }}\necho "$2"\n')
            self.assertEqual(self.publish().split(), wanted, state)

    def test_image_and_archives_are_attested_before_the_release_is_published(self):
        steps = jobs()["deploy.publish"]["steps"]
        names = [step.get("name") or step["uses"].split("@")[0] for step in steps]
        attested = "actions/attest-build-provenance"
        self.assertEqual(names[-5:], ["Check the archives", attested, "Publish the image", attested, "Publish"])
        self.assertEqual(set(steps[-2]["with"]), {"subject-name", "subject-digest"})

    def test_archives_with_other_checksums_are_not_published(self):
        for architecture in ("arm64", "x86_64"):
            (self.folder / f"intake-1.2.3-{architecture}.tar.gz").write_bytes(b"another")
        done = self.run_script("deploy.publish", "Check the archives", GITHUB_REF_NAME="v1.2.3", ARM64="0" * 64, X86_64="0" * 64)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("FAILED"), 2)


FUNCTION = b"a function"


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", content: bytes = FUNCTION) -> tuple[tarfile.TarInfo, bytes]:
    """A member of an archive, whose name is one below the archive's top folder."""
    member = tarfile.TarInfo(f"intake-0.0.0-arm64/{name}")
    member.type, member.linkname, member.mode = kind, target, 0o755
    member.size = len(content) if kind == tarfile.REGTYPE else 0
    return member, content


class Unpacking(Steps):
    """What the deploying and the verifying job take out of an archive that a hostile build script may have written."""

    NAMES = sorted({str(Path(file).parent / function["Properties"]["CodeUri"] / "bootstrap") for file in ("template.yaml", "delivery/template.yaml")
                    for function in template.of_type(template.written(file), "AWS::Serverless::Function").values()})

    def setUp(self):
        super().setUp()
        (self.folder / ".ci").symlink_to(PROJECT / ".ci")
        (self.folder / "downloaded").mkdir()
        for name in ("template.yaml", "deploy/monitoring.yaml", "delivery/template.yaml", "samconfig.toml"):
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).touch()

    def unpack(self, *added: tuple[tarfile.TarInfo, bytes], job: str = "deploy.deploy", step: str = "Unpack the functions",
               names: list[str] = NAMES, program: bytes = FUNCTION, sha256: str = "") -> subprocess.CompletedProcess:
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
