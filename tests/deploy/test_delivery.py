"""What delivery/template.yaml alone can show: what is read, where it goes, how long it is tried, who may do what, and what is watched."""

import json
import re
import unittest

import template
from template import PROJECT, actions, of_type, statements
from test_permissions import KEY

STREAMS = {"SignalsStreamArn": "arn:aws:dynamodb:us-east-1:123456789012:table/S/stream/1",
           "CustomersStreamArn": "arn:aws:dynamodb:us-east-1:123456789012:table/C/stream/1"}


class DeliveryTemplate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.template = template.written("delivery/template.yaml")
        cls.processed = template.processed(cls.template, KmsKeyArn=KEY, **STREAMS)
        cls.resources = cls.processed["Resources"]


class Reading(DeliveryTemplate):
    def test_each_function_reads_both_streams_and_goes_on_after_the_first_failed_record(self):
        mappings = of_type(self.processed, "AWS::Lambda::EventSourceMapping")
        self.assertEqual(set(mappings), {f"{target}Function{table}" for target in ("Bus", "Lake") for table in ("Signals", "Customers")})
        for name, mapping in mappings.items():
            properties = mapping["Properties"]
            function = name.removesuffix("Signals").removesuffix("Customers")
            self.assertEqual(properties["FunctionName"], {"Ref": function}, name)
            self.assertEqual(properties["EventSourceArn"], {"Ref": f"{name.removeprefix(function)}StreamArn"}, name)
            self.assertEqual(properties["StartingPosition"], "TRIM_HORIZON", name)
            self.assertEqual(properties["FunctionResponseTypes"], ["ReportBatchItemFailures"], name)
            self.assertEqual(properties["BisectBatchOnFunctionError"], True, name)
            self.assertEqual(mapping["Condition"], self.resources[function]["Condition"], name)

    def test_record_is_tried_until_an_hour_before_it_leaves_the_stream_and_then_kept(self):
        for name, mapping in of_type(self.processed, "AWS::Lambda::EventSourceMapping").items():
            properties = mapping["Properties"]
            self.assertEqual((properties["MaximumRetryAttempts"], properties["MaximumRecordAgeInSeconds"]), (-1, 23 * 60 * 60), name)
            kept = {"OnFailure": {"Destination": {"Fn::GetAtt": ["FailureBucket", "Arn"]}}}
            self.assertEqual(properties["DestinationConfig"], kept, name)

    def test_only_new_signals_are_delivered_and_the_filter_of_the_bus_leaves_the_lake_complete(self):
        def filters(name: str):
            return self.resources[name]["Properties"].get("FilterCriteria")
        new = '{"eventName":["INSERT"]}'
        self.assertEqual(filters("LakeFunctionSignals"), {"Filters": [{"Pattern": new}]})
        self.assertEqual(filters("BusFunctionSignals"), {"Filters": [{"Pattern": {"Ref": "BusFilter"}}]})
        self.assertEqual(self.template["Parameters"]["BusFilter"]["Default"], new)
        for function in ("BusFunction", "LakeFunction"):
            self.assertIsNone(filters(f"{function}Customers"))

    def test_customers_have_no_time_to_live_that_a_filter_would_have_to_leave_out(self):
        self.assertNotIn("TimeToLiveSpecification", template.written()["Resources"]["CustomersTable"]["Properties"])

    def test_streams_are_outputs_of_the_other_template(self):
        self.assertLessEqual(set(STREAMS), set(template.written()["Outputs"]))
        without_default = {name for name, parameter in self.template["Parameters"].items() if "Default" not in parameter}
        self.assertEqual(without_default, set(STREAMS))


class Targets(DeliveryTemplate):
    def test_both_functions_are_one_program_with_one_target_each(self):
        functions = of_type(self.template, "AWS::Serverless::Function")
        self.assertEqual({name: function["Properties"]["CodeUri"] for name, function in functions.items()},
                         {"BusFunction": "function", "LakeFunction": "function"})
        self.assertEqual({name: function["Properties"]["Environment"]["Variables"] for name, function in functions.items()},
                         {"BusFunction": {"EVENT_BUS_NAME": {"Ref": "Bus"}, "LAKE_BUCKET_NAME": {"Fn::If": ["HasLake", {"Ref": "LakeBucket"}, ""]}},
                          "LakeFunction": {"DELIVERY_STREAM_NAME": {"Ref": "DeliveryStream"}}})
        shared = self.template["Globals"]["Function"]["Environment"]["Variables"]
        self.assertEqual(shared["FAILURE_BUCKET_NAME"], {"Ref": "FailureBucket"})

    def test_function_ends_a_delivery_before_lambda_ends_the_function(self):
        source = (PROJECT / "delivery" / "function" / "src" / "lib.rs").read_text()
        longest = int(re.search(r"MAX_DELIVERY_DURATION: Duration = Duration::from_secs\((\d+)\)", source).group(1))
        self.assertLess(longest, self.template["Globals"]["Function"]["Timeout"])

    def test_functions_run_as_those_of_the_other_template_do(self):
        other, own = (file["Globals"]["Function"] for file in (template.written(), self.template))
        for setting in ("Runtime", "Handler", "Architectures", "LoggingConfig", "MemorySize"):
            self.assertEqual(own[setting], other[setting], setting)

    def test_parameters_that_both_templates_have_allow_the_same(self):
        other, own = template.written()["Parameters"], self.template["Parameters"]
        shared = set(other) & set(own)
        self.assertEqual(shared, {"Architecture", "FunctionMemory", "KmsKeyArn", "SystemLogLevel", "LogRetentionDays",
                                  "PermissionsBoundaryArn"})
        for name in shared:
            self.assertEqual(other[name] | {"Description": ""}, own[name] | {"Description": ""}, name)
        for name, parameter in own.items():
            self.assertTrue(parameter["Description"].endswith("."), name)

    def test_everything_of_a_target_is_left_out_when_it_is_off(self):
        always = {"FailureBucket", "FailureBucketPolicy", "FailuresAlarm", "AgeAlarm", "UndeliveredAlarm"}
        self.assertEqual({name for name, resource in self.resources.items() if "Condition" not in resource}, always)
        for name, resource in self.resources.items():
            if name not in always:
                self.assertEqual(resource["Condition"], "HasBus" if name.startswith("Bus") else "HasLake", name)

    def test_one_target_has_to_be_on(self):
        (rule,) = self.template["Rules"].values()
        off = [{"Fn::Equals": [{"Ref": name}, "off"]} for name in ("EventBus", "Lake")]
        self.assertEqual(rule["Assertions"][0]["Assert"], {"Fn::Not": [{"Fn::And": off}]})

    def test_objects_of_the_lake_are_where_the_table_has_its_partitions(self):
        lake = self.resources["DeliveryStream"]["Properties"]["ExtendedS3DestinationConfiguration"]
        table = self.resources["EventsTable"]["Properties"]["TableInput"]
        self.assertEqual((lake["Prefix"], lake["CompressionFormat"]), ("events/dt=!{timestamp:yyyy-MM-dd}/", "GZIP"))
        self.assertEqual(table["StorageDescriptor"]["Location"], {"Fn::Sub": "s3://${LakeBucket}/events/"})
        # Without a template of its own, a partition's place is NAME=VALUE below the table's.
        self.assertNotIn("storage.location.template", table["Parameters"])
        self.assertEqual(table["Parameters"]["projection.dt.format"], "yyyy-MM-dd")
        self.assertEqual(table["PartitionKeys"], [{"Name": "dt", "Type": "string"}])
        # What could not be delivered is outside of the table.
        self.assertFalse(lake["ErrorOutputPrefix"].startswith("events/"))


class Buckets(DeliveryTemplate):
    def test_buckets_are_private_encrypted_reached_over_tls_only_and_retained(self):
        buckets = of_type(self.processed, "AWS::S3::Bucket")
        self.assertEqual(set(buckets), {"LakeBucket", "FailureBucket"})
        for name, bucket in buckets.items():
            properties = bucket["Properties"]
            self.assertEqual((bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]), ("RetainExceptOnCreate", "Retain"), name)
            self.assertEqual(set(properties["PublicAccessBlockConfiguration"].values()), {True}, name)
            (encryption,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
            self.assertEqual(encryption["ServerSideEncryptionByDefault"], {"Fn::If": [
                "HasKmsKey", {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": {"Ref": "KmsKeyArn"}}, {"SSEAlgorithm": "AES256"}]}, name)
            (statement,) = self.resources[f"{name}Policy"]["Properties"]["PolicyDocument"]["Statement"]
            self.assertEqual((statement["Effect"], statement["Condition"]), ("Deny", {"Bool": {"aws:SecureTransport": "false"}}), name)

    def test_failure_bucket_forgets_after_30_days_and_the_lake_when_a_parameter_says_so(self):
        (rule,) = self.resources["FailureBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
        self.assertEqual(rule["ExpirationInDays"], 30)
        _, retention = self.resources["LakeBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
        self.assertEqual(retention["Fn::If"][:2], ["HasLakeRetention", {
            "Id": "retention", "Status": "Enabled", "ExpirationInDays": {"Ref": "LakeRetentionDays"}}])


class Permissions(DeliveryTemplate):
    def allowed(self, role: str) -> set[tuple[str, str]]:
        found = set()
        for statement in statements(self.processed, role):
            resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
            found |= {(action, json.dumps(resource)) for action in actions(statement) for resource in resources}
        return found

    def expected_of_a_function(self, name: str, action: str, target: str) -> set[tuple[str, str]]:
        def attribute(resource: str) -> str:
            return json.dumps({"Fn::GetAtt": [resource, "Arn"]})
        reads = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
        return {
            *((f"dynamodb:{read}", json.dumps({"Ref": stream})) for read in reads for stream in STREAMS),
            (action, attribute(target)),
            ("s3:PutObject", json.dumps({"Fn::Sub": "${FailureBucket.Arn}/*"})), ("s3:ListBucket", attribute("FailureBucket")),
            *((f"logs:{write}", attribute(f"{name}LogGroup")) for write in ("CreateLogStream", "PutLogEvents")),
            *((f"kms:{use}", json.dumps({"Ref": "KmsKeyArn"})) for use in ("Decrypt", "DescribeKey", "GenerateDataKey")),
        }

    def test_function_of_the_bus_reads_the_streams_and_puts_events(self):
        self.assertEqual(self.allowed("BusRole"), self.expected_of_a_function("Bus", "events:PutEvents", "Bus"))

    def test_function_of_the_lake_reads_the_streams_and_puts_records(self):
        self.assertEqual(self.allowed("LakeRole"), self.expected_of_a_function("Lake", "firehose:PutRecordBatch", "DeliveryStream"))

    def test_firehose_writes_to_the_lake_and_its_log_and_nowhere_else(self):
        reached = {resource for _, resource in self.allowed("DeliveryStreamRole")}
        self.assertEqual(reached, {json.dumps(value) for value in (
            {"Fn::GetAtt": ["LakeBucket", "Arn"]}, {"Fn::Sub": "${LakeBucket.Arn}/*"},
            {"Fn::GetAtt": ["DeliveryStreamLogGroup", "Arn"]}, {"Ref": "KmsKeyArn"})})

    def test_no_role_may_delete_or_use_wildcards(self):
        for name in of_type(self.processed, "AWS::IAM::Role"):
            for action, _ in self.allowed(name):
                self.assertNotRegex(action, r"[*?]|Delete", name)
            self.assertNotIn("ManagedPolicyArns", self.resources[name]["Properties"])

    def test_key_is_used_through_dynamodb_and_s3_only(self):
        for name in of_type(self.processed, "AWS::IAM::Role"):
            for statement in statements(self.processed, name):
                if any(action.startswith("kms:") for action in actions(statement)):
                    self.assertIn(statement["Condition"]["StringEquals"]["kms:ViaService"]["Fn::Sub"].split(".")[0], ("dynamodb", "s3"))


class Consumer(unittest.TestCase):
    """The consumer of a stream in Python. The one in Rust is tried by tests/integration."""

    def setUp(self):
        self.consumer = {}
        exec((PROJECT / "tests" / "examples" / "stream_consumer.py").read_text(), self.consumer)
        self.event = json.loads((PROJECT / "events" / "stream" / "signals.json").read_text())

    def test_consumer_gets_new_signals_with_all_their_digits(self):
        items = []
        self.consumer["handle"] = items.append
        self.assertEqual(self.consumer["handler"](self.event, None), {"batchItemFailures": []})
        self.assertEqual(len(items), 2, items)
        self.assertIn('"price":12345678901234567890.123456789012345678', items[0])
        self.assertEqual(json.loads(items[0])["data"]["tags"], ['new "é"', True, None])

    def test_failed_record_is_reported_and_those_after_it_are_left(self):
        def fail(item: str):
            calls.append(item)
            raise ConnectionError
        calls = []
        self.consumer["handle"] = fail
        self.assertEqual(self.consumer["handler"](self.event, None),
                         {"batchItemFailures": [{"itemIdentifier": "111100000000000000000000001"}]})
        self.assertEqual(len(calls), 1)


class Alarms(DeliveryTemplate):
    def test_alarms_watch_age_what_is_given_up_the_lake_and_the_failure_bucket(self):
        self.assertEqual({name: {metric["MetricName"] for metric in template.watched(alarm)}
                          for name, alarm in of_type(self.processed, "AWS::CloudWatch::Alarm").items()},
                         {"AgeAlarm": {"IteratorAge"}, "UndeliveredAlarm": {"RecordsUnreadable", "DestinationDeliveryFailures"},
                          "DataFreshnessAlarm": {"DeliveryToS3.DataFreshness"}, "FailuresAlarm": {"NumberOfObjects"}})

    def test_alarms_over_both_functions_name_one_that_exists_when_the_other_is_off(self):
        bus = {"Fn::If": ["HasBus", {"Ref": "BusFunction"}, {"Ref": "LakeFunction"}]}
        lake = {"Fn::If": ["HasLake", {"Ref": "LakeFunction"}, {"Ref": "BusFunction"}]}
        for name, metrics in (("AgeAlarm", 1), ("UndeliveredAlarm", 2)):
            functions = [metric["Dimensions"][0]["Value"] for metric in template.watched(self.resources[name])]
            self.assertEqual(functions, [bus, lake] * metrics, name)

    def test_metric_of_unreadable_records_is_one_that_the_function_writes(self):
        source = (PROJECT / "delivery" / "function" / "src" / "log.rs").read_text()
        self.assertIn('("RecordsUnreadable", ', source)

    def test_alarms_notify_the_topic_if_there_is_one(self):
        to_topic = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
        for name, alarm in of_type(self.processed, "AWS::CloudWatch::Alarm").items():
            self.assertEqual((alarm["Properties"]["AlarmActions"], alarm["Properties"]["OKActions"]), (to_topic, to_topic), name)

    def test_age_alarm_fires_long_before_lambda_discards(self):
        self.assertEqual(self.resources["AgeAlarm"]["Properties"]["Threshold"], 15 * 60 * 1000)


if __name__ == "__main__":
    unittest.main()
