"""What delivery/template.yaml alone can show: what is read, where it goes, how long it is tried, and what is watched."""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import duckdb

import template
from resolved import KMS_KEY
from template import PROJECT, of_type

# What deploy/streams prints.
STREAMS = {"SignalsStreamArn": "arn:aws:dynamodb:us-east-1:123456789012:table/S/stream/1",
           "CustomersStreamArn": "arn:aws:dynamodb:us-east-1:123456789012:table/C/stream/1",
           "SignalsFunctionName": "signals", "CustomersFunctionName": "customers"}


# In place of AWS's command line: what --output text makes of a query of these answers.
AWS = """#!{python}
import json, sys, jmespath
answers = json.loads({answers!r})
value = jmespath.search(sys.argv[sys.argv.index("--query") + 1], answers[sys.argv[1]])
print("\\t".join(value) if isinstance(value, list) else value)
"""


class StreamsOfAStack(unittest.TestCase):
    def streams(self, outputs: dict[str, str] | None, table: dict) -> subprocess.CompletedProcess:
        """Runs deploy/streams for a stack with these outputs, both of whose tables are described like this."""
        listed = None if outputs is None else [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()]
        answers = json.dumps({"cloudformation": {"Stacks": [{"Outputs": listed}]}, "dynamodb": {"Table": table}})
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "aws"
            program.write_text(AWS.format(python=sys.executable, answers=answers))
            program.chmod(0o755)
            environment = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
            return subprocess.run([PROJECT / "deploy" / "streams", "intake-dev"], env=environment, capture_output=True, text=True)

    def test_parameters_of_the_delivery_are_printed_only_when_there_are_all(self):
        outputs = {f"{table}{what}Name": f"{table}-{what}" for table in ("Signals", "Customers") for what in ("Table", "Function")}
        table = {"StreamSpecification": {"StreamEnabled": True}, "LatestStreamArn": "arn:new"}
        done = self.streams(outputs, table)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.split(), ["SignalsStreamArn=arn:new", "SignalsFunctionName=Signals-Function",
                                               "CustomersStreamArn=arn:new", "CustomersFunctionName=Customers-Function"])
        no_stream = "error: the table Signals-Table has no stream: enable it (docs/runbook.md, Restore).\n"
        no_table = "error: intake-dev has no output SignalsTableName: it is not deployed, or no stack of Intake.\n"
        no_function = "error: intake-dev has no output SignalsFunctionName: deploy it from this version first.\n"
        without_function = {name: value for name, value in outputs.items() if "Function" not in name}
        for given, described, error in (
                (outputs, {}, no_stream),
                # A stream that was turned off is still the latest one.
                (outputs, {"LatestStreamArn": "arn:old"}, no_stream),
                ({}, table, no_table), (None, table, no_table), (without_function, table, no_function)):
            done = self.streams(given, described)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", error))


class DeliveryTemplate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.template = template.written("delivery/template.yaml")
        cls.processed = template.processed(cls.template, KmsKeyArn=KMS_KEY, **STREAMS)
        cls.resources = cls.processed["Resources"]


class Reading(DeliveryTemplate):
    def test_streams_are_outputs_of_the_other_template(self):
        self.assertLessEqual(set(STREAMS), set(template.written()["Outputs"]))
        without_default = {name for name, parameter in self.template["Parameters"].items() if "Default" not in parameter}
        self.assertEqual(without_default, set(STREAMS))

    def test_pages_and_alarms_say_how_old_a_record_may_be(self):
        hours = {mapping["Properties"]["MaximumRecordAgeInSeconds"] / 3600
                 for mapping in of_type(self.processed, "AWS::Lambda::EventSourceMapping").values()}
        self.assertEqual(hours, {23})
        page = (PROJECT / "delivery" / "README.md").read_text()
        self.assertIn("The delivery begins with the last 23 hours of the streams.", page)
        self.assertIn("Do this within 23 hours |", page)
        described = {name: alarm["Properties"]["AlarmDescription"] for name, alarm in template.delivery_alarms().items()}
        for name in ("AgeAlarm", "BusNotInvokedAlarm", "LakeNotInvokedAlarm"):
            self.assertIn("after 23 hours", described[name])

    def test_batch_of_more_than_ten_waits_for_a_second_at_least(self):
        mappings = [mapping["Properties"] for file in (self.processed, template.deployed())
                    for mapping in of_type(file, "AWS::Lambda::EventSourceMapping").values()]
        self.assertEqual(len(mappings), 5)
        for mapping in mappings:
            # MaximumBatchingWindowInSeconds of CreateEventSourceMapping in Lambda's API reference.
            self.assertTrue(mapping["BatchSize"] <= 10 or mapping["MaximumBatchingWindowInSeconds"] >= 1, mapping)


class Targets(DeliveryTemplate):

    def test_function_ends_a_delivery_before_lambda_ends_the_function(self):
        source = (PROJECT / "delivery" / "function" / "src" / "delivery.rs").read_text()
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


def event(number: int, **attributes) -> dict:
    """A CloudEvent of the lake, of a signal with this `data`."""
    data = {"customerId": "c", "eventType": "purchase", "data": attributes.pop("data", {})}
    return {"id": f"2026-11-20T00:00:0{number}.000Z#r#0000", "source": "/accounts/acme/signals", "type": "purchase", "subject": "c",
            "time": f"2026-11-20T00:00:0{number}.000Z", "data": data} | attributes


class Queries(unittest.TestCase):
    QUERIES = dict(part.split("\n", 1) for part in (PROJECT / "delivery" / "queries.sql").read_text().split("\n----- ")[1:])

    def database(self, events: list[dict]) -> duckdb.DuckDBPyConnection:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        day = Path(folder.name) / "events" / "dt=2026-11-20"
        day.mkdir(parents=True)
        with gzip.open(day / "1.gz", "wt") as lines:
            lines.writelines(json.dumps(event) + "\n" for event in events)
        connection = duckdb.connect()
        connection.execute(self.QUERIES["duckdb"].replace("s3://LAKE_BUCKET", folder.name))
        connection.execute(self.QUERIES["views"])
        return connection

    def times(self, timestamps: list) -> list:
        """What `occurred_at` is of signals with these values as data.timestamp."""
        events = [event(number, data={"timestamp": timestamp}) for number, timestamp in enumerate(timestamps)]
        return [time for (time,) in self.database(events).execute("SELECT occurred_at FROM signals ORDER BY id").fetchall()]

    def test_time_of_an_event_is_its_timestamp_in_utc(self):
        times = {
            "2026-11-19T22:33:44.123Z": "2026-11-19T22:33:44.123000Z",
            "2026-11-19T22:33:44Z": "2026-11-19T22:33:44.000000Z",
            "2026-11-19T22:33:44.5+00:00": "2026-11-19T22:33:44.500000Z",
            "2026-11-19T22:33:44.123456789-00:00": "2026-11-19T22:33:44.123456Z",
            "2026-11-19T22:33:44+05:30": "2026-11-19T17:03:44.000000Z",
            "2026-11-19T22:33:44-14:00": "2026-11-20T12:33:44.000000Z",
            "2024-02-29T00:00:00Z": "2024-02-29T00:00:00.000000Z",
            "1971-01-01T00:00:00+00:00": "1971-01-01T00:00:00.000000Z",
            "9999-12-31T23:59:59.9999999Z": "9999-12-31T23:59:59.999999Z",
        }
        self.assertEqual(self.times(list(times)), list(times.values()))

    def test_timestamp_that_is_no_time_gives_none_and_fails_no_query(self):
        days = ["2026-02-31T00:00:00Z", "2026-02-29T00:00:00Z", "2026-13-19T22:33:44Z", "2026-00-10T00:00:00Z", "2026-10-00T00:00:00Z"]
        clocks = ["2026-11-19T24:00:00Z", "2026-11-19T22:60:00Z", "2026-11-19T23:59:60Z", "2026-11-19T22:33:44.1234567890Z"]
        # Athena has no time zone with such an offset, and its parser fails in a way that TRY does not catch.
        offsets = ["2026-11-19T22:33:44+14:01", "2026-11-19T22:33:44-15:00", "2026-11-19T22:33:44+19:00", "2026-11-19T22:33:44+01:60"]
        # Without an offset, the time would depend on the session that asks.
        forms = ["2026-11-19T22:33:44", "2026-11-19", "yesterday", "infinity", "epoch", "", "2026-11-19T22:33:44Z\n", "2026-11-19T22:33:44+0100"]
        unset = ["0001-01-01T00:00:00Z", "0000-00-00T00:00:00Z", "1970-01-01T00:00:00Z", "1969-12-31T19:00:00-05:00"]
        other = [1795214024, 1.5, None, True, {"a": 1}, ["2026-11-19T22:33:44Z"]]
        for timestamps in (days, clocks, offsets, forms, unset, other):
            self.assertEqual(self.times(timestamps), [None] * len(timestamps), timestamps)

    def test_precision_and_offset_of_a_timestamp_do_not_change_the_order(self):
        in_order = ["2026-11-19T22:33:44Z", "2026-11-19T22:33:44.000001Z", "2026-11-20T00:33:44.1+02:00", "2026-11-19T22:33:44.12Z",
                    "2026-11-19T21:33:44.123-01:00", "2026-11-19T22:33:44.123001Z", "2026-11-19T22:33:45Z"]
        database = self.database([event(9 - number, data={"timestamp": time}) for number, time in enumerate(in_order)])
        # The time zone of the session is not that of the events.
        database.execute("SET TimeZone = 'America/New_York'")
        listed = database.execute("SELECT id FROM signals ORDER BY occurred_at").fetchall()
        self.assertEqual([int(id[18]) for (id,) in listed], [9 - number for number in range(len(in_order))])

    def test_of_signals_with_the_same_message_id_the_first_is_kept(self):
        message = {"messageId": "m-1", "timestamp": "2026-11-19T00:00:00Z"}
        events = [event(2, data=message), event(1, data=message), event(3, data=message, source="/accounts/other/signals"),
                  event(4), event(5), event(6, data={"messageId": "m-2"})]
        database = self.database(events + events[:2])
        found = database.execute("SELECT account, id FROM unique_signals ORDER BY id").fetchall()
        self.assertEqual([(account, id[18]) for account, id in found],
                         [("acme", "1"), ("other", "3"), ("acme", "4"), ("acme", "5"), ("acme", "6")])
        listed = database.execute(self.QUERIES["when events occurred"]).fetchall()
        self.assertEqual([(occurred_at, time[17:19]) for occurred_at, time, *_ in listed],
                         [("2026-11-19T00:00:00.000000Z", "01"), ("2026-11-19T00:00:00.000000Z", "03")])

    def test_message_id_belongs_to_a_type_and_a_subject(self):
        message = {"messageId": "m-1"}
        events = [event(1, data=message), event(2, data=message, type="login"), event(3, data=message, subject="d"), event(4, data=message)]
        found = self.database(events).execute("SELECT id FROM unique_signals ORDER BY id").fetchall()
        self.assertEqual([id[18] for (id,) in found], ["1", "2", "3"])

    def test_customer_that_comes_back_with_an_older_time_counts_as_deleted_until_an_update(self):
        def change(number: int, kind: str, time: str) -> dict:
            return event(number, source="/accounts/acme/customers", type=f"intake.customer.{kind}", time=f"2026-11-20T00:00:{time}Z")
        changes = [change(1, "created", "01.500"), change(2, "deleted", "01.000"), change(3, "created", "01.500")]
        for more, listed in (([], []), ([change(4, "updated", "02.000")], [("acme", "c")])):
            found = self.database(changes + more).execute("SELECT account, customer FROM customers").fetchall()
            self.assertEqual(found, listed)
        page = " ".join((PROJECT / "delivery" / "README.md").read_text().split())
        self.assertIn("To correct this, send an update of the customer.", page)

    def test_blank_message_id_is_none(self):
        blank = ["", " ", "\t\n", None, {}, [], {"a": 1}, [1]]
        events = [event(number, data={"messageId": message_id}) for message_id in blank for number in (1, 2)]
        for index, sent in enumerate(events):
            sent["id"] += str(index)
        # As if it named another signal of this customer.
        events.append(event(3, data={"messageId": events[0]["id"]}))
        database = self.database(events)
        self.assertEqual(database.execute("SELECT count(*) FROM unique_signals").fetchall(), [(len(events),)])
        self.assertEqual(database.execute("SELECT count(message_id) FROM signals").fetchall(), [(1,)])


if __name__ == "__main__":
    unittest.main()
