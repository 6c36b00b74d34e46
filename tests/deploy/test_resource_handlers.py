"""Whether the deployment role allows what CloudFormation's resource handlers call to deploy the templates.

A resource handler is the code of a resource's type. CloudFormation runs it with the credentials of its caller. cfn-lint has
its schema, which lists the permissions that it may need, whatever the properties of the resource.
"""

import fnmatch
import re
import unittest
from dataclasses import dataclass

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

import template
from iam_calls import BY_CLOUDFORMATION, REGION
from iam_simulation import ACCOUNT, Call, Policies, decide
from resolved import KMS_KEY, STACK, arn, stack
from template import actions

HANDLERS = ("create", "read", "update", "delete")
# What a handler may need, and not for these templates, with the reason.
NOT_NEEDED = {
    "The role deletes nothing that holds data: the templates retain it.": [
        "dynamodb:DeleteTable", "s3:DeleteBucket", "sqs:DeleteQueue"],
    "It would free a role of its boundary.": ["iam:DeleteRolePermissionsBoundary"],
    "Items and objects of an import, or of a replica's copy.": [
        "dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:ImportTable", "dynamodb:PutItem", "dynamodb:Query",
        "dynamodb:Scan", "dynamodb:UpdateItem", "s3:GetObjectMetadata"],
    "No table is global.": ["dynamodb:AssociateTableReplica", "dynamodb:CreateTableReplica"],
    "No table has a policy, a Kinesis stream or contributor insights.": [
        "dynamodb:DeleteResourcePolicy", "dynamodb:DisableKinesisStreamingDestination", "dynamodb:EnableKinesisStreamingDestination",
        "dynamodb:PutResourcePolicy", "dynamodb:UpdateContributorInsights", "dynamodb:UpdateKinesisStreamingDestination",
        "kinesis:DescribeStream", "kinesis:PutRecords"],
    "KmsKeyArn is the ARN of a key, whose grants DynamoDB itself retires.": ["kms:ListAliases", "kms:RevokeGrant"],
    "A function is a package at no version, in no network, and mounts nothing. A domain name has no trust store.": [
        "ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs",
        "elasticfilesystem:DescribeMountTargets", "s3:GetObjectVersion", "s3files:ListMountTargets"],
    "The bus and Firehose have the keys of AWS.": ["kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncrypt"],
    "The catalog is Glue's own, without connections, schemas and Lake Formation.": [
        "glue:*Connection", "glue:GetSchemaVersion", "lakeformation:*"],
    "Policies are those of roles.": ["iam:*GroupPolicy", "iam:*UserPolicy"],
    "It is no action of IAM.": [
        "apigateway:TagResource", "apigateway:UntagResource", "lambda:AssociateRuntimeAlias", "s3:REST.PUT.OBJECT"],
    "The bus has no policy. It would be allowed on every bus: IAM knows no resource of it.": [
        "events:PutPermission", "events:RemovePermission"],
    "No log group has index policies or a resource policy.": [
        "logs:DeleteIndexPolicy", "logs:DeleteResourcePolicy", "logs:PutIndexPolicy"],
    "No function has layers, code signing or a capacity provider, and CodeDeploy deploys to no instance.": [
        "codedeploy:RegisterOnPremisesInstance", "lambda:GetCodeSigningConfig", "lambda:GetLayerVersion", "lambda:PassCapacityProvider"],
    "No table has replicas.": ["iam:CreateServiceLinkedRole"],
    "No bucket has these settings.": [
        "s3:*BucketMetadata*", "s3:Delete*Configuration", "s3:DeleteBucketCors", "s3:DeleteBucketEncryption", "s3:DeleteBucketLifecycle",
        "s3:DeleteBucketReplication", "s3:DeleteBucketWebsite", "s3:DeleteObject", "s3:Put[!EL]*Configuration", "s3:PutBucketAbac",
        "s3:PutBucketAcl", "s3:PutBucketCORS", "s3:PutBucketLogging", "s3:PutBucketNotification", "s3:PutBucketReplication",
        "s3:PutBucketWebsite", "s3:PutObjectAcl", "s3tables:*"],
    "It lists what the account has, and CloudFormation knows the names.": [
        "dynamodb:ListTables", "events:ListEventBuses", "firehose:ListDeliveryStreams", "glue:GetDatabases", "glue:GetTables",
        "iam:ListRoles", "s3:ListAllMyBuckets", "sqs:ListQueues"],
}


def permissions(kind: str, handlers: tuple[str, ...] = HANDLERS) -> set[str]:
    """What the handlers of a type need."""
    found = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema["handlers"]
    return {permission for name in handlers for permission in found.get(name, {}).get("permissions", [])}


def is_needed(action: str) -> bool:
    return not any(fnmatch.fnmatchcase(action, pattern) for patterns in NOT_NEEDED.values() for pattern in patterns)


def arns(processed: dict, name: str, resource: dict) -> list[str]:
    """The ARNs on which AWS checks a call about this resource: of itself, and of what it is in."""
    kind, own = resource["Type"], stack(processed)
    physical = f"{own}-{name}-1ABCDEFGHIJKL"
    properties = resource["Properties"]
    database = own.replace("-", "_")

    def made(service: str, path: str, account: str = ACCOUNT, region: str = REGION) -> str:
        return f"arn:aws:{service}:{region}:{account}:{path}"
    match kind.removeprefix("AWS::"):
        case "ApiGatewayV2::Api" | "ApiGatewayV2::Stage":
            paths = ("/apis", "/apis/a1", "/apis/a1/stages", "/apis/a1/stages/$default", "/tags/a1")
            return [made("apigateway", path, account="") for path in paths]
        case "ApiGatewayV2::DomainName" | "ApiGatewayV2::ApiMapping":
            paths = ("/domainnames", "/domainnames/d", "/domainnames/d/apimappings", "/domainnames/d/apimappings/m", "/tags/d")
            return [made("apigateway", path, account="") for path in paths]
        case "CloudFormation::Stack":
            return [made("cloudformation", f"stack/{own}-{name}-1ABC/0a")]
        case "CloudWatch::Alarm":
            return [made("cloudwatch", f"alarm:{physical}")]
        case "CloudWatch::Dashboard":
            return [made("cloudwatch", f"dashboard/{STACK}-Monitoring-1ABC", region="")]
        case "CodeDeploy::Application" | "CodeDeploy::DeploymentGroup":
            paths = (f"application:{physical}", f"deploymentgroup:{physical}/{physical}", "deploymentconfig:c")
            return [made("codedeploy", path) for path in paths]
        case "Glue::Database" | "Glue::Table":
            return [made("glue", path) for path in ("catalog", f"database/{database}", f"table/{database}/events")]
        case "IAM::Role":
            return [f"arn:aws:iam::{ACCOUNT}:role/{own}/{physical}"]
        case "IAM::Policy":
            return [f"arn:aws:iam::{ACCOUNT}:role/{own}/{own}-{role['Ref']}-1ABCDEFGHIJKL" for role in properties["Roles"]]
        case "Lambda::EventSourceMapping":
            return [made("lambda", "event-source-mapping:0a")]
        case "Lambda::Alias" | "Lambda::Permission" | "Lambda::Version" | "Lambda::Function":
            function = made("lambda", f"function:{own}-{re.match('[A-Z][a-z]+Function', name).group()}-1ABCDEFGHIJKL")
            return [function, f"{function}:live"]
        case "Logs::LogGroup":
            # Some actions are checked on the ARN without the asterisk, others on the one with it.
            return [arn(processed, name).removesuffix(":*"), arn(processed, name)]
        case "Logs::LogStream":
            group = arn(processed, properties["LogGroupName"]["Ref"])
            return [group, group.removesuffix("*") + "log-stream:lake"]
        case "Logs::MetricFilter":
            return [made("logs", f"log-group:/aws/vendedlogs/{STACK}/access:*")]
        case "S3::BucketPolicy":
            return [arn(processed, properties["Bucket"]["Ref"])]
        case _:
            return [arn(processed, name)]


# What a handler calls of another service.
OTHERS = {
    "iam": [f"arn:aws:iam::{ACCOUNT}:role/{STACK}/{STACK}-CustomersRole-1ABC"], "kms": [KMS_KEY],
    "s3": [f"arn:aws:s3:::aws-sam-cli-managed-default-samclisourcebucket-1/{STACK}/0a"],
}
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/deploy-intake-dev-PermissionsBoundary-1ABCDEFGHIJKL"
OVERFLOW_FUNCTION = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{STACK}-OverflowFunction-1ABC"
# What the conditions of the role can ask about a call of a type's handlers.
CONTEXT = {
    "AWS::IAM::Role": {"iam:PermissionsBoundary": BOUNDARY},
    "AWS::IAM::Policy": {"iam:PermissionsBoundary": BOUNDARY},
    "AWS::Lambda::EventSourceMapping": {"lambda:FunctionArn": OVERFLOW_FUNCTION},
}
PASSED_TO = {
    "Lambda": "lambda.amazonaws.com",
    "CodeDeploy": "codedeploy.amazonaws.com",
    "KinesisFirehose": "firehose.amazonaws.com",
}


def candidates(own: list[str], action: str) -> list[str]:
    """Those ARNs that the action can be about: of the resource itself, or of what its handler uses in another service."""
    service = action.split(":")[0]
    return [one for one in own if one.split(":")[2] == service] or OTHERS.get(service, [])


@dataclass(frozen=True)
class Resource:
    """A resource of a template that was processed."""

    processed: dict
    name: str
    definition: dict

    @property
    def kind(self) -> str:
        return self.definition["Type"]


@dataclass(frozen=True)
class Need:
    """An action that the handlers of a resource need, and the ARNs that it can be about."""

    name: str
    action: str
    resources: list[str]
    context: dict

    def calls(self) -> list[Call]:
        return [self.call_about(resource) for resource in self.resources]

    def call_about(self, resource: str) -> Call:
        return Call("DeploymentRole", self.action, resource, self.context)


class Handlers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.policies = Policies()
        templates = [processed for source, processed in cls.policies.templates.items() if source != "account"]
        templates.append(template.written("deploy/monitoring.yaml"))
        cls.resources = [Resource(processed, name, definition) for processed in templates
                         for name, definition in processed["Resources"].items()]

    def test_role_is_allowed_what_the_handlers_of_each_resource_need(self):
        needs = self.needs()
        decisions = self.decide([call for need in needs for call in need.calls()])
        calls_of_needs = []
        for need in needs:
            # An error says that the action is not about such a resource: one without any is about all of them.
            about_a_resource = [call for call in need.calls() if "error" not in decisions[str(call)]]
            calls_of_needs.append(about_a_resource or [need.call_about("*")])
        decisions |= self.decide([call for calls in calls_of_needs for call in calls if str(call) not in decisions])
        for need, calls in zip(needs, calls_of_needs):
            for call in calls:
                with self.subTest(name=need.name, action=need.action, resource=call.resource):
                    self.assertEqual(decisions[str(call)].get("result"), "Allowed", decisions[str(call)])

    def needs(self) -> list[Need]:
        """What the handlers of all resources need."""
        needs = []
        for resource in self.resources:
            own = arns(resource.processed, resource.name, resource.definition)
            for action in sorted(filter(is_needed, permissions(resource.kind))):
                needs.append(Need(resource.name, action, candidates(own, action), self.context(resource.kind, action)))
        return needs

    def decide(self, wanted: list[Call]) -> dict[str, dict]:
        """The decision about each call, by the call."""
        different = {str(call): call for call in wanted}
        return dict(zip(different, decide([self.policies.simulation(call) for call in different.values()])))

    def context(self, kind: str, action: str) -> dict:
        """What the conditions of the role can ask about a call of this type's handlers."""
        context = BY_CLOUDFORMATION | CONTEXT.get(kind, {})
        if action == "iam:PassRole":
            return context | {"iam:PassedToService": PASSED_TO.get(kind.split("::")[1], "lambda.amazonaws.com")}
        if action.startswith("kms:"):
            return context | {"kms:ViaService": f"dynamodb.{REGION}.amazonaws.com"}
        return context

    def test_no_reason_is_given_for_what_no_handler_needs(self):
        needed = set().union(*(permissions(resource.kind, (*HANDLERS, "list")) for resource in self.resources))
        for reason, patterns in NOT_NEEDED.items():
            for pattern in patterns:
                self.assertTrue(fnmatch.filter(needed, pattern), (reason, pattern))

    def test_role_is_allowed_nothing_by_cloudformation_that_no_handler_needs(self):
        needed = set().union(*(permissions(resource.kind) for resource in self.resources))
        (policy,) = [one for one in self.policies.templates["account"]["Resources"]["DeploymentRole"]["Properties"]["Policies"]
                     if one["PolicyName"] == "resources"]
        for action in (action for statement in policy["PolicyDocument"]["Statement"] for action in actions(statement)):
            self.assertTrue(fnmatch.filter(filter(is_needed, needed), action), action)


if __name__ == "__main__":
    unittest.main()
