"""The calls of AWS that the roles of the templates must allow: those of the functions, of AWS for them, and of operators."""

from resolved import DELIVERY, KMS_KEY, STACK, arn
from iam_simulation import ACCOUNT, Call, Policies

REGION = "eu-west-1"
DELIVERY_STACK = f"{STACK}-delivery"
# The operations of the functions by their role, each with the logical id of the resource that it is about.
# test_deployment.py and test_deployed_delivery.py compare them with what the deployed functions send.
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
OBJECTS = {
    "KeySnapshotBucket": "keys.json.gz",
    "FailureBucket": "unreadable/2026/11/20/a.json",
    "LakeBucket": "events/dt=2026-11-20/a.gz",
}
# What a service calls KMS for on behalf of the caller: "How Amazon DynamoDB uses AWS KMS" and "Amazon SQS Key
# management".
TABLE_KMS_OPERATIONS = ("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey", "ReEncryptFrom", "ReEncryptTo")
QUEUE_KMS_OPERATIONS = ("Decrypt", "GenerateDataKey")
MAPPING = f"arn:aws:lambda:{REGION}:{ACCOUNT}:event-source-mapping:0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a"
BY_CLOUDFORMATION = {"aws:CalledVia": ["cloudformation.amazonaws.com"]}
FUNCTION_ROLES = ("CustomersRole", "SignalsRole", "OverflowRole")
DELIVERY_ROLES = ("BusRole", "LakeRole")


def calls(role: str, service: str, operations: tuple[str, ...], *resources: str, context: dict | None = None) -> list[Call]:
    """A call of each operation about each resource."""
    return [Call(role, f"{service}:{operation}", resource, context or {})
            for operation in operations for resource in resources]


class Calls:
    """The calls, with the ARNs that these policies are about."""

    def __init__(self, policies: Policies):
        self.policies = policies

    def arn(self, name: str) -> str:
        """The ARN of a resource of one of the templates."""
        (processed,) = [template for template in self.policies.templates.values() if name in template["Resources"]]
        return arn(processed, name)

    def object(self, bucket: str) -> str:
        return f"{self.arn(bucket)}/{OBJECTS[bucket]}"

    def stack_arn(self, name: str) -> str:
        return f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{name}/0a"

    def allowed(self) -> list[Call]:
        return [
            *self.function_calls(),
            *self.kms_calls(),
            *self.lambda_calls(),
            *self.poller_calls(),
            *self.codedeploy_calls(),
            *self.firehose_calls(),
            *self.verification_calls(),
            *self.deployment_calls(),
            # CloudFormation asks whether a mapping is gone: then it has no function, which the conditions of the others ask for.
            Call("DeploymentRole", "lambda:GetEventSourceMapping", MAPPING, BY_CLOUDFORMATION),
        ]

    def function_calls(self) -> list[Call]:
        """What the functions call themselves."""
        made = []
        for table in (ON_THE_WIRE, WHEN_SOMETHING_FAILS):
            for role, operations in table.items():
                for action, name in sorted(operations):
                    resource = self.object(name) if action.startswith("s3:") else self.arn(name)
                    made.append(Call(role, action, resource))
        return made

    def kms_calls(self) -> list[Call]:
        """What services call KMS for, with the role that reads or writes what is encrypted."""
        made = []
        for role in FUNCTION_ROLES:
            made += self.kms_calls_of_service(role, "dynamodb", TABLE_KMS_OPERATIONS)
            made += self.kms_calls_of_service(role, "sqs", QUEUE_KMS_OPERATIONS)
        made += self.kms_calls_of_service("VerificationRole", "dynamodb", TABLE_KMS_OPERATIONS)
        # A stream has the key of its table, and an object of the failure bucket that of its bucket.
        for role in DELIVERY_ROLES:
            made += self.kms_calls_of_service(role, "dynamodb", ("Decrypt", "DescribeKey"))
        for role in (*DELIVERY_ROLES, "DeliveryStreamRole"):
            made += self.kms_calls_of_service(role, "s3", QUEUE_KMS_OPERATIONS)
        return made

    def kms_calls_of_service(self, role: str, service: str, operations: tuple[str, ...]) -> list[Call]:
        """What a service calls KMS for with the credentials of its caller."""
        return calls(role, "kms", operations, KMS_KEY, context={"kms:ViaService": f"{service}.{REGION}.amazonaws.com"})

    def lambda_calls(self) -> list[Call]:
        """Lambda writes the logs of a function with its role."""
        made = []
        for role in (*FUNCTION_ROLES, *DELIVERY_ROLES):
            group = self.arn(role.removesuffix("Role") + "LogGroup")
            stream = group.removesuffix("*") + "log-stream:2026/11/20/live[1]0a"
            made += calls(role, "logs", ("CreateLogStream", "PutLogEvents"), stream)
        return made

    def poller_calls(self) -> list[Call]:
        """Lambda polls queues and streams with the role of the function.

        ("Creating an event source mapping" of each in its guide.)
        """
        polls_queue = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
        polls_stream = ("DescribeStream", "GetRecords", "GetShardIterator")
        bucket = self.arn("FailureBucket")
        made = calls("OverflowRole", "sqs", polls_queue, self.arn("OverflowQueue"))
        for role in DELIVERY_ROLES:
            made += calls(role, "dynamodb", polls_stream, *DELIVERY.values())
            made += calls(role, "dynamodb", ("ListStreams",), "*")
            made += calls(role, "s3", ("ListBucket",), bucket)
            made += calls(role, "s3", ("PutObject",), f"{bucket}/aws/lambda/id/shard/2026/11/20/a")
        return made

    def codedeploy_calls(self) -> list[Call]:
        """CodeDeploy moves an alias (AWSCodeDeployRoleForLambda)."""
        role = "CodeDeployRole"
        functions = (self.arn("CustomersFunction"), self.arn("SignalsFunction"))
        aliases = [f"{function}:live" for function in functions]
        return [
            *calls(role, "cloudwatch", ("DescribeAlarms",), "*"),
            *calls(role, "lambda", ("GetAlias", "UpdateAlias"), *functions),
            *calls(role, "lambda", ("GetProvisionedConcurrencyConfig",), *aliases),
        ]

    def firehose_calls(self) -> list[Call]:
        """Firehose writes the lake ("Controlling access with Amazon Data Firehose" in its guide)."""
        role = "DeliveryStreamRole"
        group = self.arn("DeliveryStreamLogGroup")
        object_operations = ("AbortMultipartUpload", "GetObject", "PutObject")
        bucket_operations = ("GetBucketLocation", "ListBucket", "ListBucketMultipartUploads")
        return [
            *calls(role, "s3", object_operations, self.object("LakeBucket")),
            *calls(role, "s3", bucket_operations, self.arn("LakeBucket")),
            *calls(role, "logs", ("PutLogEvents",), group.removesuffix("*") + "log-stream:lake"),
        ]

    def verification_calls(self) -> list[Call]:
        """What `cargo intake verify` calls: docs/cli.md, Permissions."""
        role = "VerificationRole"
        tables = [self.arn(f"{name}Table") for name in ("Customers", "Idempotency", "RejectedSignals", "Signals")]
        items = {"dynamodb:LeadingKeys": ["verify-1a#x"]}
        keys = {"dynamodb:LeadingKeys": ["verify-1a"]}
        return [
            *calls(role, "dynamodb", ("BatchWriteItem", "Query"), *tables, context=items),
            *calls(role, "dynamodb", ("DeleteItem", "PutItem"), self.arn("ApiKeysTable"), context=keys),
            *calls(role, "cloudformation", ("DescribeStacks",), self.stack_arn(STACK)),
        ]

    def deployment_calls(self) -> list[Call]:
        """What the job that deploys calls by itself: sam and deploy/streams."""
        role = "DeploymentRole"
        packages = f"arn:aws:s3:::aws-sam-cli-managed-default-samclisourcebucket-1/{STACK}/0a"
        stacks = (self.stack_arn(STACK), self.stack_arn(DELIVERY_STACK))
        stack_operations = ("CreateChangeSet", "DescribeChangeSet", "DescribeStackEvents", "DescribeStacks",
                     "ExecuteChangeSet", "GetTemplate")
        tables = (self.arn("CustomersTable"), self.arn("SignalsTable"))
        return [
            *calls(role, "cloudformation", stack_operations, *stacks),
            *calls(role, "cloudformation", ("DescribeStacks",), self.stack_arn("aws-sam-cli-managed-default")),
            *calls(role, "cloudformation", ("GetTemplateSummary",), "*"),
            *calls(role, "s3", ("AbortMultipartUpload", "GetObject", "PutObject"), packages),
            *calls(role, "dynamodb", ("DescribeTable",), *tables),
        ]
