"""What the template alone can show: permissions, metrics, parameters, and what the transform makes of them."""

import fnmatch
import json
import re
import unittest

import tomlkit

import smoke
import template
from template import PROJECT, actions, of_type, statements

KEY = "arn:aws:kms:us-east-1:123456789012:key/0a"


def targets(statement: dict) -> set[str]:
    resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
    return {r["Fn::GetAtt"][0] for r in resources if isinstance(r, dict) and "Fn::GetAtt" in r}


def actions_on_storage(processed: dict, role: str) -> dict[str, set[str]]:
    """For each table and queue that the role reaches, what it may do there."""
    reached = {}
    for statement in statements(processed, role):
        for action in actions(statement):
            if action.startswith(("dynamodb:", "sqs:")):
                for target in targets(statement):
                    reached.setdefault(target, set()).add(action)
    return reached


class Permissions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.processed = template.processed(template.written(), KmsKeyArn=KEY)
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

    def test_no_role_has_a_managed_policy(self):
        for name, role in self.roles.items():
            self.assertNotIn("ManagedPolicyArns", role["Properties"], name)

    def test_no_role_may_scan_query_delete_or_use_wildcards(self):
        for name in self.roles:
            for statement in statements(self.processed, name):
                self.assertNotIn("NotAction", statement)
                # Lambda deletes what the overflow function has drained.
                for action in set(actions(statement)) - {"sqs:DeleteMessage"}:
                    self.assertNotRegex(action, r"[*?]|Scan|Query|Delete|PartiQL", name)

    def test_only_traces_have_a_wildcard_resource(self):
        for name in self.function_roles:
            for statement in statements(self.processed, name):
                self.assertNotIn("NotResource", statement)
                if "*" in json.dumps(statement["Resource"]):
                    self.assertEqual(set(actions(statement)), {"xray:PutTraceSegments", "xray:PutTelemetryRecords"})

    def test_codedeploy_role_moves_the_aliases_of_the_functions_only(self):
        arns = [arn for name in ("CustomersFunction", "SignalsFunction")
                for arn in ({"Fn::GetAtt": [name, "Arn"]}, {"Fn::Sub": f"${{{name}.Arn}}:*"})]
        self.assertEqual([(actions(s), s["Resource"]) for s in statements(self.processed, "CodeDeployRole")], [
            (["lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias"], arns),
            (["cloudwatch:DescribeAlarms"], "*"),
        ])
        trusted = {name: role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]["Service"]
                   for name, role in self.roles.items()}
        self.assertEqual(trusted.pop("CodeDeployRole"), "codedeploy.amazonaws.com")
        self.assertEqual(set(trusted.values()), {"lambda.amazonaws.com"})

    def test_customers_role_reads_keys_and_updates_customers(self):
        self.assertEqual(
            actions_on_storage(self.processed, "CustomersRole"),
            {"ApiKeysTable": {"dynamodb:GetItem"}, "CustomersTable": {"dynamodb:UpdateItem"}},
        )

    def test_signals_role_reads_keys_and_writes_its_tables(self):
        put, batch = "dynamodb:PutItem", "dynamodb:BatchWriteItem"
        self.assertEqual(
            actions_on_storage(self.processed, "SignalsRole"),
            {
                "ApiKeysTable": {"dynamodb:GetItem"},
                "SignalsTable": {batch, put},
                "IdempotencyTable": {put},
                "RejectedSignalsTable": {batch, put},
                "OverflowQueue": {"sqs:SendMessage"},
            },
        )

    def test_overflow_role_reads_its_queue_and_writes_what_the_signals_role_writes(self):
        put, batch = "dynamodb:PutItem", "dynamodb:BatchWriteItem"
        self.assertEqual(
            actions_on_storage(self.processed, "OverflowRole"),
            {
                "SignalsTable": {batch, put},
                "IdempotencyTable": {put},
                "RejectedSignalsTable": {batch, put},
                # What Lambda's AWSLambdaSQSQueueExecutionRole grants on every queue.
                "OverflowQueue": {"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"},
                "OverflowDeadLetterQueue": {"sqs:SendMessage"},
            },
        )

    def test_role_that_reaches_a_queue_may_use_its_key_through_sqs(self):
        through = {"StringEquals": {"kms:ViaService": {"Fn::Sub": "sqs.${AWS::Region}.${AWS::URLSuffix}"}}}
        for name in self.function_roles:
            reaches_a_queue = any("sqs:" in action for s in statements(self.processed, name) for action in actions(s))
            granted = [set(actions(s)) for s in statements(self.processed, name) if s.get("Condition") == through]
            # A sender needs both, a reader the first ("Amazon SQS Key management" in its developer guide).
            self.assertEqual(granted, [{"kms:Decrypt", "kms:GenerateDataKey"}] if reaches_a_queue else [], name)

    def test_function_has_the_variables_of_what_its_role_reaches(self):
        for name, function in of_type(self.processed, "AWS::Lambda::Function").items():
            named = template.references(function["Properties"]["Environment"]) - set(template.written()["Parameters"])
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


class Tables(unittest.TestCase):
    def test_tables_are_retained_restorable_and_protectable(self):
        found = of_type(template.written(), "AWS::DynamoDB::Table")
        self.assertEqual(len(found), 5)
        for name, table in found.items():
            properties = table["Properties"]
            # A stack whose first deployment failed leaves no tables behind.
            self.assertEqual((table["DeletionPolicy"], table["UpdateReplacePolicy"]), ("RetainExceptOnCreate", "Retain"), name)
            self.assertEqual(properties["BillingMode"], "PAY_PER_REQUEST", name)
            self.assertTrue(properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"], name)
            self.assertEqual(properties["DeletionProtectionEnabled"], {"Ref": "DeletionProtection"}, name)
            self.assertEqual(properties["SSESpecification"]["Fn::If"][0], "HasKmsKey", name)


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
        source = (PROJECT / "functions" / "overflow" / "src" / "lib.rs").read_text()
        longest = int(re.search(r"MAX_DRAIN_DURATION: Duration = Duration::from_secs\((\d+)\)", source).group(1))
        self.assertLess(longest, self.function["Timeout"])

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


class Metrics(unittest.TestCase):
    """Every metric of ours that is read is one that the functions write."""

    @classmethod
    def setUpClass(cls):
        cls.template = template.written()
        cls.monitoring = template.written("monitoring.yaml")
        cls.alarms = template.alarms()
        cls.widgets = template.widgets()
        cls.filtered = {transformation["MetricName"]: [dimension["Key"] for dimension in transformation["Dimensions"]]
                        for metric_filter in of_type(cls.monitoring, "AWS::Logs::MetricFilter").values()
                        for transformation in metric_filter["Properties"]["MetricTransformations"]}
        cls.source = "\n".join(
            path.read_text() for path in sorted((PROJECT / "shared" / "service" / "src").rglob("*.rs")) if "telemetry" in str(path)
        )

    def read(self) -> set[tuple[str, ...]]:
        """The names and the dimensions' names of the metrics that alarms and widgets read, of those that the functions write."""
        found = set()
        for alarm in self.alarms.values():
            properties = alarm["Properties"]
            if properties["Namespace"] == "Intake":
                found.add((properties["MetricName"], *(d["Name"] for d in properties["Dimensions"])))
        for widget in self.widgets:
            for metric in widget["properties"].get("metrics", []):
                if metric[0] == "Intake":
                    dimensions = [word for word in metric[2:] if isinstance(word, str)][::2]
                    found.add((metric[1], *dimensions))
                elif isinstance(metric[0], dict):
                    search = re.search(r'\{Intake,([\w,]+)\} MetricName="(\w+)"', metric[0]["expression"])
                    found.add((search.group(2), *search.group(1).split(",")))
        self.assertLessEqual({(name, *dimensions) for name, dimensions in self.filtered.items()}, found)
        return {metric for metric in found if metric[0] not in self.filtered}

    def test_alarms_and_dashboard_read_metrics_that_are_written(self):
        read = self.read()
        self.assertGreater(len(read), 8)
        metrics = set(re.findall(r'^ +(\w+) "(?:Count|Milliseconds|Percent)"', self.source, re.MULTILINE))
        self.assertIn("SignalsAccepted", metrics, "shared/service/src/telemetry lists its metrics in another way than it did")
        self.assertFalse({name for name, *_ in read} - metrics, "read, but not written by shared/service/src/telemetry")
        for dimension in {dimension for _, *dimensions in read for dimension in dimensions}:
            self.assertTrue(f'"{dimension}"' in self.source, f"shared/service/src/telemetry has no dimension {dimension}")

    def test_metrics_have_the_namespace_of_the_functions(self):
        self.assertTrue('"Intake"' in self.source, "shared/service/src/telemetry does not write to the namespace Intake")

    def test_widgets_do_not_overlap_and_name_resources(self):
        taken = set()
        for widget in self.widgets:
            cells = {(x, y) for x in range(widget["x"], widget["x"] + widget["width"])
                     for y in range(widget["y"], widget["y"] + widget["height"])}
            self.assertFalse(taken & cells, widget["properties"].get("title"))
            taken |= cells
            self.assertLessEqual(widget["x"] + widget["width"], 24)
        dashboard = self.monitoring["Resources"]["Dashboard"]["Properties"]
        _, conditional = dashboard["DashboardBody"]["Fn::Sub"]
        known = {*self.monitoring["Resources"], *self.monitoring["Parameters"], *self.monitoring["Conditions"],
                 *conditional, "AWS::Region"}
        self.assertLessEqual(template.references(dashboard), known)

    def test_dashboard_shows_every_alarm(self):
        shown = {re.fullmatch(r"\$\{(\w+Alarm)\.?Arn\}", alarm).group(1)
                 for widget in self.widgets for alarm in widget["properties"].get("alarms", [])}
        self.assertEqual(shown, set(self.alarms))

    def test_template_yaml_keeps_the_alarms_that_roll_a_deployment_back_and_no_other(self):
        functions = of_type(self.template, "AWS::Serverless::Function").values()
        preferences = [f["Properties"]["DeploymentPreference"] for f in functions if "DeploymentPreference" in f["Properties"]]
        watched = [alarm["Ref"] for preference in preferences for alarm in preference["Alarms"]]
        self.assertEqual(set(of_type(self.template, "AWS::CloudWatch::Alarm")), set(watched))
        self.assertEqual(len(watched), 4)

    def test_the_nested_stack_gets_each_parameter_from_what_has_its_name(self):
        stack = self.template["Resources"]["Monitoring"]["Properties"]
        self.assertEqual(stack["TemplateURL"], "monitoring.yaml")
        named = {*self.template["Parameters"], *self.template["Resources"]}

        def source(name: str) -> dict:
            if name in named:
                return {"Ref": name}
            # A reference to a queue gives its URL, and CloudWatch wants its name.
            return {"Fn::GetAtt": [name.removesuffix("Arn"), "Arn"] if name.endswith("Arn") else [name.removesuffix("Name"), "QueueName"]}
        expected = {name: source(name) for name in self.monitoring["Parameters"]}
        self.assertEqual(stack["Parameters"], expected)
        self.assertLessEqual(template.references(expected), named)

    def test_alarms_notify_the_topic_if_there_is_one(self):
        to_topic = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
        self.assertEqual(self.monitoring["Conditions"]["HasAlarmTopic"], self.template["Conditions"]["HasAlarmTopic"])
        for name, alarm in self.alarms.items():
            self.assertEqual(alarm["Properties"]["AlarmActions"], to_topic, name)
            self.assertEqual(alarm["Properties"]["OKActions"], to_topic, name)


    def test_quiet_alarm_fires_without_data_and_can_be_disabled(self):
        quiet = self.alarms["QuietAlarm"]
        self.assertEqual(quiet["Condition"], "HasQuietAlarm")
        self.assertEqual(self.monitoring["Conditions"]["HasQuietAlarm"], {"Fn::Not": [{"Fn::Equals": [{"Ref": "QuietMinutes"}, 0]}]})
        properties = quiet["Properties"]
        self.assertEqual((properties["Period"], properties["EvaluationPeriods"], properties["DatapointsToAlarm"]),
                         (60, {"Ref": "QuietMinutes"}, {"Ref": "QuietMinutes"}))
        self.assertEqual(properties["TreatMissingData"], "breaching")
        # CloudWatch evaluates at most a day (PutMetricAlarm, EvaluationPeriods).
        self.assertEqual(self.template["Parameters"]["QuietMinutes"]["MaxValue"] * 60, 24 * 60 * 60)


class Configuration(unittest.TestCase):
    def test_each_environment_acknowledges_the_roles_and_the_nested_stack(self):
        configured = tomlkit.parse((PROJECT / "samconfig.toml").read_text())
        for environment in ("default", "prod"):
            given = configured[environment]["deploy"]["parameters"]["capabilities"]
            self.assertEqual(set(given.split()), {"CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"}, environment)


def matches(pattern: str, line: dict[str, str]) -> bool:
    """Whether CloudWatch would count `line` ("Filter pattern syntax" in the CloudWatch Logs user guide)."""
    def term(match: re.Match) -> str:
        field, operator, value = match.groups()
        return repr(fnmatch.fnmatchcase(line[field], value) == (operator == "="))
    python = re.sub(r'\$\.(\w+) (!?=) "([^"]*)"', term, pattern.strip("{} "))
    return eval(python.replace("&&", "and").replace("||", "or"), {"__builtins__": {}})


class AccessLog(unittest.TestCase):
    def test_access_log_line_is_json_with_both_request_ids(self):
        line = json.loads(template.written()["Resources"]["HttpApi"]["Properties"]["AccessLogSettings"]["Format"])
        self.assertEqual(line["requestId"], "$context.requestId")
        self.assertEqual(line["functionRequestId"], "$context.awsEndpointRequestId")

    def test_metric_filter_counts_what_api_gateway_answered_by_itself(self):
        (metric_filter,) = of_type(template.written("monitoring.yaml"), "AWS::Logs::MetricFilter").values()
        for status, function_status, path, is_counted in [
            ("429", "-", "/api/customers", True),
            ("413", "-", "/api/event-flows/signal", True),
            ("503", "", "/api/event-flows/signal", True),
            ("404", "-", "/api/customers/", True),
            ("404", "-", "/api/event-flows", True),
            ("404", "-", "/.env", False),
            ("204", "-", "/api/customers", False),
            ("401", "401", "/api/customers", False),
            ("503", "503", "/api/customers", False),
        ]:
            line = {"status": status, "functionStatus": function_status, "path": path}
            self.assertEqual(matches(metric_filter["Properties"]["FilterPattern"], line), is_counted, line)

    def test_metric_filter_reads_fields_of_the_access_log_line(self):
        line = json.loads(template.written()["Resources"]["HttpApi"]["Properties"]["AccessLogSettings"]["Format"])
        (metric_filter,) = of_type(template.written("monitoring.yaml"), "AWS::Logs::MetricFilter").values()
        fields = set(re.findall(r"\$\.(\w+)", json.dumps(metric_filter["Properties"])))
        self.assertEqual(fields, {"functionStatus", "status", "path", "apiId"})
        self.assertLessEqual(fields, set(line))


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

    def test_parameter_of_a_function_publishes_a_new_version(self):
        shared_by_all = self.template["Globals"]["Function"]
        shaping = ("Architectures", "Environment", "MemorySize")
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
            self.assertEqual(len(group["Properties"]["AlarmConfiguration"]["Alarms"]), 2)
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

    def test_cors_allows_the_headers_of_the_smoke_test(self):
        cors = template.cors(template.processed(self.template, CorsOrigins="https://a.example"))
        self.assertEqual(set(cors["AllowHeaders"]), smoke.ASKED_HEADERS)
        self.assertIn("OPTIONS", cors["AllowMethods"])


if __name__ == "__main__":
    unittest.main()
