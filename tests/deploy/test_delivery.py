"""What delivery/template.yaml alone can show: what is read, where it goes, how long it is tried, and what is watched."""

import re
import unittest

import template
from template import PROJECT
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
    def test_streams_are_outputs_of_the_other_template(self):
        self.assertLessEqual(set(STREAMS), set(template.written()["Outputs"]))
        without_default = {name for name, parameter in self.template["Parameters"].items() if "Default" not in parameter}
        self.assertEqual(without_default, set(STREAMS))


class Targets(DeliveryTemplate):

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
        for name in set(other) & set(own):
            self.assertEqual(other[name] | {"Description": ""}, own[name] | {"Description": ""}, name)
        for name, parameter in own.items():
            self.assertTrue(parameter["Description"].endswith("."), name)

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


class Alarms(DeliveryTemplate):

    def test_alarms_over_both_functions_name_one_that_exists_when_the_other_is_off(self):
        bus = {"Fn::If": ["HasBus", {"Ref": "BusFunction"}, {"Ref": "LakeFunction"}]}
        lake = {"Fn::If": ["HasLake", {"Ref": "LakeFunction"}, {"Ref": "BusFunction"}]}
        for name, metrics in (("AgeAlarm", 1), ("UndeliveredAlarm", 2)):
            functions = [metric["Dimensions"][0]["Value"] for metric in template.watched(self.resources[name])]
            self.assertEqual(functions, [bus, lake] * metrics, name)


if __name__ == "__main__":
    unittest.main()
