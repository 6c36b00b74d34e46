"""The calls of AWS that the roles of the templates must deny: what an attacker with the credentials of one would try."""

from iam_calls import BY_CLOUDFORMATION, DELIVERY_ROLES, DELIVERY_STACK, FUNCTION_ROLES, MAPPING, REGION, Calls, calls
from iam_simulation import ACCOUNT, Call
from resolved import KMS_KEY, STACK


def denied(permitted: Calls) -> list[Call]:
    """All of them, with the ARNs of these calls."""
    return [*denied_to_functions(permitted), *denied_to_delivery(permitted), *denied_to_verification(permitted), *denied_to_deployments(permitted)]


def denied_to_functions(permitted: Calls) -> list[Call]:
    keys, customers, signals = (permitted.arn(f"{name}Table") for name in ("ApiKeys", "Customers", "Signals"))
    snapshot = permitted.object("KeySnapshotBucket")
    table_operations = ("DeleteItem", "DeleteTable", "Query", "Scan", "UpdateTable")
    made = []
    for role in FUNCTION_ROLES:
        made += calls(role, "dynamodb", table_operations, keys, customers, signals)
        made += calls(role, "dynamodb", ("PutItem", "UpdateItem"), keys)
        made += calls(role, "s3", ("PutObject",), snapshot)
        made += calls(role, "kms", ("Decrypt",), KMS_KEY)
    return [
        *made,
        Call("CustomersRole", "dynamodb:GetItem", customers),
        Call("CustomersRole", "sqs:ReceiveMessage", permitted.arn("OverflowQueue")),
        Call("SignalsRole", "dynamodb:UpdateItem", customers),
        Call("SignalsRole", "s3:GetObject", snapshot, {"aws:SecureTransport": "false"}),
    ]


def denied_to_delivery(permitted: Calls) -> list[Call]:
    return [
        *[Call(role, "kms:Decrypt", KMS_KEY) for role in (*DELIVERY_ROLES, "DeliveryStreamRole")],
        Call("BusRole", "dynamodb:GetItem", permitted.arn("CustomersTable")),
        Call("LakeRole", "s3:GetObject", permitted.object("LakeBucket")),
    ]


def denied_to_verification(permitted: Calls) -> list[Call]:
    role = "VerificationRole"
    keys, customers = permitted.arn("ApiKeysTable"), permitted.arn("CustomersTable")
    another_account = {"dynamodb:LeadingKeys": ["acme#x"]}
    return [
        Call(role, "dynamodb:Query", customers, another_account),
        Call(role, "dynamodb:Scan", customers),
        Call(role, "dynamodb:PutItem", keys, another_account),
        Call(role, "dynamodb:PutItem", keys),
    ]


def denied_to_deployments(permitted: Calls) -> list[Call]:
    return [
        *denied_to_cloudformation(permitted),
        # By itself, without CloudFormation.
        Call("DeploymentRole", "sqs:SetQueueAttributes", permitted.arn("OverflowQueue")),
        Call("DeploymentRole", "lambda:UpdateFunctionCode", permitted.arn("SignalsFunction")),
        Call("DeploymentRole", "lambda:GetEventSourceMapping", MAPPING),
        Call("DeploymentRole", "s3:PutObject", "arn:aws:s3:::aws-sam-cli-managed-default-bucket/another/template"),
    ]


def denied_to_cloudformation(permitted: Calls) -> list[Call]:
    """What CloudFormation must not do with the role of a deployment."""
    role_of_stack = f"arn:aws:iam::{ACCOUNT}:role/{STACK}/x"
    administrator = f"arn:aws:iam::{ACCOUNT}:role/admin"
    another_boundary = {"iam:PermissionsBoundary": f"arn:aws:iam::{ACCOUNT}:policy/another"}
    log_group = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws/kinesisfirehose/{DELIVERY_STACK}2"

    def made(action: str, resource: str, context: dict | None = None) -> Call:
        return Call("DeploymentRole", action, resource, BY_CLOUDFORMATION | (context or {}))
    return [
        made("dynamodb:DeleteTable", permitted.arn("CustomersTable")),
        made("sqs:DeleteQueue", permitted.arn("OverflowQueue")),
        made("s3:DeleteBucket", permitted.arn("KeySnapshotBucket")),
        made("dynamodb:GetItem", permitted.arn("CustomersTable")),
        # Roles without the boundary, with another one, and outside of the stack.
        made("iam:CreateRole", role_of_stack),
        made("iam:CreateRole", role_of_stack, another_boundary),
        made("iam:DeleteRolePermissionsBoundary", role_of_stack),
        made("iam:PutRolePolicy", administrator),
        made("iam:UpdateRole", administrator),
        made("iam:PassRole", administrator, {"iam:PassedToService": "lambda.amazonaws.com"}),
        # What belongs to another stack.
        made("lambda:DeleteEventSourceMapping", MAPPING, {"lambda:FunctionArn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:another"}),
        made("lambda:UpdateEventSourceMapping", MAPPING),
        made("cloudwatch:PutDashboard", f"arn:aws:cloudwatch::{ACCOUNT}:dashboard/another"),
        made("logs:TagResource", log_group),
    ]
