"""What the templates alone can show and a linter does not.

That is what is kept, the drain's limits, the parameters, and what the transform makes.
"""

import hashlib
import json
import re
import unittest

import tomlkit

import template
from resolved import KMS_KEY
from template import PROJECT, of_type


# What a version of a function does not have, or what publishes one by itself: another CodeUri.
NOT_OF_A_VERSION = {"AutoPublishAlias", "CodeUri", "DeploymentPreference", "Events", "ReservedConcurrentExecutions", "VersionDescription"}


def settings_digest(*parts: dict) -> str:
    settings = [{name: value for name, value in part.items() if name not in NOT_OF_A_VERSION} for part in parts]
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]


class Data(unittest.TestCase):
    def test_what_holds_data_stays_when_its_stack_is_deleted(self):
        for file, kinds, count in (("template.yaml", ("DynamoDB::Table", "SQS::Queue", "S3::Bucket"), 8),
                                   ("delivery/template.yaml", ("S3::Bucket",), 2)):
            found = {name: resource for kind in kinds
                     for name, resource in of_type(template.deployed(file), f"AWS::{kind}").items()}
            self.assertEqual(len(found), count)
            for name, resource in found.items():
                # A stack whose first deployment failed leaves nothing behind.
                self.assertEqual((resource["DeletionPolicy"], resource["UpdateReplacePolicy"]), ("RetainExceptOnCreate", "Retain"), name)

    def test_buckets_take_requests_over_tls_only(self):
        for file in ("template.yaml", "delivery/template.yaml"):
            deployed = template.deployed(file)
            policies = of_type(deployed, "AWS::S3::BucketPolicy")
            with_policy = {policy["Properties"]["Bucket"]["Ref"] for policy in policies.values()}
            self.assertEqual(with_policy, set(of_type(deployed, "AWS::S3::Bucket")))
            for name, policy in policies.items():
                statement = policy["Properties"]["PolicyDocument"]["Statement"][0]
                self.assertEqual((statement["Effect"], statement["Principal"], statement["Action"], statement["Condition"]),
                                 ("Deny", "*", "s3:*", {"Bool": {"aws:SecureTransport": "false"}}), name)

    def test_key_of_a_parameter_encrypts_tables_and_queues_and_not_the_key_snapshot(self):
        deployed = template.deployed()
        for name, resource in deployed["Resources"].items():
            if resource["Type"] in ("AWS::DynamoDB::Table", "AWS::SQS::Queue"):
                self.assertIn("KmsKeyArn", template.references(resource), name)
        # An outage of KMS would take the snapshot away together with the tables.
        self.assertNotIn("KmsKeyArn", template.references(deployed["Resources"]["KeySnapshotBucket"]))

    def test_operators_of_the_snapshot_are_arns_of_users_and_roles(self):
        pattern = re.compile(template.written()["Parameters"]["KeyOperatorArns"]["AllowedPattern"])
        operators = "arn:aws:iam::123456789012:role/aws-reserved/sso.amazonaws.com/*/AWSReservedSSO_Operators_*"
        for valid in ("", operators, f"{operators},arn:aws:iam::123456789012:user/ada"):
            self.assertTrue(pattern.search(valid), valid)
        for invalid in ("ada", f"{operators}, arn:aws:iam::123456789012:user/ada", f"{operators},", ",",
                        # What `aws sts get-caller-identity` prints. aws:PrincipalArn is the ARN of the role.
                        "arn:aws:sts::123456789012:assumed-role/intake-operator/ada"):
            self.assertFalse(pattern.search(invalid), invalid)


class Api(unittest.TestCase):
    def test_warning_of_api_gateway_about_what_sam_writes_does_not_fail_a_deployment(self):
        for address in ("open", "closed"):
            (api,) = of_type(template.processed(template.written(), DefaultAddress=address), "AWS::ApiGatewayV2::Api").values()
            servers = api["Properties"]["Body"]["servers"]
            self.assertTrue(servers)
            self.assertTrue(all("x-amazon-apigateway-endpoint-configuration" in server for server in servers))
            # API Gateway warns of a server without a url.
            if any("url" not in server for server in servers):
                self.assertIsNot(api["Properties"].get("FailOnWarnings", False), True)


class Queues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.processed = template.processed(template.written(), ReservedConcurrency="100")
        cls.queues = of_type(cls.processed, "AWS::SQS::Queue")
        cls.function = cls.processed["Resources"]["OverflowFunction"]["Properties"]
        (cls.mapping,) = of_type(cls.processed, "AWS::Lambda::EventSourceMapping").values()

    def test_largest_message_of_the_functions_fits_into_the_queues(self):
        for name, queue in self.queues.items():
            self.assertEqual(queue["Properties"]["MaximumMessageSize"], 1024 * 1024, name)
        source = (PROJECT / "shared" / "store" / "src" / "overflow_messages" / "deferred_batch.rs").read_text()
        self.assertIn("const MAX_MESSAGE_BYTES: usize = 1024 * 1024 - MAX_ATTRIBUTE_BYTES;", source)

    def test_message_survives_four_days_of_failed_drains(self):
        properties = self.queues["OverflowQueue"]["Properties"]
        redrive = properties["RedrivePolicy"]
        self.assertEqual(redrive["deadLetterTargetArn"], {"Fn::GetAtt": ["OverflowDeadLetterQueue", "Arn"]})
        self.assertEqual(properties["VisibilityTimeout"], 6 * self.function["Timeout"])
        self.assertLessEqual(redrive["maxReceiveCount"], 1000)
        self.assertGreaterEqual(redrive["maxReceiveCount"] * properties["VisibilityTimeout"], 4 * 24 * 60 * 60)

    def test_function_ends_a_drain_and_sends_its_dead_letters_before_lambda_ends_the_function(self):
        def seconds(name: str, *path: str) -> int:
            return int(re.search(rf"{name}: Duration = Duration::from_secs\((\d+)\)", PROJECT.joinpath(*path).read_text()).group(1))
        drain = seconds("MAX_DRAIN_DURATION", "functions", "overflow", "src", "lib.rs")
        self.assertLess(drain + seconds("DEAD_LETTER_TIMEOUT", "functions", "overflow", "src", "lib.rs"), self.function["Timeout"])

    def test_reserved_concurrency_of_the_drain_is_what_its_mapping_uses(self):
        most = self.mapping["Properties"]["ScalingConfig"]["MaximumConcurrency"]
        self.assertEqual(self.function["ReservedConcurrentExecutions"],
                         {"Fn::If": ["HasReservedConcurrency", most, {"Ref": "AWS::NoValue"}]})


class Configuration(unittest.TestCase):
    def test_each_delivery_is_a_stack_named_after_the_one_that_it_reads(self):
        service, delivery = (tomlkit.parse((PROJECT / file).read_text()) for file in ("samconfig.toml", "delivery/samconfig.toml"))
        for environment in ("default", "prod"):
            name = service[environment]["global"]["parameters"]["stack_name"]
            # The names that deploy/deployment-role.yaml knows.
            self.assertEqual(delivery[environment]["global"]["parameters"]["stack_name"], f"{name}-delivery")
            self.assertEqual(delivery[environment]["deploy"]["parameters"]["capabilities"], "CAPABILITY_IAM")


def arn(service: str, rest: str) -> str:
    return f"arn:aws:{service}:eu-west-1:123456789012:{rest}"


STREAM = arn("dynamodb", "table/intake-dev-SignalsTable-1ABC/stream/2026-11-20T22:33:44.123")
TOPIC = arn("sns", "intake-alarms")
# What each parameter takes, and what is easily taken for it.
ARNS = {
    "CertificateArn": (arn("acm", "certificate/0a"), [arn("acm", "account"), arn("iam", "server-certificate/intake")]),
    "KmsKeyArn": (KMS_KEY, [arn("kms", "alias/intake"), "alias/intake", "0a"]),
    "KeyOperatorArns": ("arn:aws:iam::123456789012:role/operator", ["arn:aws:sts::123456789012:assumed-role/operator/ada"]),
    "PageTopicArn": (TOPIC, [f"{TOPIC}:0a0a0a0a-subscription", arn("sqs", "intake-alarms")]),
    "TicketTopicArn": (TOPIC, [f"{TOPIC}:0a0a0a0a-subscription", arn("sqs", "intake-alarms")]),
    "PermissionsBoundaryArn": ("arn:aws:iam::123456789012:policy/boundary", ["arn:aws:iam::123456789012:role/boundary"]),
    "SignalsStreamArn": (STREAM, [STREAM.split("/stream/")[0]]),
    "CustomersStreamArn": (STREAM, [STREAM.split("/stream/")[0]]),
    "OidcProviderArn": ("arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com",
                        ["arn:aws:iam::123456789012:role/deploy", "arn:aws:iam::123456789012:oidc-provider/gitlab.example"]),
}


class Parameters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.template = template.written()

    def test_parameter_takes_an_arn_of_its_kind_only(self):
        # Those of deploy/monitoring.yaml are parameters or resources of template.yaml.
        for file in ("template.yaml", "delivery/template.yaml", "deploy/deployment-role.yaml"):
            for name, parameter in template.written(file)["Parameters"].items():
                if name.endswith(("Arn", "Arns")):
                    taken, refused = ARNS[name]
                    self.assertRegex(taken, parameter["AllowedPattern"], name)
                    for other in refused:
                        self.assertNotRegex(other, parameter["AllowedPattern"], name)

    def test_origins_are_as_browsers_send_them_and_never_null(self):
        pattern = self.template["Parameters"]["CorsOrigins"]["AllowedPattern"]
        for valid in ("", "*", "https://*", "https://shop.example", "http://localhost:3000", "capacitor://localhost",
                      "chrome-extension://abcdefghijklmnop", "http://[::1]:8080", "https://shop.example,https://www.shop.example"):
            self.assertRegex(valid, pattern)
        for invalid in ("null", "https://shop.example,null", "https://shop.example/", "https://shop.example/,https://www.shop.example",
                        "shop.example", "//shop.example", "https://", "https://Shop.example", "https://shop.example, https://www.shop.example",
                        "https://shop.example,", "https://shop.example/basket"):
            self.assertNotRegex(invalid, pattern)

    def test_number_that_a_function_reads_is_whole(self):
        for file in ("template.yaml", "delivery/template.yaml"):
            written = template.written(file)
            functions = [function["Properties"] for function in of_type(written, "AWS::Serverless::Function").values()]
            read = template.references([part.get("Environment", {}) for part in (written["Globals"]["Function"], *functions)])
            for name in read & set(written["Parameters"]):
                self.assertNotEqual(written["Parameters"][name]["Type"], "Number", name)
        for name in ("ReservedConcurrency", "SignalRetentionDays"):
            pattern = self.template["Parameters"][name]["AllowedPattern"]
            for valid in ("0", "7", "36500"):
                self.assertRegex(valid, pattern, name)
            for invalid in ("", "0.5", "30.0", "0.0", "-1", "+1", "1e3", " 1"):
                self.assertNotRegex(invalid, pattern, name)
        # Another text than that of the condition: Lambda would reserve no concurrency.
        self.assertNotRegex("00", self.template["Parameters"]["ReservedConcurrency"]["AllowedPattern"])

    def test_stack_says_the_version_of_the_functions(self):
        manifest = tomlkit.parse((PROJECT / "Cargo.toml").read_text())
        self.assertEqual(template.written()["Outputs"]["Version"]["Value"], manifest["workspace"]["package"]["version"])

    def test_what_deploys_writes_the_commit_once(self):
        self.assertEqual((PROJECT / "template.yaml").read_text().count(template.written()["Outputs"]["Commit"]["Value"]), 1)
        for file in (".ci/package", ".github/workflows/deploy.yml", "docs/operate.md"):
            self.assertIn("s/unknown-commit/", (PROJECT / file).read_text(), file)

    def test_parameter_of_a_function_publishes_a_new_version(self):
        shared_by_all = self.template["Globals"]["Function"]
        shaping = ("Architectures", "Environment", "LoggingConfig", "MemorySize")
        for name, function in of_type(self.template, "AWS::Serverless::Function").items():
            reaching = template.references([s.get(p, {}) for s in (shared_by_all, function["Properties"]) for p in shaping])
            reaching &= set(self.template["Parameters"])
            described = template.references(function["Properties"]["VersionDescription"])
            self.assertEqual(reaching, described, name)
            self.assertEqual(shared_by_all["AutoPublishAlias"], "live")

    def test_other_settings_of_a_function_publish_a_new_version(self):
        for name, function in of_type(self.template, "AWS::Serverless::Function").items():
            digest = settings_digest(self.template["Globals"]["Function"], function["Properties"])
            self.assertTrue(function["Properties"]["VersionDescription"]["Fn::Sub"].endswith(f", settings {digest}"),
                            f"The settings of {name} changed. Without another VersionDescription, its alias keeps the old version: "
                            f"end the description with 'settings {digest}'.")

    def test_only_a_gradual_deployment_uses_alarms_of_codedeploy(self):
        at_once = template.processed(self.template, GradualDeployment="false")
        self.assertFalse(of_type(at_once, "AWS::CodeDeploy::DeploymentGroup"))
        gradual = template.processed(self.template, GradualDeployment="true")
        groups = of_type(gradual, "AWS::CodeDeploy::DeploymentGroup")
        self.assertEqual(set(groups), {"CustomersFunctionDeploymentGroup", "SignalsFunctionDeploymentGroup"})
        for group in groups.values():
            self.assertEqual(group["Properties"]["AlarmConfiguration"]["Alarms"], [{"Name": {"Ref": "DefectsAlarm"}}])
            self.assertEqual(group["Properties"]["ServiceRoleArn"], {"Fn::GetAtt": ["CodeDeployRole", "Arn"]})
        aliases = of_type(gradual, "AWS::Lambda::Alias")
        self.assertEqual({name for name, alias in aliases.items() if "CodeDeployLambdaAliasUpdate" in alias.get("UpdatePolicy", {})},
                         {"CustomersFunctionAliaslive", "SignalsFunctionAliaslive"})


if __name__ == "__main__":
    unittest.main()
