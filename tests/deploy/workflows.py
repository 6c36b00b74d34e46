"""The workflows of .github as data, and the scripts of their steps as a job runs them."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from template import PROJECT

FOLDER = PROJECT / ".github" / "workflows"


def jobs() -> dict[str, dict]:
    """Every job, by its workflow's name and its own."""
    workflows = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yml"))}
    return {f"{workflow}.{name}": {"permissions": content["permissions"]} | job
            for workflow, content in workflows.items() for name, job in content["jobs"].items()}


def script(job: str, step: str) -> str:
    """The script of the step with this name."""
    (found,) = [one["run"] for one in jobs()[job]["steps"] if one.get("name") == step]
    return found


class WorkflowSteps(unittest.TestCase):
    """Runs scripts of jobs as a job runs them: `bash -e`, in a folder of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_script(self, job: str, step: str, folder: str = ".", **variables: str) -> subprocess.CompletedProcess:
        """Runs the script of a step in a folder below that of the test."""
        environment = {
            "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_SHA": "0123456789abcdef" * 2,
            "GITHUB_STEP_SUMMARY": "summary",
        }
        command = ["bash", "-e", "-c", script(job, step)]
        return subprocess.run(command, cwd=self.folder / folder, env=environment | variables, text=True, capture_output=True)

    def program(self, name: str, text: str):
        """A program that the scripts find instead of the real one."""
        (self.folder / name).write_text(f"#!/bin/sh\n{text}")
        (self.folder / name).chmod(0o755)
