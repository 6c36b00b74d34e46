"""What the template alone can show: tables, queues, parameters, and what the transform makes of them."""

import re
import unittest

import tomlkit

import template
from template import PROJECT, of_type


class Tables(unittest.TestCase):
    def test_tables_are_retained_restorable_and_protectable(self):
        found = of_type(template.written(), "AWS::DynamoDB::Table")
        self.assertEqual(len(found), 5)
        for name, table in found.items():
            properties = table["Properties"]
            # A stack whose first deployment failed leaves no tables behind.
            self.assertEqual((table["DeletionPolicy"], table["UpdateReplacePolicy"]), ("RetainExceptOnCreate", "Retain"), name)
            self.assertEqual(properties["BillingMode"], "PAY_PER_REQUEST", name)
            # Idempotency records live for a day.
            recovery = properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"]
            self.assertEqual(recovery, name != "IdempotencyTable", name)
            self.assertEqual(properties["DeletionProtectionEnabled"], {"Ref": "DeletionProtection"}, name)
            self.assertEqual(properties["SSESpecification"]["Fn::If"][0], "HasKmsKey", name)


class KeySnapshot(unittest.TestCase):
    def test_bucket_is_retained_private_versioned_and_encrypted_by_s3(self):
        written = template.written()
        ((name, bucket),) = of_type(written, "AWS::S3::Bucket").items()
        properties = bucket["Properties"]
        self.assertEqual((bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]), ("RetainExceptOnCreate", "Retain"))
        self.assertEqual(set(properties["PublicAccessBlockConfiguration"].values()), {True})
        self.assertEqual(properties["OwnershipControls"], {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]})
        self.assertEqual(properties["VersioningConfiguration"], {"Status": "Enabled"})
        versions, _ = properties["LifecycleConfiguration"]["Rules"]
        self.assertEqual((versions["Status"], versions["NoncurrentVersionExpiration"]), ("Enabled", {"NoncurrentDays": 7}))
        # With a key of KMS, an outage of KMS would take the snapshot away together with the tables.
        (encryption,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        self.assertEqual(encryption, {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}})
        self.assertEqual(written["Outputs"][name]["Value"], {"Ref": name})

    def test_bucket_takes_requests_over_tls_only(self):
        policy = template.written()["Resources"]["KeySnapshotBucketPolicy"]["Properties"]
        self.assertEqual(policy["Bucket"], {"Ref": "KeySnapshotBucket"})
        statement, _ = policy["PolicyDocument"]["Statement"]
        self.assertEqual((statement["Effect"], statement["Action"], statement["Condition"]),
                         ("Deny", "s3:*", {"Bool": {"aws:SecureTransport": "false"}}))

    def test_only_the_operators_that_the_parameter_names_write_the_snapshot(self):
        written = template.written()
        _, conditional = written["Resources"]["KeySnapshotBucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]
        condition, statement, otherwise = conditional["Fn::If"]
        self.assertEqual(written["Conditions"][condition], {"Fn::Not": [{"Fn::Equals": [{"Ref": "KeyOperatorArns"}, ""]}]})
        self.assertEqual((written["Parameters"]["KeyOperatorArns"]["Default"], otherwise), ("", {"Ref": "AWS::NoValue"}))
        self.assertEqual((statement["Effect"], statement["Principal"], statement["Resource"]),
                         ("Deny", "*", {"Fn::Sub": "${KeySnapshotBucket.Arn}/*"}))
        self.assertLessEqual({"s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion"}, set(statement["Action"]))
        self.assertEqual(statement["Condition"],
                         {"ArnNotLike": {"aws:PrincipalArn": {"Fn::Split": [",", {"Ref": "KeyOperatorArns"}]}}})
        pattern = re.compile(written["Parameters"]["KeyOperatorArns"]["AllowedPattern"])
        operators = "arn:aws:iam::123456789012:role/aws-reserved/sso.amazonaws.com/*/AWSReservedSSO_Operators_*"
        for valid in ("", operators, f"{operators},arn:aws:iam::123456789012:user/ada"):
            self.assertTrue(pattern.search(valid), valid)
        for invalid in ("ada", f"{operators}, arn:aws:iam::123456789012:user/ada", f"{operators},", ","):
            self.assertFalse(pattern.search(invalid), invalid)


class Queues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.template = template.written()
        cls.queues = of_type(cls.template, "AWS::SQS::Queue")
        cls.processed = template.processed(cls.template, ReservedConcurrency="100")
        cls.function = cls.processed["Resources"]["OverflowFunction"]["Properties"]
        (cls.mapping,) = of_type(cls.processed, "AWS::Lambda::EventSourceMapping").values()

    def test_queues_are_retained_encrypted_and_keep_the_largest_messages_for_the_longest_time(self):
        self.assertEqual(set(self.queues), {"OverflowQueue", "OverflowDeadLetterQueue"})
        for name, queue in self.queues.items():
            properties = queue["Properties"]
            self.assertEqual((queue["DeletionPolicy"], queue["UpdateReplacePolicy"]), ("RetainExceptOnCreate", "Retain"), name)
            self.assertEqual(properties["MaximumMessageSize"], 1024 * 1024, name)
            self.assertEqual(properties["MessageRetentionPeriod"], 14 * 24 * 60 * 60, name)
            none = {"Ref": "AWS::NoValue"}
            self.assertEqual(properties["KmsMasterKeyId"], {"Fn::If": ["HasKmsKey", {"Ref": "KmsKeyArn"}, none]}, name)
            self.assertEqual(properties["SqsManagedSseEnabled"], {"Fn::If": ["HasKmsKey", none, True]}, name)

    def test_largest_message_of_the_function_fits_into_the_queue(self):
        source = (PROJECT / "shared" / "store" / "src" / "overflow" / "deferred_batch.rs").read_text()
        self.assertIn("const MAX_MESSAGE_BYTES: usize = 1024 * 1024;", source)

    def test_message_survives_four_days_of_failed_drains(self):
        properties = self.queues["OverflowQueue"]["Properties"]
        redrive = properties["RedrivePolicy"]
        self.assertEqual(redrive["deadLetterTargetArn"], {"Fn::GetAtt": ["OverflowDeadLetterQueue", "Arn"]})
        self.assertEqual(properties["VisibilityTimeout"], 6 * self.function["Timeout"])
        self.assertLessEqual(redrive["maxReceiveCount"], 1000)
        self.assertGreaterEqual(redrive["maxReceiveCount"] * properties["VisibilityTimeout"], 4 * 24 * 60 * 60)

    def test_function_ends_a_drain_before_lambda_ends_the_function(self):
        source = (PROJECT / "shared" / "store" / "src" / "deadline.rs").read_text()
        longest = int(re.search(r"WRITE_TIMEOUT: Duration = Duration::from_secs\((\d+)\)", source).group(1))
        # The messages are drained at the same time; after that, dead letters are sent.
        self.assertLess(2 * longest, self.function["Timeout"])

    def test_event_source_mapping_invokes_the_alias_and_lets_single_messages_fail(self):
        self.assertEqual(self.mapping["Properties"] | {"Tags": []}, {
            "EventSourceArn": {"Fn::GetAtt": ["OverflowQueue", "Arn"]},
            "FunctionName": {"Ref": "OverflowFunctionAliaslive"},
            "BatchSize": 10,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "ScalingConfig": {"MaximumConcurrency": 2},
            "Tags": [],
        })

    def test_reserved_concurrency_of_the_drain_is_what_its_mapping_uses(self):
        most = self.mapping["Properties"]["ScalingConfig"]["MaximumConcurrency"]
        self.assertEqual(self.function["ReservedConcurrentExecutions"],
                         {"Fn::If": ["HasReservedConcurrency", most, {"Ref": "AWS::NoValue"}]})


class Configuration(unittest.TestCase):
    def test_each_environment_acknowledges_the_roles_and_the_nested_stack(self):
        configured = tomlkit.parse((PROJECT / "samconfig.toml").read_text())
        for environment in ("default", "prod"):
            given = configured[environment]["deploy"]["parameters"]["capabilities"]
            self.assertEqual(set(given.split()), {"CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"}, environment)

    def test_each_delivery_is_a_stack_named_after_the_one_that_it_reads(self):
        configured = tomlkit.parse((PROJECT / "samconfig.toml").read_text())
        for environment, delivery in (("default", "delivery"), ("prod", "delivery-prod")):
            name = configured[environment]["global"]["parameters"]["stack_name"]
            # The names that deploy/deployment-role.yaml knows.
            self.assertEqual(configured[delivery]["global"]["parameters"]["stack_name"], f"{name}-delivery")
            for command in ("build", "deploy"):
                self.assertEqual(configured[delivery][command]["parameters"]["template_file"], "delivery/template.yaml")
            self.assertEqual(configured[delivery]["deploy"]["parameters"]["capabilities"], "CAPABILITY_IAM")


class Parameters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.template = template.written()

    def test_every_parameter_has_a_default_and_a_description(self):
        for name, parameter in self.template["Parameters"].items():
            self.assertIn("Default", parameter, name)
            self.assertTrue(parameter["Description"].endswith("."), name)

    def test_every_parameter_is_used(self):
        reached = template.references({k: self.template[k] for k in ("Globals", "Resources", "Outputs")})
        conditions = self.template["Conditions"]
        used = reached | set().union(*(template.references(conditions[name]) for name in reached if name in conditions))
        self.assertFalse(set(self.template["Parameters"]) - used)

    def test_every_condition_is_used(self):
        reached = template.references({k: self.template[k] for k in ("Globals", "Resources", "Outputs")})
        self.assertFalse(set(self.template["Conditions"]) - reached)

    def test_stack_says_the_version_of_the_functions(self):
        manifest = tomlkit.parse((PROJECT / "Cargo.toml").read_text())
        self.assertEqual(template.written()["Outputs"]["Version"]["Value"], manifest["workspace"]["package"]["version"])

    def test_parameter_of_a_function_publishes_a_new_version(self):
        shared_by_all = self.template["Globals"]["Function"]
        shaping = ("Architectures", "Environment", "LoggingConfig", "MemorySize")
        for name, function in of_type(self.template, "AWS::Serverless::Function").items():
            reaching = template.references([s.get(p, {}) for s in (shared_by_all, function["Properties"]) for p in shaping])
            reaching &= set(self.template["Parameters"])
            described = template.references(function["Properties"]["VersionDescription"])
            self.assertEqual(reaching, described, name)
            self.assertEqual(shared_by_all["AutoPublishAlias"], "live")

    def test_every_route_invokes_an_alias(self):
        processed = template.processed(self.template)
        aliases = of_type(processed, "AWS::Lambda::Alias")
        found = template.routes(processed)
        self.assertEqual({path for _, path, _ in found},
                         {"/api/customers", "/api/sdk/ping", "/api/event-flows/signal"})
        for method, path, alias in found:
            self.assertEqual(method, "ANY", path)
            self.assertIn(alias, aliases, path)

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

    def test_custom_domain_maps_to_the_stage_of_the_api(self):
        processed = template.processed(self.template, CustomDomainName="intake.example.com", CertificateArn="arn:aws:acm:x")
        (stage,) = of_type(processed, "AWS::ApiGatewayV2::Stage")
        mapping = processed["Resources"]["DomainMapping"]
        self.assertEqual((mapping["Condition"], mapping["Properties"]["Stage"]), ("HasDomain", {"Ref": stage}))

    def test_default_address_is_closed_on_demand_only(self):
        (api,) = of_type(template.processed(self.template), "AWS::ApiGatewayV2::Api").values()
        (server,) = api["Properties"]["Body"]["servers"]
        self.assertEqual(server["x-amazon-apigateway-endpoint-configuration"]["disableExecuteApiEndpoint"],
                         {"Fn::If": ["HasClosedDefaultAddress", True, False]})
        self.assertEqual(self.template["Conditions"]["HasClosedDefaultAddress"],
                         {"Fn::Equals": [{"Ref": "DefaultAddress"}, "closed"]})
        self.assertEqual(self.template["Parameters"]["DefaultAddress"]["Default"], "open")

    def test_cors_has_the_given_origins_or_is_off(self):
        processed = template.processed(self.template, CorsOrigins="https://a.example,https://b.example")
        (api,) = of_type(processed, "AWS::ApiGatewayV2::Api").values()
        condition, _, off = api["Properties"]["Body"]["x-amazon-apigateway-cors"]["Fn::If"]
        self.assertEqual((condition, off), ("HasCors", {"Ref": "AWS::NoValue"}))
        self.assertEqual(template.cors(processed)["AllowOrigins"], ["https://a.example", "https://b.example"])


if __name__ == "__main__":
    unittest.main()
