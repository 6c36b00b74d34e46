"""A stack that was deployed as an adopter deploys it: a package and the real `sam deploy`, to an emulator."""

import json
import os
import platform
import re
import subprocess
import sys
import unittest
import uuid
from pathlib import Path

import boto3
from samcli.yamlhelper import yaml_parse

import template
from api import Api
from aws_emulator import AwsEmulator
from iam_calls import ON_THE_WIRE, WHEN_SOMETHING_FAILS
from template import PROJECT

WORK = PROJECT / "target" / "deploy-test"
STACK = "intake-dev"
ARCHITECTURE = {"x86_64": "x86_64", "aarch64": "arm64"}[platform.machine()]
ORIGINS = ["https://shop.example", "http://localhost:3000"]
FUNCTIONS = ("customers", "signals", "overflow", "deliver")
BOUNDARY = "arn:aws:iam::000000000000:policy/boundary"
PACKAGES = PROJECT / "target" / "package"


class DeployedStack(unittest.TestCase):
    """Deploys the package that run.py made to an emulator of its own, and looks into what is deployed."""

    @classmethod
    def setUpClass(cls):
        WORK.mkdir(parents=True, exist_ok=True)
        cls.emulator = AwsEmulator(WORK)
        cls.addClassCleanup(cls.emulator.stop)
        cls.package = Path(cls.emulator.files.name) / "package"
        cls.unpack()
        cls.deploy()
        cls.outputs = cls.describe_outputs()
        cls.route_the_api()
        cls.key = cls.mint_key()

    @classmethod
    def unpack(cls):
        """Does what an adopter of a release does before `sam deploy`."""
        cls.package.mkdir()
        cls.run_command("sha256sum", "--check", "--strict", "SHA256SUMS", folder=PACKAGES)
        _, archive = (PACKAGES / "SHA256SUMS").read_text().split()
        cls.run_command("tar", "--extract", "--strip-components=1", "--file", PACKAGES / archive, folder=cls.package)
        # The emulator is S3, too, and says so by AWS_ENDPOINT_URL. The variable of the templates would win.
        for path in (cls.package / "template.yaml", cls.package / "delivery" / "template.yaml"):
            lines = path.read_text().splitlines(keepends=True)
            path.write_text("".join(line for line in lines if "AWS_ENDPOINT_URL_S3:" not in line))

    @classmethod
    def run_command(cls, *command, folder: Path = PROJECT, **variables) -> str:
        """What the command prints. Fails with that when it fails."""
        environment = cls.emulator.environment() | variables
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))} failed:\n{done.stdout[-6000:]}")
        return done.stdout

    @classmethod
    def sam(cls, *arguments, folder: str = ".") -> str:
        """The command, in this folder of the package."""
        return cls.run_command(Path(sys.executable).with_name("sam"), *arguments, folder=cls.package / folder)

    @classmethod
    def deploy(cls, retention_days: int = 0) -> str:
        return cls.sam("deploy", "--parameter-overrides", f"SignalRetentionDays={retention_days}",
                       f"CorsOrigins={','.join(ORIGINS)}", "QuietMinutes=60",
                       f"PermissionsBoundaryArn={BOUNDARY}")

    @classmethod
    def aws(cls, service: str):
        """A client that talks to the emulator and nothing else."""
        return boto3.client(service, endpoint_url=cls.emulator.url, region_name="us-east-1",
                            aws_access_key_id="test", aws_secret_access_key="test")

    @classmethod
    def describe_outputs(cls, stack: str = STACK) -> dict[str, str]:
        """The outputs, by the command with which the pipeline reads them."""
        printed = cls.sam("list", "stack-outputs", "--stack-name", stack, "--output", "json")
        outputs = json.loads(printed[printed.index("["):printed.rindex("]") + 1])
        return {output["OutputKey"]: output["OutputValue"] for output in outputs}

    @classmethod
    def physical_ids(cls, stack: str = STACK) -> dict[str, str]:
        """What CloudFormation named the stack's resources, by logical id."""
        resources = cls.aws("cloudformation").list_stack_resources(StackName=stack)["StackResourceSummaries"]
        return {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in resources}

    @classmethod
    def route_the_api(cls):
        """Makes the routes and the CORS configuration: CloudFormation takes them from the API's body, the emulator does not."""
        gateway, physical = cls.aws("apigatewayv2"), cls.physical_ids()
        deployed = yaml_parse(cls.aws("cloudformation").get_template(StackName=STACK)["TemplateBody"])
        api = physical["HttpApi"]
        processed = template.processed(deployed, Architecture=ARCHITECTURE, CorsOrigins=cls.outputs["CorsOrigins"])
        gateway.update_api(ApiId=api, CorsConfiguration=template.cors(processed))
        for method, path, alias in template.routes(processed):
            integration = gateway.create_integration(ApiId=api, IntegrationType="AWS_PROXY", PayloadFormatVersion="2.0",
                                                     IntegrationUri=physical[alias])["IntegrationId"]
            gateway.create_route(ApiId=api, RouteKey=f"{method} {path}", Target=f"integrations/{integration}")
        cls.host = f"{api}.execute-api.localhost"

    @classmethod
    def mint_key(cls) -> str:
        """A key, made as an operator makes one."""
        printed = cls.run_command("cargo", "intake", "--stack", STACK, "keys", "create", "--account", "acme",
                                  "--name", "deployment test", "--expires-in", "1h")
        return re.search(r"\bintake_sk_\w+", printed).group()

    def assert_functions_call_what_the_simulation_of_iam_knows(self, stack: str = STACK):
        """The functions of the stack have sent every call of ON_THE_WIRE so far, and only calls that iam_calls.py has."""
        physical = self.physical_ids(stack)
        # The physical id of a queue is its URL.
        logical = {name.rsplit("/", 1)[-1] if "://" in name else name: logical_id
                   for logical_id, name in physical.items()}
        sent = {}
        for line in self.emulator.calls_log.read_text().splitlines():
            function, action, resource = json.loads(line)
            if function in logical:
                role = logical[function].removesuffix("Function") + "Role"
                sent.setdefault(role, set()).add((action, logical.get(resource, resource)))
        self.assertTrue(sent)
        for role, calls in sent.items():
            self.assertLessEqual(ON_THE_WIRE[role], calls, role)
            self.assertLessEqual(calls, ON_THE_WIRE[role] | WHEN_SOMETHING_FAILS[role], role)
        functions = {name for name in physical if name.endswith("Function")}
        self.assertEqual({f"{role.removesuffix('Role')}Function" for role in sent}, functions)

    @property
    def api(self) -> Api:
        return Api(self.emulator.url, self.key, self.host)

    def item(self, table: str, **wanted: str) -> dict:
        """The one item of the table whose attributes are these strings."""
        pages = self.aws("dynamodb").get_paginator("scan").paginate(TableName=self.outputs[f"{table}TableName"])
        items = [item for page in pages for item in page["Items"]
                 if all(item.get(name) == {"S": value} for name, value in wanted.items())]
        self.assertEqual(len(items), 1, f"{table} with {wanted}")
        return items[0]

    def send_signal(self) -> dict:
        """The stored item of a signal that was just sent."""
        customer = str(uuid.uuid4())
        signals = [{"customerId": customer, "eventType": "purchase", "data": {"price": 12.5}}]
        # The emulator may repeat an invocation whose process is slow to start: with an identifier that stores nothing twice.
        request = {"requestIdentifier": str(uuid.uuid4()), "signals": signals}
        status, _, body = self.api.call("POST", "/api/event-flows/signal", request)
        self.assertEqual((status, body["accepted"]), (200, 1), body)
        return self.item("Signals", customerId=customer)
