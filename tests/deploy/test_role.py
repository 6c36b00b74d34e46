"""What deploy/deployment-role.yaml alone can show.

The boundary fits the roles of template.yaml and delivery/template.yaml, and no role escapes it.
"""

import fnmatch
import json
import re
import unittest

import tomlkit

import template
from resolved import DELIVERY, KMS_KEY, STACK, resolved
from template import PROJECT, actions, as_list, of_type, statements

# IAM counts the characters of a policy without blanks.
INLINE_POLICIES_CHARS = 10_240
MANAGED_POLICY_CHARS = 6_144
# What gives a role permissions, takes some away, or sets its boundary.
NEEDS_BOUNDARY = {"iam:AttachRolePolicy", "iam:CreateRole", "iam:DeleteRole", "iam:DeleteRolePolicy", "iam:DetachRolePolicy",
                  "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy", "iam:UpdateAssumeRolePolicy"}
# The longest names that these services take, and how much of a name CloudFormation makes up: a hyphen and 13 characters.
NAME_CHARS = {"AWS::CodeDeploy::Application": 100, "AWS::CodeDeploy::DeploymentGroup": 100, "AWS::DynamoDB::Table": 255,
              "AWS::KinesisFirehose::DeliveryStream": 64, "AWS::Lambda::Function": 64, "AWS::S3::Bucket": 63, "AWS::SQS::Queue": 80}
SUFFIX_CHARS = 14
HARMLESS = {"iam:GetRole", "iam:GetRolePolicy", "iam:ListAttachedRolePolicies", "iam:ListRolePolicies", "iam:TagRole", "iam:UntagRole",
            "iam:UpdateRole", "iam:UpdateRoleDescription"}
# What the role itself calls: CloudFormation and the bucket of packages. CloudFormation calls the rest.
PACKAGES = {f"arn:aws:s3:::aws-sam-cli-managed-default-*/{name}/*" for name in (STACK, f"{STACK}-delivery")}
ONLY_CLOUDFORMATION = {"ForAnyValue:StringEquals": {"aws:CalledVia": "cloudformation.amazonaws.com"}}
VERIFICATIONS = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "verify-*"}, "Null": {"dynamodb:LeadingKeys": "false"}}


def allowed(processed: dict, policy: list[dict]) -> set[tuple[str, str, str]]:
    """Action, resource and condition of everything that these statements allow."""
    return {(action, resolved(processed, resource), repr(resolved(processed, statement.get("Condition"))))
            for statement in policy for action in actions(statement) for resource in as_list(statement["Resource"])}


class Boundary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.processed = template.processed(template.written(), KmsKeyArn=KMS_KEY, GradualDeployment="true")
        cls.delivery = template.processed(template.written("delivery/template.yaml"), KmsKeyArn=KMS_KEY, **DELIVERY)
        cls.roles = of_type(cls.processed, "AWS::IAM::Role") | of_type(cls.delivery, "AWS::IAM::Role")
        cls.account = template.written("deploy/deployment-role.yaml")
        document = cls.account["Resources"]["PermissionsBoundary"]["Properties"]["PolicyDocument"]
        cls.boundary = allowed(cls.account, document["Statement"])
        cls.needed = set()
        for processed in (cls.processed, cls.delivery):
            for name in of_type(processed, "AWS::IAM::Role"):
                cls.needed |= allowed(processed, statements(processed, name))

    def covers(self, limit: tuple[str, str, str], use: tuple[str, str, str]) -> bool:
        return (limit[0], limit[2]) == (use[0], use[2]) and fnmatch.fnmatchcase(use[1], limit[1])

    def test_every_role_carries_the_boundary_if_there_is_one(self):
        carried = {"Fn::If": ["HasPermissionsBoundary", {"Ref": "PermissionsBoundaryArn"}, {"Ref": "AWS::NoValue"}]}
        self.assertEqual(set(self.roles), {"CodeDeployRole", "CustomersRole", "SignalsRole", "OverflowRole",
                                           "BusRole", "LakeRole", "DeliveryStreamRole"})
        for name, role in self.roles.items():
            self.assertEqual(role["Properties"]["PermissionsBoundary"], carried, name)

    def test_boundary_allows_whatever_a_role_needs(self):
        for use in self.needed:
            self.assertTrue(any(self.covers(limit, use) for limit in self.boundary), use)

    def test_boundary_allows_nothing_that_no_role_needs(self):
        for limit in self.boundary:
            self.assertTrue(any(self.covers(limit, use) for use in self.needed), limit)
            self.assertNotIn("*", limit[0])


class DeploymentRole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.account = template.written("deploy/deployment-role.yaml")
        cls.role = cls.account["Resources"]["DeploymentRole"]["Properties"]
        cls.statements = statements(cls.account, "DeploymentRole")

    def granting(self, action: str) -> list[dict]:
        return [s for s in self.statements if any(fnmatch.fnmatchcase(action, granted) for granted in actions(s))]

    def test_role_gives_permissions_only_to_roles_with_the_boundary(self):
        boundary = {"StringEquals": {"iam:PermissionsBoundary": {"Ref": "PermissionsBoundary"}}} | ONLY_CLOUDFORMATION
        for action in NEEDS_BOUNDARY:
            self.assertEqual([s["Condition"] for s in self.granting(action)], [boundary], action)

    def test_role_passes_roles_to_lambda_codedeploy_and_firehose_only(self):
        self.assertEqual([s["Condition"] for s in self.granting("iam:PassRole")],
                         [{"StringEquals": {"iam:PassedToService": [f"{s}.amazonaws.com" for s in ("codedeploy", "firehose", "lambda")]}}])

    def test_role_has_no_other_permission_of_iam(self):
        granted = {action for s in self.statements for action in actions(s) if action.startswith(("iam:", "sts:", "*"))}
        self.assertEqual(granted, NEEDS_BOUNDARY | HARMLESS | {"iam:PassRole", "iam:CreateServiceLinkedRole"})
        self.assertNotIn("ManagedPolicyArns", self.role)

    def test_role_reaches_the_roles_of_its_stacks_only_and_so_not_itself(self):
        reached = {resolved(self.account, resource) for s in self.statements for resource in as_list(s["Resource"])
                   if any(action.startswith("iam:") for action in actions(s))}
        role = "arn:aws:iam::123456789012:role"
        self.assertEqual(reached, {f"{role}/intake-dev/*", f"{role}/intake-dev-delivery/*",
                                   f"{role}/aws-service-role/ops.apigateway.amazonaws.com/*"})
        for name in ("DeploymentRole", "VerificationRole"):
            self.assertNotIn("Path", self.account["Resources"][name]["Properties"])
        for file in ("template.yaml", "delivery/template.yaml"):
            for name, found in of_type(template.deployed(file), "AWS::IAM::Role").items():
                self.assertEqual(found["Properties"]["Path"], {"Fn::Sub": "/${AWS::StackName}/"}, name)

    def test_only_cloudformation_changes_what_the_stack_is_made_of(self):
        for action in ("sqs:SetQueueAttributes", "s3:PutBucketPolicy", "s3:PutLifecycleConfiguration", "lambda:UpdateFunctionCode",
                       "lambda:AddPermission", "dynamodb:UpdateTable", "apigateway:PATCH", "firehose:UpdateDestination", "logs:GetLogEvents"):
            self.assertEqual([s.get("Condition") for s in self.granting(action)], [ONLY_CLOUDFORMATION], action)

    def test_role_neither_reads_nor_writes_nor_deletes_what_the_stack_holds(self):
        for action in ("dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:DeleteTable", "dynamodb:ExportTableToPointInTime", "dynamodb:GetItem",
                       "dynamodb:PutItem", "dynamodb:Query", "dynamodb:Scan", "sqs:DeleteMessage", "sqs:DeleteQueue", "sqs:PurgeQueue",
                       "sqs:ReceiveMessage", "sqs:SendMessage", "sqs:StartMessageMoveTask"):
            self.assertEqual(self.granting(action), [], action)
        for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:DeleteBucket", "events:PutEvents", "firehose:PutRecordBatch"):
            reached = {resolved(self.account, resource) for s in self.granting(action) for resource in as_list(s["Resource"])}
            self.assertLessEqual(reached, PACKAGES, action)

    def test_role_reaches_only_its_own_packages_in_the_bucket_that_all_sam_stacks_share(self):
        reached = [(set(actions(s)), set(as_list(resolved(self.account, s["Resource"])))) for s in self.statements
                   if "aws-sam-cli-managed-default" in json.dumps(s["Resource"])]
        described = {"arn:aws:cloudformation:eu-west-1:123456789012:stack/aws-sam-cli-managed-default/*"}
        self.assertEqual(reached, [({"cloudformation:DescribeStacks"}, described),
                                   ({"s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"}, PACKAGES)])
        for file in ("samconfig.toml", "delivery/samconfig.toml"):
            configured = tomlkit.parse((PROJECT / file).read_text())
            for environment in ("default", "prod"):
                parameters = configured[environment]
                self.assertEqual(parameters["deploy"]["parameters"]["s3_prefix"], parameters["global"]["parameters"]["stack_name"])

    def test_policies_are_within_the_sizes_that_iam_takes(self):
        def size(policy: dict) -> int:
            return len(json.dumps(resolved(self.account, policy["PolicyDocument"]), separators=(",", ":")))
        # The rest is for longer names.
        self.assertLess(sum(map(size, self.role["Policies"])), INLINE_POLICIES_CHARS / 1.5)
        self.assertLess(size(self.account["Resources"]["PermissionsBoundary"]["Properties"]), MANAGED_POLICY_CHARS / 2)

    def test_role_deploys_every_kind_of_resource_of_the_templates(self):
        service = {"ApiGatewayV2": "apigateway", "CloudFormation": "cloudformation", "CloudWatch": "cloudwatch", "CodeDeploy": "codedeploy",
                   "DynamoDB": "dynamodb", "Events": "events", "Glue": "glue", "IAM": "iam", "KinesisFirehose": "firehose",
                   "Lambda": "lambda", "Logs": "logs", "S3": "s3", "SQS": "sqs"}
        granted = {action.split(":")[0] for s in self.statements for action in actions(s)}
        gradual = template.processed(template.written(), GradualDeployment="true", CorsOrigins="*")
        delivery = template.processed(template.written("delivery/template.yaml"), **DELIVERY)
        for file in (gradual, delivery, template.written("deploy/monitoring.yaml")):
            for resource in file["Resources"].values():
                self.assertIn(service[resource["Type"].split("::")[1]], granted)

    def test_names_that_cloudformation_makes_are_whole_for_the_longest_name_of_a_stack(self):
        parameter = self.account["Parameters"]["StackName"]
        longest, spare = parameter["MaxLength"], []
        for file, ending in (("template.yaml", ""), ("delivery/template.yaml", "-delivery")):
            resources = template.deployed(file)["Resources"]
            named = [(name, NAME_CHARS[r["Type"]]) for name, r in resources.items() if r["Type"] in NAME_CHARS]
            spare += [limit - longest - len(f"{ending}-{name}") - SUFFIX_CHARS for name, limit in named]
        # CloudFormation cuts a longer one in two places, and the patterns of the role do not match what is left of the stack's name.
        self.assertEqual(min(spare), 0)
        page = " ".join((PROJECT / "docs" / "operate.md").read_text().split())
        self.assertIn(f"`StackName` has at most {longest} characters.", page)
        self.assertIn(f"{longest} characters", parameter["Description"])

    def test_every_resource_is_one_of_the_stack_or_shared_for_a_stated_reason(self):
        patterns = {resolved(self.account, resource) for s in self.statements for resource in as_list(s["Resource"])}
        others = {re.sub(r"^arn:aws:", "", p) for p in patterns if STACK not in p}
        self.assertEqual(others, {
            "*", "kms:eu-west-1:123456789012:key/*",
            "iam::123456789012:role/aws-service-role/ops.apigateway.amazonaws.com/*",
            "cloudformation:eu-west-1:123456789012:stack/aws-sam-cli-managed-default/*",
            "cloudformation:eu-west-1:aws:transform/Serverless-2016-10-31",
            "lambda:eu-west-1:123456789012:event-source-mapping:*",
            *(f"glue:eu-west-1:123456789012:{path}" for path in ("catalog", "database/intake_dev_delivery", "table/intake_dev_delivery/*")),
            "codedeploy:eu-west-1:123456789012:deploymentconfig:*",
            *(f"apigateway:eu-west-1::/{path}" for path in ("apis", "apis/*", "domainnames", "domainnames/*", "tags/*")),
        })


class Verification(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.account = template.written("deploy/deployment-role.yaml")
        cls.role = cls.account["Resources"]["VerificationRole"]["Properties"]
        (policy,) = cls.role["Policies"]
        cls.statements = policy["PolicyDocument"]["Statement"]

    def test_each_role_trusts_one_environment_of_one_repository_and_they_differ(self):
        for role, environment in (("VerificationRole", "dev-verify"), ("DeploymentRole", "dev")):
            (statement,) = self.account["Resources"][role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
            self.assertEqual(resolved(self.account, statement["Condition"]), {"StringEquals": {
                "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
                "token.actions.githubusercontent.com:sub": f"repo:owner@1/intake@2:environment:{environment}"}}, role)

    def test_subject_may_be_of_either_form_and_has_no_wildcard(self):
        pattern = re.compile(self.account["Parameters"]["SubjectPrefix"]["AllowedPattern"])
        for valid in ("repo:owner@1/intake@2", "repo:owner/intake", "repo:owner-1/intake-2"):
            self.assertTrue(pattern.search(valid), valid)
        for invalid in ("owner/intake", "repo:owner/*", "repo:owner@?/intake@2", "repo:owner/intake:environment:dev", "repo:owner/intake/more"):
            self.assertFalse(pattern.search(invalid), invalid)

    def test_role_reaches_only_keys_and_items_of_verifications(self):
        tables = "arn:aws:dynamodb:eu-west-1:123456789012:table/intake-dev"
        limited = [(set(actions(s)), [resolved(self.account, r) for r in as_list(s["Resource"])])
                   for s in self.statements if s.get("Condition") == VERIFICATIONS]
        self.assertEqual(limited, [
            ({"dynamodb:DeleteItem", "dynamodb:PutItem"}, [f"{tables}-ApiKeysTable-*"]),
            ({"dynamodb:BatchWriteItem", "dynamodb:Query"},
             [f"{tables}-{name}Table-*" for name in ("Customers", "Idempotency", "RejectedSignals", "Signals")])])
        free = {action for s in self.statements if s.get("Condition") != VERIFICATIONS for action in actions(s)}
        self.assertEqual({action for action in free if action.startswith("dynamodb:")}, set())


if __name__ == "__main__":
    unittest.main()
