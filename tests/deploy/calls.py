"""The calls of AWS with the roles of the templates: what the functions call, what AWS calls for them, and what must be denied."""

from resolved import DELIVERY, KEY, STACK, arn
from simulation import ACCOUNT, Call, Policies

REGION = "eu-west-1"
DELIVERY_STACK = f"{STACK}-delivery"
# The operations of the functions by their role, each with the logical id of the resource that it is about. test_deployment.py and
# test_deployed_delivery.py compare them with what the deployed functions send.
ON_THE_WIRE = {
    "CustomersRole": {("dynamodb:GetItem", "ApiKeysTable"), ("dynamodb:UpdateItem", "CustomersTable")},
    "SignalsRole": {("dynamodb:GetItem", "ApiKeysTable"), ("dynamodb:PutItem", "IdempotencyTable"),
                    ("dynamodb:BatchWriteItem", "SignalsTable"), ("dynamodb:BatchWriteItem", "RejectedSignalsTable")},
    "OverflowRole": {("dynamodb:PutItem", "IdempotencyTable"), ("dynamodb:BatchWriteItem", "SignalsTable"),
                     ("sqs:SendMessage", "OverflowDeadLetterQueue")},
    "BusRole": {("events:PutEvents", "Bus")},
    "LakeRole": {("firehose:PutRecordBatch", "DeliveryStream")},
}
# Those that need an outage, a refusal or an unreadable record first.
WHEN_SOMETHING_FAILS = {
    "CustomersRole": {("s3:GetObject", "KeySnapshotBucket"), ("sqs:SendMessage", "OverflowQueue")},
    "SignalsRole": {("s3:GetObject", "KeySnapshotBucket"), ("sqs:SendMessage", "OverflowQueue")},
    "OverflowRole": {("dynamodb:BatchWriteItem", "RejectedSignalsTable"), ("dynamodb:UpdateItem", "CustomersTable")},
    "BusRole": {("s3:PutObject", "FailureBucket")},
    "LakeRole": {("s3:PutObject", "FailureBucket")},
}
OBJECTS = {"KeySnapshotBucket": "keys.json.gz", "FailureBucket": "unreadable/2026/11/20/a.json", "LakeBucket": "events/dt=2026-11-20/a.gz"}
# What a service calls KMS for on behalf of the caller: "How Amazon DynamoDB uses AWS KMS" and "Amazon SQS Key management".
OF_TABLES = ("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey", "ReEncryptFrom", "ReEncryptTo")
OF_QUEUES = ("Decrypt", "GenerateDataKey")
BY_CLOUDFORMATION = {"aws:CalledVia": ["cloudformation.amazonaws.com"]}


class Calls:
    def __init__(self, policies: Policies):
        self.policies = policies

    def arn(self, name: str) -> str:
        """The ARN of a resource of one of the templates."""
        (processed,) = [one for one in self.policies.templates.values() if name in one["Resources"]]
        return arn(processed, name)

    def object(self, bucket: str) -> str:
        return f"{self.arn(bucket)}/{OBJECTS[bucket]}"

    def of_functions(self) -> list[Call]:
        """What the functions call themselves."""
        return [Call(role, action, self.object(name) if action.startswith("s3:") else self.arn(name))
                for table in (ON_THE_WIRE, WHEN_SOMETHING_FAILS) for role, calls in table.items() for action, name in sorted(calls)]

    def of_kms(self, role: str, service: str, actions: tuple[str, ...]) -> list[Call]:
        """What a service calls KMS for with the credentials of its caller."""
        return [Call(role, f"kms:{action}", KEY, {"kms:ViaService": f"{service}.{REGION}.amazonaws.com"}) for action in actions]

    def of_logs(self, role: str, group: str) -> list[Call]:
        stream = self.arn(group).removesuffix("*") + "log-stream:2026/11/20/live[1]0a"
        return [Call(role, action, stream) for action in ("logs:CreateLogStream", "logs:PutLogEvents")]

    def of_aws(self) -> list[Call]:
        """What AWS calls with these roles."""
        return [
            *self.of_lambda(), *self.of_pollers(), *self.of_codedeploy(), *self.of_firehose(),
            # DynamoDB and SQS use the key of a table and a queue for the role that reads and writes them.
            *[call for role in ("CustomersRole", "SignalsRole", "OverflowRole", "VerificationRole") for call in self.of_kms(role, "dynamodb", OF_TABLES)],
            *[call for role in ("CustomersRole", "SignalsRole", "OverflowRole") for call in self.of_kms(role, "sqs", OF_QUEUES)],
            # A stream has the key of its table, and an object of the failure bucket that of its bucket.
            *[call for role in ("BusRole", "LakeRole") for call in self.of_kms(role, "dynamodb", ("Decrypt", "DescribeKey"))],
            *[call for role in ("BusRole", "LakeRole", "DeliveryStreamRole") for call in self.of_kms(role, "s3", OF_QUEUES)],
        ]

    def of_lambda(self) -> list[Call]:
        """Lambda writes the logs of a function with its role."""
        groups = {"CustomersRole": "CustomersLogGroup", "SignalsRole": "SignalsLogGroup", "OverflowRole": "OverflowLogGroup",
                  "BusRole": "BusLogGroup", "LakeRole": "LakeLogGroup"}
        return [call for role, group in groups.items() for call in self.of_logs(role, group)]

    def of_pollers(self) -> list[Call]:
        """Lambda polls queues and streams with the role of the function ("Creating an event source mapping" of each in its guide)."""
        queue = self.arn("OverflowQueue")
        calls = [Call("OverflowRole", f"sqs:{action}", queue) for action in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")]
        for role in ("BusRole", "LakeRole"):
            calls += [Call(role, f"dynamodb:{action}", stream) for action in ("DescribeStream", "GetRecords", "GetShardIterator")
                      for stream in DELIVERY.values()]
            calls += [Call(role, "dynamodb:ListStreams", "*"), Call(role, "s3:ListBucket", self.arn("FailureBucket")),
                      Call(role, "s3:PutObject", f"{self.arn('FailureBucket')}/aws/lambda/id/shard/2026/11/20/a")]
        return calls

    def of_codedeploy(self) -> list[Call]:
        """CodeDeploy moves an alias (AWSCodeDeployRoleForLambda)."""
        role, functions = "CodeDeployRole", (self.arn("CustomersFunction"), self.arn("SignalsFunction"))
        return [Call(role, "cloudwatch:DescribeAlarms", "*"),
                *[Call(role, f"lambda:{action}", function) for action in ("GetAlias", "UpdateAlias") for function in functions],
                *[Call(role, "lambda:GetProvisionedConcurrencyConfig", f"{function}:live") for function in functions]]

    def of_firehose(self) -> list[Call]:
        """Firehose writes the lake ("Controlling access with Amazon Data Firehose" in its guide)."""
        role, bucket = "DeliveryStreamRole", self.arn("LakeBucket")
        return [*[Call(role, f"s3:{action}", self.object("LakeBucket")) for action in ("AbortMultipartUpload", "GetObject", "PutObject")],
                *[Call(role, f"s3:{action}", bucket) for action in ("GetBucketLocation", "ListBucket", "ListBucketMultipartUploads")],
                Call(role, "logs:PutLogEvents", self.arn("DeliveryStreamLogGroup").removesuffix("*") + "log-stream:lake")]

    def of_verification(self) -> list[Call]:
        """What `cargo intake verify` calls: docs/cli.md, Permissions."""
        role, own = "VerificationRole", {"dynamodb:LeadingKeys": ["verify-1a#x"]}
        items = [Call(role, f"dynamodb:{action}", self.arn(f"{table}Table"), own) for action in ("BatchWriteItem", "Query")
                 for table in ("Customers", "Idempotency", "RejectedSignals", "Signals")]
        keys = [Call(role, f"dynamodb:{action}", self.arn("ApiKeysTable"), {"dynamodb:LeadingKeys": ["verify-1a"]}) for action in ("DeleteItem", "PutItem")]
        return [*items, *keys, Call(role, "cloudformation:DescribeStacks", f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/0a")]

    def of_deployments(self) -> list[Call]:
        """What the job that deploys calls by itself: sam and deploy/streams."""
        role, packages = "DeploymentRole", f"arn:aws:s3:::aws-sam-cli-managed-default-samclisourcebucket-1/{STACK}/0a"
        stacks = [f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{name}/0a" for name in (STACK, DELIVERY_STACK)]
        managed = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/aws-sam-cli-managed-default/0a"
        actions = ("CreateChangeSet", "DescribeChangeSet", "DescribeStackEvents", "DescribeStacks", "ExecuteChangeSet", "GetTemplate")
        return [*[Call(role, f"cloudformation:{action}", stack) for action in actions for stack in stacks],
                Call(role, "cloudformation:DescribeStacks", managed), Call(role, "cloudformation:GetTemplateSummary", "*"),
                *[Call(role, f"s3:{action}", packages) for action in ("AbortMultipartUpload", "GetObject", "PutObject")],
                *[Call(role, "dynamodb:DescribeTable", self.arn(f"{table}Table")) for table in ("Customers", "Signals")]]

    def allowed(self) -> list[Call]:
        return self.of_functions() + self.of_aws() + self.of_verification() + self.of_deployments()

    def denied(self) -> list[Call]:
        """What an attacker with the credentials of a role would try."""
        another = {"dynamodb:LeadingKeys": ["acme#x"]}
        table, queue = self.arn("CustomersTable"), self.arn("OverflowQueue")
        snapshot = self.object("KeySnapshotBucket")
        functions = ("CustomersRole", "SignalsRole", "OverflowRole")
        return [
            *[Call(role, f"dynamodb:{action}", self.arn(name)) for role in functions for name in ("ApiKeysTable", "CustomersTable", "SignalsTable")
              for action in ("DeleteItem", "DeleteTable", "Query", "Scan", "UpdateTable")],
            *[Call(role, action, self.arn("ApiKeysTable")) for role in functions for action in ("dynamodb:PutItem", "dynamodb:UpdateItem")],
            *[Call(role, "s3:PutObject", snapshot) for role in functions],
            *[Call(role, "kms:Decrypt", KEY) for role in (*functions, "BusRole", "LakeRole", "DeliveryStreamRole")],
            Call("CustomersRole", "dynamodb:GetItem", table), Call("CustomersRole", "sqs:ReceiveMessage", queue),
            Call("SignalsRole", "dynamodb:UpdateItem", table), Call("SignalsRole", "s3:GetObject", snapshot, {"aws:SecureTransport": "false"}),
            Call("BusRole", "dynamodb:GetItem", table), Call("LakeRole", "s3:GetObject", self.object("LakeBucket")),
            Call("VerificationRole", "dynamodb:Query", table, another), Call("VerificationRole", "dynamodb:Scan", table),
            Call("VerificationRole", "dynamodb:PutItem", self.arn("ApiKeysTable"), another), Call("VerificationRole", "dynamodb:PutItem", self.arn("ApiKeysTable")),
            *self.denied_to_deployments(),
        ]

    def denied_to_deployments(self) -> list[Call]:
        role, made = "DeploymentRole", f"arn:aws:iam::{ACCOUNT}:role/{STACK}/x"
        via, boundary = BY_CLOUDFORMATION, f"arn:aws:iam::{ACCOUNT}:policy/another"
        return [
            Call(role, "dynamodb:DeleteTable", self.arn("CustomersTable"), via), Call(role, "sqs:DeleteQueue", self.arn("OverflowQueue"), via),
            Call(role, "s3:DeleteBucket", self.arn("KeySnapshotBucket"), via), Call(role, "dynamodb:GetItem", self.arn("CustomersTable"), via),
            # By itself.
            Call(role, "sqs:SetQueueAttributes", self.arn("OverflowQueue")), Call(role, "lambda:UpdateFunctionCode", self.arn("SignalsFunction")),
            # Roles without the boundary, with another one, and outside of the stack.
            Call(role, "iam:CreateRole", made, via), Call(role, "iam:CreateRole", made, via | {"iam:PermissionsBoundary": boundary}),
            Call(role, "iam:DeleteRolePermissionsBoundary", made, via), Call(role, "iam:PutRolePolicy", f"arn:aws:iam::{ACCOUNT}:role/admin", via),
            Call(role, "iam:UpdateRole", f"arn:aws:iam::{ACCOUNT}:role/admin", via),
            Call(role, "iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/admin", via | {"iam:PassedToService": "lambda.amazonaws.com"}),
            # What belongs to another stack.
            Call(role, "cloudwatch:PutDashboard", f"arn:aws:cloudwatch::{ACCOUNT}:dashboard/another", via),
            Call(role, "logs:TagResource", f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws/kinesisfirehose/{DELIVERY_STACK}2", via),
            Call(role, "s3:PutObject", "arn:aws:s3:::aws-sam-cli-managed-default-bucket/another/template", {}),
        ]
