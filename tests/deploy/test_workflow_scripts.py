"""What the scripts of the workflow of a release do: they deploy, and they publish."""

import itertools
import unittest

import tomlkit

from template import PROJECT
from workflows import WorkflowSteps, jobs

BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"


class Deploying(WorkflowSteps):
    def test_each_environment_is_deployed_with_its_parameters_the_newest_streams_the_architecture_and_the_boundary(self):
        self.program("sam", "printf '%s\\n' \"$@\"\n")
        self.program("aws", """case "$*" in
            *"--stack-name intake-dev "*SignalsTableName*) echo S ;; *"--stack-name intake-dev "*CustomersTableName*) echo C ;;
            *"--stack-name intake-dev "*SignalsFunctionName*) echo s ;; *"--stack-name intake-dev "*CustomersFunctionName*) echo c ;;
            "dynamodb describe-table --table-name S "*LatestStreamArn) echo arn:signals ;;
            "dynamodb describe-table --table-name C "*LatestStreamArn) echo arn:customers ;; *) exit 1 ;; esac\n""")
        (self.folder / "deploy").symlink_to(PROJECT / "deploy")
        streams = ["SignalsStreamArn=arn:signals", "SignalsFunctionName=s", "CustomersStreamArn=arn:customers", "CustomersFunctionName=c"]
        for step, folder, added in (("Deploy", ".", []), ("Deploy the delivery", "delivery", streams)):
            self.configure(folder)
            configured = tomlkit.parse((PROJECT / folder / "samconfig.toml").read_text())
            for environment, (boundary, last) in itertools.product(
                    ("default", "prod"), ((BOUNDARY, [f"PermissionsBoundaryArn={BOUNDARY}"]), ("", []))):
                listed = configured[environment]["deploy"]["parameters"].get("parameter_overrides", [])
                done = self.run_script("deploy.deploy", step, folder, CONFIG_ENV=environment, BOUNDARY=boundary, STACK="intake-dev")
                self.assertEqual(done.stdout.split(), ["deploy", "--config-env", environment, "--parameter-overrides", *listed, *added,
                                                       "Architecture=arm64", *last], done.stderr)

    def configure(self, folder: str = "."):
        """Puts the configuration of sam where the step finds it."""
        (self.folder / folder).mkdir(exist_ok=True)
        (self.folder / folder / "samconfig.toml").write_text((PROJECT / folder / "samconfig.toml").read_text())

    def test_delivery_is_not_deployed_when_a_stream_is_not_found(self):
        self.program("sam", "echo deployed\n")
        self.program("aws", "exit 1\n")
        (self.folder / "deploy").symlink_to(PROJECT / "deploy")
        self.configure("delivery")
        done = self.run_script("deploy.deploy", "Deploy the delivery", "delivery", CONFIG_ENV="default", STACK="intake-dev")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")

    def test_delivery_is_not_deployed_beside_a_stack_that_names_no_functions(self):
        self.program("sam", "echo deployed\n")
        self.program("aws", """case "$*" in *FunctionName*) ;; *) echo S ;; esac\n""")
        (self.folder / "deploy").symlink_to(PROJECT / "deploy")
        self.configure("delivery")
        done = self.run_script("deploy.deploy", "Deploy the delivery", "delivery", CONFIG_ENV="default", STACK="intake-dev")
        self.assertIn("intake-dev has no output SignalsFunctionName", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_parameters_of_the_environment_come_last_so_that_they_win(self):
        self.program("sam", "printf '%s\\n' \"$@\"\n")
        self.configure()
        done = self.run_script("deploy.deploy", "Deploy", CONFIG_ENV="prod", STACK="intake-prod",
                               PARAMETERS='GradualDeployment=false CorsOrigins=""')
        self.assertEqual(done.stdout.split()[-3:], ["Architecture=arm64", "GradualDeployment=false", 'CorsOrigins=""'], done.stderr)

    def test_summary_names_the_commit_that_a_deployment_replaces(self):
        self.program("sam", "")
        self.configure()
        for answer, replaced in (("echo fedcba987654", "fedcba987654"), ("exit 254", "no commit")):
            self.program("aws", f"""case "$*" in *"--stack-name intake-prod "*"OutputKey=='Commit'"*) {answer} ;; esac\n""")
            done = self.run_script("deploy.deploy", "Deploy", CONFIG_ENV="prod", STACK="intake-prod", GITHUB_STEP_SUMMARY=replaced)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.folder / replaced).read_text(), f"Deployed 0123456789ab to intake-prod. Before, it had: {replaced}.\n")


class Publishing(WorkflowSteps):
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

    def test_private_repository_publishes_without_attestations(self):
        # GitHub's page "Using artifact attestations": a private repository has them on Enterprise Cloud only.
        conditions = {step.get("uses", "").split("@")[0]: step.get("if") for step in jobs()["deploy.publish"]["steps"] if "if" in step}
        self.assertEqual(conditions, {"actions/attest-build-provenance": "!github.event.repository.private"})
        attesting = [step for step in jobs()["deploy.publish"]["steps"] if "attest" in step.get("uses", "")]
        self.assertTrue(all("if" in step for step in attesting))

    def test_archives_with_other_checksums_are_not_published(self):
        for architecture in ("arm64", "x86_64"):
            (self.folder / f"intake-1.2.3-{architecture}.tar.gz").write_bytes(b"another")
        done = self.run_script("deploy.publish", "Check the archives", GITHUB_REF_NAME="v1.2.3", ARM64="0" * 64, X86_64="0" * 64)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("FAILED"), 2)


if __name__ == "__main__":
    unittest.main()
