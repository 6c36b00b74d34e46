"""Finds the browser of the machine for the browser checks, and installs it where it can."""

import os
import shutil
import subprocess
import sys

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser() -> str:
    """A browser that runs, installed first if need be."""
    for install in (lambda: None, install_browser):
        install()
        for name in BROWSERS:
            program = shutil.which(name)
            if program and subprocess.run([program, "--version"], capture_output=True).returncode == 0:
                return program
    sys.exit("error: there is no Chromium or Chrome, and it could not be installed: install chromium and run this again.")


def install_browser() -> None:
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    needed = [*as_root[:1], "apt-get"]
    if all(shutil.which(program) for program in needed):
        print("Installing chromium with apt-get.", flush=True)
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for arguments in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run([*as_root, "apt-get", *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
