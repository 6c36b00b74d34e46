"""An AWS on this machine for as long as a test needs it: one process on a free port of the loopback interface.

aws_emulator_process.py is the process.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

START_WITHIN_SECONDS = 60
STOP_WITHIN_SECONDS = 10


class AwsEmulator:
    """Started when made. `stop` ends it and removes its files."""

    def __init__(self, work: Path):
        self.files = tempfile.TemporaryDirectory(dir=work, prefix="emulator-")
        self.functions_log = Path(self.files.name) / "functions.log"
        self.functions_log.touch()
        self.calls_log = Path(self.files.name) / "calls.log"
        self.calls_log.touch()
        self.own_log = Path(self.files.name) / "emulator.log"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        environment = self.environment() | {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            "FUNCTIONS_LOG": str(self.functions_log),
            "CALLS_LOG": str(self.calls_log),
            "TMPDIR": self.files.name,
            # It would open a port for devices.
            "IOT_MTLS_ENABLED": "0",
        }
        with open(self.own_log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("aws_emulator_process.py")],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )
        try:
            self.wait_until_it_answers()
        except BaseException:
            self.stop()
            raise

    def environment(self) -> dict[str, str]:
        """This process's environment, with the emulator as AWS for every tool and SDK."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return inherited | {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "SAM_CLI_TELEMETRY": "0",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_WITHIN_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RuntimeError(f"The emulator did not start:\n{self.own_log.read_text(errors='replace')[-3000:]}")

    def stop(self) -> None:
        """Ends the emulator and the functions that it runs."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, how)
                self.process.wait(STOP_WITHIN_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            except ProcessLookupError:
                break
        self.process.wait()
        self.files.cleanup()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
