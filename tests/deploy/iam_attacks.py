"""The calls of AWS that the roles of the templates must deny: what an attacker with the credentials of one would try."""

from iam_calls import BY_CLOUDFORMATION, DELIVERY_ROLES, DELIVERY_STACK, FUNCTION_ROLES, REGION, Calls, calls
from iam_simulation import ACCOUNT, Call
from resolved import KMS_KEY, STACK


def denied(of: Calls) -> list[Call]:
    """All of them, with the ARNs of these calls."""
    return [*denied_to_functions(of), *denied_to_delivery(of), *denied_to_verification(of), *denied_to_deployments(of)]


def denied_to_functions(of: Calls) -> list[Call]:
    keys, customers, signals = (of.arn(f"{name}Table") for name in ("ApiKeys", "Customers", "Signals"))
    snapshot = of.object("KeySnapshotBucket")
    of_tables = ("DeleteItem", "DeleteTable", "Query", "Scan", "UpdateTable")
    made = []
    for role in FUNCTION_ROLES:
        made += calls(role, "dynamodb", of_tables, keys, customers, signals)
        made += calls(role, "dynamodb", ("PutItem", "UpdateItem"), keys)
        made += calls(role, "s3", ("PutObject",), snapshot)
        made += calls(role, "kms", ("Decrypt",), KMS_KEY)
    return [
        *made,
        Call("CustomersRole", "dynamodb:GetItem", customers),
        Call("CustomersRole", "sqs:ReceiveMessage", of.arn("OverflowQueue")),
        Call("SignalsRole", "dynamodb:UpdateItem", customers),
        Call("SignalsRole", "s3:GetObject", snapshot, {"aws:SecureTransport": "false"}),
    ]


def denied_to_delivery(of: Calls) -> list[Call]:
    return [
        *[Call(role, "kms:Decrypt", KMS_KEY) for role in (*DELIVERY_ROLES, "DeliveryStreamRole")],
        Call("BusRole", "dynamodb:GetItem", of.arn("CustomersTable")),
        Call("LakeRole", "s3:GetObject", of.object("LakeBucket")),
    ]


def denied_to_verification(of: Calls) -> list[Call]:
    role = "VerificationRole"
    keys, customers = of.arn("ApiKeysTable"), of.arn("CustomersTable")
    of_another_account = {"dynamodb:LeadingKeys": ["acme#x"]}
    return [
        Call(role, "dynamodb:Query", customers, of_another_account),
        Call(role, "dynamodb:Scan", customers),
        Call(role, "dynamodb:PutItem", keys, of_another_account),
        Call(role, "dynamodb:PutItem", keys),
    ]


def denied_to_deployments(of: Calls) -> list[Call]:
    return [
        *denied_to_cloudformation(of),
        # By itself, without CloudFormation.
        Call("DeploymentRole", "sqs:SetQueueAttributes", of.arn("OverflowQueue")),
        Call("DeploymentRole", "lambda:UpdateFunctionCode", of.arn("SignalsFunction")),
        Call("DeploymentRole", "s3:PutObject", "arn:aws:s3:::aws-sam-cli-managed-default-bucket/another/template"),
    ]


def denied_to_cloudformation(of: Calls) -> list[Call]:
    """What CloudFormation must not do with the role of a deployment."""
    role_of_stack = f"arn:aws:iam::{ACCOUNT}:role/{STACK}/x"
    administrator = f"arn:aws:iam::{ACCOUNT}:role/admin"
    another_boundary = {"iam:PermissionsBoundary": f"arn:aws:iam::{ACCOUNT}:policy/another"}
    log_group = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws/kinesisfirehose/{DELIVERY_STACK}2"

    def made(action: str, resource: str, context: dict | None = None) -> Call:
        return Call("DeploymentRole", action, resource, BY_CLOUDFORMATION | (context or {}))
    return [
        made("dynamodb:DeleteTable", of.arn("CustomersTable")),
        made("sqs:DeleteQueue", of.arn("OverflowQueue")),
        made("s3:DeleteBucket", of.arn("KeySnapshotBucket")),
        made("dynamodb:GetItem", of.arn("CustomersTable")),
        # Roles without the boundary, with another one, and outside of the stack.
        made("iam:CreateRole", role_of_stack),
        made("iam:CreateRole", role_of_stack, another_boundary),
        made("iam:DeleteRolePermissionsBoundary", role_of_stack),
        made("iam:PutRolePolicy", administrator),
        made("iam:UpdateRole", administrator),
        made("iam:PassRole", administrator, {"iam:PassedToService": "lambda.amazonaws.com"}),
        # What belongs to another stack.
        made("cloudwatch:PutDashboard", f"arn:aws:cloudwatch::{ACCOUNT}:dashboard/another"),
        made("logs:TagResource", log_group),
    ]
