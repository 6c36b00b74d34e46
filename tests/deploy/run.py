"""Tests the templates, the roles, the workflows, and the service as it is deployed to an emulator of AWS.

    python3 tests/deploy/run.py             every suite but the last two
    python3 tests/deploy/run.py SUITE ...   these suites
    python3 tests/deploy/run.py tools       no test: installs the tools and prints the folder of their programs
    python3 tests/deploy/run.py sam         no test: the same for sam alone

In seconds:

    template           what the template alone can show
    permissions        what its roles may do
    monitoring         what its alarms and its dashboard read
    delivery           what the template of the delivery alone can show
    role               what deploy/deployment-role.yaml alone can show
    iam                what IAM would allow the roles, simulated
    resource_handlers  what CloudFormation calls to deploy the templates, against the deployment role, simulated
    workflows          what the workflows alone can show
    workflow_scripts   what the scripts of the workflow of a release do
    unpacking          what these scripts take out of an archive
    supply_chain       what CI, a release and the tests install
    commands           the commands of sam and AWS's command line on the pages, as bash passes them

In minutes:

    deployment         the deployment alone
    deployed_delivery  the deployment with the delivery
    programs           every command of the pages, as sam and AWS's command line take it
    package            the archive that .ci/package made in target/package

The functions are deployed as `cargo build` builds them; with INTAKE_RELEASED_PACKAGE=1, from the archive in
target/package. Installs its tools into target/deploy-test, once for each content of their requirements; the simulation
of IAM is one of .ci/tools. Needs Linux: the functions run as processes of this machine.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
WORK = PROJECT / "target" / "deploy-test"
# .ci/nightly has time for what starts 90 programs, and has the released package.
NIGHTLY_SUITES = ("programs", "package")
SUITES = ("template", "permissions", "monitoring", "delivery", "role", "iam", "resource_handlers", "workflows",
          "workflow_scripts", "unpacking", "supply_chain", "commands", "deployment", "deployed_delivery")
# Node runs the simulation of IAM.
NODE_SUITES = {"iam", "resource_handlers"}
# They wait more than they work, so each runs in a process of its own, beside the others.
DEPLOYING_SUITES = ("deployment", "deployed_delivery")


def installed_python(requirements: str = "requirements.txt") -> Path:
    """The interpreter of an environment that holds what these requirements name."""
    # A virtual environment that was moved does not work, so a repository that was moved gets another.
    source = (HERE / requirements).read_bytes() + f"{sys.version} {WORK}".encode()
    wanted = hashlib.sha256(source).hexdigest()[:12]
    home = WORK / f"tools-{wanted}"
    python = home / "bin" / "python"
    complete = home / "complete"
    if not complete.exists():
        print(f"Installing {requirements} into {home}.", file=sys.stderr)
        subprocess.run([PROJECT / ".ci" / "venv", home, HERE / requirements], check=True, stdout=sys.stderr)
        complete.touch()
    return python


def installed_aws() -> Path:
    """Version 2 of AWS's command line."""
    if platform.machine() != "x86_64":
        return aws_of_this_machine()
    home = installed_python("aws-requirements.txt").parent.parent
    program = home / "aws-cli" / "aws"
    if not program.exists():
        (package,) = home.rglob("asset-awscli-v2@*.jsii.tgz")
        with tarfile.open(package) as files, zipfile.ZipFile(files.extractfile("package/lib/layer.zip")) as layer:
            layer.extractall(home / "layer")
        (folder,) = home.glob("layer/awscli/v2/*/dist")
        (folder / "aws").chmod(0o755)
        # Last: what was interrupted before is done again.
        folder.rename(program.parent)
    return program


def aws_of_this_machine() -> Path:
    program = shutil.which("aws")
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout if program else ""
    if not version.startswith("aws-cli/2."):
        sys.exit("The suite programs needs version 2 of AWS's command line, which it can install on x86_64 only: install it as `aws`.")
    return Path(program)


def node_environment(environment: dict[str, str]) -> dict[str, str]:
    """The environment with Node, and with the folder of the packages of .ci/package.json."""
    done = subprocess.run([PROJECT / ".ci" / "tools"], check=True, stdout=subprocess.PIPE, text=True)
    programs, modules = done.stdout.strip().split(os.pathsep)
    path = f"{environment['PATH']}{os.pathsep}{programs}"
    return environment | {"PATH": path, "NODE_PATH": str(Path(modules).parent)}


def main() -> int:
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__.strip())
        return 0
    installed = {"tools": "requirements.txt", "sam": "sam-requirements.txt"}
    if len(sys.argv) == 2 and sys.argv[1] in installed:
        print(installed_python(installed[sys.argv[1]]).parent)
        return 0
    suites = sys.argv[1:] or list(SUITES)
    unknown = [suite for suite in suites if suite not in SUITES + NIGHTLY_SUITES]
    if unknown:
        known = ", ".join(SUITES + NIGHTLY_SUITES)
        print(f"There is no suite named {unknown[0]}; there are: {known}.", file=sys.stderr)
        return 2
    python = installed_python()
    environment = dict(os.environ, PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}", PYTHONDONTWRITEBYTECODE="1")
    if NODE_SUITES & set(suites):
        environment = node_environment(environment)
    if "programs" in suites:
        environment["AWS_COMMAND_LINE"] = str(installed_aws())
    if set(DEPLOYING_SUITES) & set(suites) and "INTAKE_RELEASED_PACKAGE" not in os.environ:
        package()
    return 0 if run_side_by_side(python, suites, environment) else 1


def package():
    """Packages the functions without optimizations: to build the release takes many minutes, and what is tested is how it deploys."""
    functions = ("customers", "signals", "overflow", "deliver")
    programs = [f"--bin={name}" for name in functions]
    architecture = {"x86_64": "x86_64", "aarch64": "arm64"}[platform.machine()]
    subprocess.run(["cargo", "build", "--quiet", "--locked", *programs], cwd=PROJECT, check=True)
    subprocess.run([PROJECT / ".ci" / "package", "--programs", "target/debug", architecture], cwd=PROJECT, check=True)


def run_side_by_side(python: Path, suites: list[str], environment: dict[str, str]) -> bool:
    """Whether all suites passed. What those that deploy print follows when the others have ended."""
    groups = [[suite for suite in suites if suite not in DEPLOYING_SUITES]]
    groups += [[suite] for suite in DEPLOYING_SUITES if suite in suites]
    running = []
    for group in groups:
        if group:
            # The first prints what it does while it does it.
            output = tempfile.TemporaryFile(mode="w+", dir=WORK) if running else None
            command = [python, "-m", "unittest", "--verbose", *(f"test_{suite}" for suite in group)]
            running.append((subprocess.Popen(command, cwd=HERE, env=environment, stdout=output, stderr=output), output))
    passed = True
    for process, output in running:
        passed = process.wait() == 0 and passed
        if output:
            output.seek(0)
            sys.stderr.write(output.read())
    return passed


if __name__ == "__main__":
    sys.exit(main())
