"""Every command of sam and AWS's command line on the pages, as the real programs take it.

A program that accepts its options calls AWS next: here, a server of the test that refuses every call. So a command is right when
a call arrived, and a command that its program refuses never gets there. `sam build` calls nothing, and has to succeed.
"""

import concurrent.futures
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from collections import Counter
from pathlib import Path

import page_commands
from page_commands import Command

# In place of cargo-lambda: what matters is where sam looks for what was built, and where it puts that.
CARGO = """#!/bin/sh
case "$*" in lambda*) mkdir -p target/lambda/program && : >target/lambda/program/bootstrap ;; *) exit 1 ;; esac
"""
# It waits for the browser instead of calling AWS. With this option it asks for a code.
LOGIN = ("login", "--remote")
ASKS_FOR_A_CODE = "Enter the authorization code"
# To the questions of `sam delete`.
YES = "y\n" * 3


class Calls(http.server.ThreadingHTTPServer):
    """Refuses every call, and counts them by the first part of their path."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Refusal)
        self.counts = Counter()


class Refusal(http.server.BaseHTTPRequestHandler):
    def refuse(self):
        self.server.counts[self.path.split("/")[1]] += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET = do_HEAD = do_PATCH = do_POST = do_PUT = refuse

    def log_message(self, *_):
        pass


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        cls.project = cls.folder / "project"
        cls.made = page_commands.made_by_pages(cls.project)
        programs = cls.folder / "programs"
        programs.mkdir()
        for name in ("cargo", "cargo-lambda"):
            (programs / name).write_text(CARGO)
            (programs / name).chmod(0o755)
        cls.programs = {"sam": str(Path(sys.executable).with_name("sam")), "aws": os.environ["AWS_COMMAND_LINE"]}
        cls.server = Calls()
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.server_close)
        cls.addClassCleanup(cls.server.shutdown)
        cls.environment = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": folder.name, "SAM_CLI_TELEMETRY": "0",
            "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1", "AWS_PAGER": "", "AWS_EC2_METADATA_DISABLED": "true",
        }

    def test_programs_take_every_command(self):
        # test_commands.py tests parameters. Until its first call, sam does the same with any.
        places = {command.with_one_override() if command.program == "sam" else command: script.place
                  for script, commands in self.made.items() for command in commands}
        builds = [command for command in places if command.arguments[0] == "build"]
        self.assertTrue(builds)
        # One after the other, and first: the others deploy what they build.
        answers = {command: self.run_command(command, number) for number, command in enumerate(builds)}
        others = [command for command in places if command not in builds]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            numbers = range(len(builds), len(places))
            answers |= dict(zip(others, pool.map(self.run_command, others, numbers)))
        for command, place in places.items():
            with self.subTest(place=place, command=str(command)):
                self.assertIsNone(answers[command])

    def run_command(self, command: Command, number: int) -> str | None:
        """What the program printed, if it did not take the command."""
        arguments = LOGIN if command.arguments[0] == "login" else command.arguments
        environment = self.environment | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server.server_port}/{number}"}
        done = subprocess.run([self.programs[command.program], *arguments], cwd=self.project / command.folder, env=environment,
                              input=YES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        match arguments[0]:
            case "build":
                taken = done.returncode == 0
            case "login":
                taken = ASKS_FOR_A_CODE in done.stdout
            case _:
                taken = self.server.counts[str(number)] > 0
        return None if taken else f"exit code {done.returncode}: {done.stdout[-3000:]}"


if __name__ == "__main__":
    unittest.main()
