"""IAM on this machine: whether a call is allowed by the policies of the templates, and by which statements.

@cloud-copilot/iam-simulate decides. Its licence is the AGPL: it is a tool of the checks, and no part of what is shipped. run.py
installs it.
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import template
from resolved import DELIVERY, KMS_KEY, resolved
from template import of_type, statements

ACCOUNT = "123456789012"
FILES = {"service": "template.yaml", "delivery": "delivery/template.yaml", "account": "deploy/deployment-role.yaml"}


@dataclass(frozen=True)
class Call:
    """A call of AWS with the credentials of a role."""

    role: str
    action: str
    resource: str
    # What the conditions of a policy can ask.
    context: dict = field(default_factory=dict, hash=False)


class Policies:
    """The policies of all templates, as CloudFormation makes them of the processed templates with every option on."""

    def __init__(self):
        options = {"KmsKeyArn": KMS_KEY, "GradualDeployment": "true"}
        self.templates = {
            "service": template.processed(template.written(), **options),
            "delivery": template.processed(template.written(FILES["delivery"]), KmsKeyArn=KMS_KEY, **DELIVERY),
            "account": template.written(FILES["account"]),
        }
        self.roles = {name: source for source, processed in self.templates.items()
                      for name in of_type(processed, "AWS::IAM::Role")}
        account = self.templates["account"]
        self.boundary = resolved(account, account["Resources"]["PermissionsBoundary"]["Properties"]["PolicyDocument"])
        self.buckets = {}
        for processed in self.templates.values():
            for policy in of_type(processed, "AWS::S3::BucketPolicy").values():
                document = resolved(processed, policy["Properties"]["PolicyDocument"])
                self.buckets[document["Statement"][0]["Resource"][0]] = document

    def of_role(self, role: str) -> list[dict]:
        """The statements of the role."""
        processed = self.templates[self.roles[role]]
        return resolved(processed, statements(processed, role))

    def of_resource(self, call: Call) -> dict | None:
        """The policy of the key or the bucket of this call."""
        if call.action.startswith("kms:"):
            # It lets IAM policies decide, as docs/operate.md asks for.
            principal = {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
            return document([{"Effect": "Allow", "Principal": principal, "Action": "kms:*", "Resource": "*"}])
        return self.buckets.get(call.resource.split("/")[0])

    def simulation(self, call: Call) -> dict:
        is_of_a_stack = self.roles[call.role] != "account"
        # Every caller of AWS uses TLS.
        path = {"service": "intake-dev/", "delivery": "intake-dev-delivery/", "account": ""}[self.roles[call.role]]
        principal = f"arn:aws:iam::{ACCOUNT}:role/{path}{call.role}"
        context = {"aws:SecureTransport": "true", "aws:PrincipalArn": principal} | call.context
        made = {
            "request": {"principal": principal, "action": call.action, "contextVariables": context,
                        "resource": {"resource": call.resource, "accountId": ACCOUNT}},
            "identityPolicies": [{"name": call.role, "policy": document(self.of_role(call.role))}],
            "serviceControlPolicies": [], "resourceControlPolicies": [],
        }
        if is_of_a_stack:
            made["permissionBoundaryPolicies"] = [{"name": "boundary", "policy": self.boundary}]
        if policy := self.of_resource(call):
            made["resourcePolicy"] = policy
        return made


def document(statements: list[dict]) -> dict:
    return {"Version": "2012-10-17", "Statement": statements}


def decide(simulations: list[dict]) -> list[dict]:
    """The decision about each."""
    node = shutil.which("node")
    if node is None or "NODE_PATH" not in os.environ:
        raise RuntimeError("Node is missing: run this test as python3 tests/deploy/run.py iam, which installs it.")
    program = Path(__file__).with_name("iam_simulation.cjs")
    done = subprocess.run([node, program], input=json.dumps(simulations), text=True, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"The simulation failed: {done.stderr[-3000:]}")
    return json.loads(done.stdout)
