"""What the workflows alone can show: which jobs have permissions, what these jobs run, and when they run."""

import re
import unittest

import yaml

from template import PROJECT
from workflows import FOLDER, jobs


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
        expected = deploying["environment"].replace("'prod'", "'prod-verify'").replace("'dev'", "'dev-verify'")
        self.assertEqual(verifying["environment"], expected)

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
        run_by_a_tag = [name for name, trigger in triggers.items() if "tags" in ((trigger or {}).get("push") or {})]
        self.assertEqual(run_by_a_tag, ["deploy.yml"])
        in_ci = [step for job in jobs()["ci.check"]["strategy"]["matrix"]["include"] for step in job["steps"].split()]
        in_nightly = jobs()["nightly.check"]["strategy"]["matrix"]["step"]
        for script_name, used in (("run", [*in_ci, "tools"]), ("nightly", in_nightly)):
            steps = re.findall(r'^  "(\w+) \d+ ', (PROJECT / ".ci" / script_name).read_text(), re.MULTILINE)
            self.assertEqual(sorted(used), sorted(steps), script_name)

    def test_actions_are_pinned_to_commits(self):
        all_used = [(path.name, used) for path in FOLDER.glob("*.yml") for used in re.findall(r"uses: (\S+.*)", path.read_text())]
        self.assertGreater(len(all_used), 10)
        for name, used in all_used:
            self.assertRegex(used, r"^(\./\.github/workflows/\w+\.yml|[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$", name)


if __name__ == "__main__":
    unittest.main()
