"""What the roles of the template may do."""

import json
import re
import unittest

import template
from resolved import KMS_KEY
from template import actions, as_list, of_type, statements


def targets(statement: dict) -> set[str]:
    """The tables, queues and buckets that the statement is about."""
    named = set()
    for resource in as_list(statement["Resource"]):
        if isinstance(resource, dict) and "Fn::GetAtt" in resource:
            named.add(resource["Fn::GetAtt"][0])
        elif isinstance(resource, dict) and "Fn::Sub" in resource:
            named |= template.references(resource)
    return named


def actions_on_storage(processed: dict, role: str) -> dict[str, set[str]]:
    """For each table, queue and bucket that the role reaches, what it may do there."""
    reached = {}
    for statement in statements(processed, role):
        for action in actions(statement):
            if action.startswith(("dynamodb:", "s3:", "sqs:")):
                for target in targets(statement):
                    reached.setdefault(target, set()).add(action)
    return reached


class Permissions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.processed = template.processed(template.written(), KmsKeyArn=KMS_KEY)
        cls.roles = of_type(cls.processed, "AWS::IAM::Role")
        cls.function_roles = set(cls.roles) - {"CodeDeployRole"}

    def test_each_function_has_its_own_role(self):
        held = {
            name: function["Properties"]["Role"]["Fn::GetAtt"][0]
            for name, function in of_type(self.processed, "AWS::Lambda::Function").items()
        }
        self.assertEqual(held, {"CustomersFunction": "CustomersRole", "SignalsFunction": "SignalsRole",
                                "OverflowFunction": "OverflowRole"})
        self.assertEqual(self.function_roles, set(held.values()))

    def test_no_role_has_a_managed_policy_or_may_scan_query_delete_or_use_wildcards(self):
        for file in ("template.yaml", "delivery/template.yaml"):
            deployed = template.deployed(file)
            for name, role in of_type(deployed, "AWS::IAM::Role").items():
                self.assertNotIn("ManagedPolicyArns", role["Properties"], name)
                for statement in statements(deployed, name):
                    self.assertNotIn("NotAction", statement)
                    # Lambda deletes what the overflow function has drained.
                    for action in set(actions(statement)) - {"sqs:DeleteMessage"}:
                        self.assertNotRegex(action, r"[*?]|Scan|Query|Delete|PartiQL", name)

    def test_no_function_has_a_wildcard_resource(self):
        for name in self.function_roles:
            for statement in statements(self.processed, name):
                self.assertNotIn("NotResource", statement)
                self.assertNotIn("*", json.dumps(statement["Resource"]))

    def test_role_that_reaches_a_queue_may_use_its_key_through_sqs(self):
        through = {"StringEquals": {"kms:ViaService": {"Fn::Sub": "sqs.${AWS::Region}.${AWS::URLSuffix}"}}}
        for name in self.function_roles:
            reaches_a_queue = any("sqs:" in action for s in statements(self.processed, name) for action in actions(s))
            granted = [set(actions(s)) for s in statements(self.processed, name) if s.get("Condition") == through]
            # A sender needs both, a reader the first ("Amazon SQS Key management" in its developer guide).
            self.assertEqual(granted, [{"kms:Decrypt", "kms:GenerateDataKey"}] if reaches_a_queue else [], name)

    def test_function_has_the_variables_of_what_its_role_reaches(self):
        for name, function in of_type(self.processed, "AWS::Lambda::Function").items():
            # The address of S3 has the region.
            known = {*template.written()["Parameters"], "AWS::Region", "AWS::URLSuffix"}
            named = template.references(function["Properties"]["Environment"]) - known
            reached = set(actions_on_storage(self.processed, function["Properties"]["Role"]["Fn::GetAtt"][0]))
            # Lambda reads the queue: the function has no need of its name.
            self.assertEqual(named, reached - ({"OverflowQueue"} if name == "OverflowFunction" else set()), name)

    def test_each_role_writes_its_own_log_group_only(self):
        for name, function in of_type(self.processed, "AWS::Lambda::Function").items():
            properties = function["Properties"]
            own = properties["LoggingConfig"]["LogGroup"]["Ref"]
            logs = [s for s in statements(self.processed, properties["Role"]["Fn::GetAtt"][0]) if "logs:" in str(s)]
            self.assertEqual([(sorted(actions(s)), s["Resource"]) for s in logs],
                             [(["logs:CreateLogStream", "logs:PutLogEvents"], {"Fn::GetAtt": [own, "Arn"]})], name)


# What an action lets its credentials do. A write by key reads, too: DynamoDB returns the item as it was, where the request asks for it
# (ReturnValues, and ReturnValuesOnConditionCheckFailure, for which IAM has no condition key).
MEANING = {
    "cloudformation:DescribeStacks": "describe", "cloudwatch:DescribeAlarms": "read",
    "dynamodb:BatchWriteItem": "create, replace and delete items", "dynamodb:DeleteItem": "read and delete an item",
    "dynamodb:DescribeStream": "read", "dynamodb:GetItem": "read an item",
    "dynamodb:GetRecords": "read", "dynamodb:GetShardIterator": "read", "dynamodb:ListStreams": "read",
    "dynamodb:PutItem": "read, create and replace an item", "dynamodb:Query": "read items",
    "dynamodb:UpdateItem": "read, create and change an item",
    "events:PutEvents": "put events", "firehose:PutRecordBatch": "put records",
    "lambda:GetAlias": "move", "lambda:GetProvisionedConcurrencyConfig": "move", "lambda:UpdateAlias": "move",
    "logs:FilterLogEvents": "read",
    "s3:AbortMultipartUpload": "write objects", "s3:GetBucketLocation": "list objects", "s3:GetObject": "read objects",
    "s3:ListBucket": "list objects", "s3:ListBucketMultipartUploads": "list objects", "s3:PutObject": "write objects",
    "sqs:DeleteMessage": "receive and delete messages", "sqs:GetQueueAttributes": "receive and delete messages",
    "sqs:ReceiveMessage": "receive and delete messages", "sqs:SendMessage": "send messages",
}
# What a resource is called on the page, by a part of its name in a policy.
PLACES = {
    "ApiKeysTable": "ApiKeys", "CustomersTable": "Customers", "RejectedSignalsTable": "RejectedSignals", "SignalsTable": "Signals",
    "IdempotencyTable": "Idempotency", "keys.json.gz": "`keys.json.gz`", "OverflowQueue": "overflow queue",
    "OverflowDeadLetterQueue": "dead-letter queue", "StreamArn": "streams", "Bus.Arn": "bus", "DeliveryStream.Arn": "Firehose",
    "FailureBucket": "failure bucket", "LakeBucket": "lake", "lakebucket": "lake", "CustomersFunction": "aliases",
    "SignalsFunction": "aliases", "stack/": "stacks", "/aws/lambda/": "functions' logs",
}
# Each function writes to its own log group, and uses KMS only through what it reaches: the tests above.
COMMON = ("kms:", "logs:CreateLogStream", "logs:PutLogEvents")
ROLES = {
    "customers function": ("template.yaml", "CustomersRole"), "signals function": ("template.yaml", "SignalsRole"),
    "overflow function": ("template.yaml", "OverflowRole"), "CodeDeploy": ("template.yaml", "CodeDeployRole"),
    "delivery to the bus": ("delivery/template.yaml", "BusRole"),
    "delivery to the lake": ("delivery/template.yaml", "LakeRole"),
    "Firehose": ("delivery/template.yaml", "DeliveryStreamRole"),
    "verification role": ("deploy/deployment-role.yaml", "VerificationRole"),
}


def place(action: str, resource: str | dict) -> str:
    """What the page calls this resource of a statement."""
    if resource == "*":
        return {"cloudwatch": "alarms", "dynamodb": "streams"}[action.split(":")[0]]
    name = ".".join(resource["Fn::GetAtt"]) if "Fn::GetAtt" in resource else str(resource)
    (found,) = {called for part, called in PLACES.items() if re.search(rf"(?<![A-Za-z]){re.escape(part)}|{re.escape(part)}'", name)}
    return found


def allowed(file: str, role: str) -> str:
    """What the credentials of a role can do, as docs/security.md has to say it."""
    uses = {}
    deployed = template.written(file) if file.startswith("deploy/") else template.deployed(file)
    for statement in statements(deployed, role):
        limit = " (keys `verify-*`)" if "dynamodb:LeadingKeys" in str(statement.get("Condition")) else ""
        for action in (action for action in actions(statement) if not action.startswith(COMMON)):
            for resource in as_list(statement["Resource"]):
                uses.setdefault(place(action, resource) + limit, {})[MEANING[action]] = None
    alike = {}
    for resource, meanings in uses.items():
        alike.setdefault(", ".join(meanings), []).append(resource)
    return "; ".join(f"{', '.join(resources)}: {meanings}" for meanings, resources in alike.items())


class SecurityPage(unittest.TestCase):
    """The column of docs/security.md that says what credentials can do."""

    @classmethod
    def setUpClass(cls):
        page = (template.PROJECT / "docs" / "security.md").read_text()
        cls.said = dict(re.findall(r"^\| ([\w -]+) \| (.+) \|$", page, re.MULTILINE))
        cls.maxDiff = None

    def test_page_says_what_the_policies_allow(self):
        self.assertEqual({name: self.said.get(name) for name in ROLES}, {name: allowed(*role) for name, role in ROLES.items()})

    def test_page_says_which_services_the_deployment_role_reaches(self):
        through, itself = set(), set()
        for statement in statements(template.written("deploy/deployment-role.yaml"), "DeploymentRole"):
            services = {action.split(":")[0] for action in actions(statement)}
            (through if "aws:CalledVia" in str(statement.get("Condition")) else itself).update(services)
        self.assertEqual(self.said.get("deployment role by CloudFormation"), f"change {', '.join(sorted(through))}")
        self.assertEqual(self.said.get("deployment role itself"), f"call {', '.join(sorted(itself))}")


if __name__ == "__main__":
    unittest.main()
