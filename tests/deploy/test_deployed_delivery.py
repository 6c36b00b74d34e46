"""The delivery, deployed beside the service.

Signals that are sent to the API are read from S3 with DuckDB and from a rule of the bus.

What the emulator cannot show: it takes every batch of a DynamoDB stream as delivered unless the invocation ends in an
error (no ReportBatchItemFailures, no bisecting, no on-failure destination in S3), writes each record of Firehose as an
object at once, and has no alarms on these metrics. tests/integration tries the first with the function alone.
"""

import json
import re
import tempfile
import time
import unittest
import uuid
from collections import Counter
from pathlib import Path

import duckdb

import deployed_stack
import template
from deployed_stack import STACK
from template import PROJECT

DELIVERY = f"{STACK}-delivery"
HOME = PROJECT / "delivery"
# The parts of queries.sql by their names.
QUERIES = dict(part.split("\n", 1) for part in (HOME / "queries.sql").read_text().split("\n----- ")[1:])
# The emulator polls the streams, and on a busy machine a function takes seconds to start.
DELIVER_WITHIN_SECONDS = 90


class DeployedDelivery(deployed_stack.DeployedStack):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deploy_delivery()
        cls.delivery = cls.describe_outputs(DELIVERY)
        cls.queue_url = cls.make_rule()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    @classmethod
    def deploy_delivery(cls, **parameters: str):
        read = {name: cls.outputs[name] for table in ("Signals", "Customers") for name in (f"{table}StreamArn", f"{table}FunctionName")}
        overrides = read | {"PermissionsBoundaryArn": deployed_stack.BOUNDARY} | parameters
        assignments = [f"{name}={value}" for name, value in overrides.items()]
        cls.sam("deploy", "--parameter-overrides", *assignments, folder="delivery")

    @classmethod
    def make_rule(cls) -> str:
        """A queue that gets what is on the bus, as another team makes one."""
        sqs, events = cls.aws("sqs"), cls.aws("events")
        url = sqs.create_queue(QueueName="consumer")["QueueUrl"]
        queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        events.put_rule(Name="everything", EventBusName=cls.delivery["EventBusName"], EventPattern='{"source": ["intake"]}')
        targets = [{"Id": "queue", "Arn": queue}]
        events.put_targets(Rule="everything", EventBusName=cls.delivery["EventBusName"], Targets=targets)
        cls.received = {}
        return url

    def send(self, *signals: dict) -> str:
        """Sends the signals in one request, and returns its identifier."""
        request = {"requestIdentifier": str(uuid.uuid4()), "signals": list(signals)}
        status, _, body = self.api.call("POST", "/api/event-flows/signal", request)
        self.assertEqual((status, body["accepted"]), (200, len(signals)), body)
        return request["requestIdentifier"]

    def update_customer(self, customer: str, **profile: str):
        status, _, body = self.api.call("POST", "/api/customers", {"customerId": customer, "customerData": profile})
        self.assertEqual(status, 200, body)

    def lake(self) -> list[dict]:
        """The events in the lake, as DuckDB reads them: without duplicates, and in the order of time and id."""
        self.download()
        if not list(self.folder.rglob("*.gz")):
            return []
        lines = duckdb.sql(f"SELECT json FROM read_ndjson_objects('{self.folder}/events/*/*.gz')").fetchall()
        events = {(event["source"], event["id"]): event for event in (json.loads(line, parse_float=str) for (line,) in lines)}
        return sorted(events.values(), key=lambda event: (event["time"], event["id"]))

    def download(self):
        s3 = self.aws("s3")
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=self.delivery["LakeBucketName"]):
            for found in page.get("Contents", []):
                self.assertRegex(found["Key"], r"^events/dt=\d{4}-\d\d-\d\d/[\w.-]+\.gz$")
                target = self.folder / found["Key"]
                target.parent.mkdir(parents=True, exist_ok=True)
                s3.download_file(self.delivery["LakeBucketName"], found["Key"], str(target))

    def bus(self) -> list[dict]:
        """What the rule has sent to the queue so far, without duplicates."""
        sqs = self.aws("sqs")
        while messages := sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                event = json.loads(message["Body"], parse_float=str)
                self.received[event["detail"]["source"], event["detail"]["id"]] = event
                sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
        return list(self.received.values())

    def failures(self) -> list[dict]:
        s3, bucket = self.aws("s3"), self.delivery["FailureBucketName"]
        keys = [found["Key"] for found in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
        return [{"key": key} | json.load(s3.get_object(Bucket=bucket, Key=key)["Body"]) for key in keys]

    def wait_for(self, read, wanted: int) -> list[dict]:
        """What `read` returns once it has as many as wanted, or more."""
        deadline = time.monotonic() + DELIVER_WITHIN_SECONDS
        while time.monotonic() < deadline:
            found = read()
            if len(found) >= wanted:
                return found
            time.sleep(0.5)
        self.fail(f"Wanted {wanted}, got {found}\n{self.emulator.own_log.read_text(errors='replace')[-3000:]}")

    def in_lake(self, request: str) -> list[dict]:
        return [event for event in self.lake() if request in event["id"]]

    def on_bus(self, request: str) -> list[dict]:
        return [event for event in self.bus() if request in event["detail"]["id"]]

    def database(self) -> duckdb.DuckDBPyConnection:
        """A database with the views of delivery/queries.sql, over the lake."""
        self.download()
        connection = duckdb.connect()
        connection.execute(QUERIES["duckdb"].replace("s3://LAKE_BUCKET", str(self.folder)))
        connection.execute(QUERIES["views"])
        return connection

    def test_signals_are_in_the_lake_and_on_the_bus_as_they_were_sent(self):
        event = {"customerId": str(uuid.uuid4()), "eventType": "purchase", "sessionId": "s-9",
                 "data": {"price": 12.5, "Brand": "é\U0001f980"}}
        step = {"emitterId": str(uuid.uuid4()), "stepNodeId": "n1", "data": {}, "eventflowIdentifier": str(uuid.uuid4())}
        request = self.send(event, step)
        stored = self.item("Signals", customerId=event["customerId"])
        delivered = self.wait_for(lambda: self.in_lake(request), 2)
        event["data"]["price"] = "12.5"
        self.assertEqual(delivered[0], {
            "specversion": "1.0", "id": f"{stored['receivedAt']['S']}#{request}#0000", "source": "/accounts/acme/signals",
            "type": "purchase", "subject": event["customerId"], "time": stored["receivedAt"]["S"],
            "datacontenttype": "application/json", "data": event})
        self.assertEqual((delivered[1]["type"], delivered[1]["subject"], delivered[1]["data"]), ("n1", step["emitterId"], step))
        sent = self.wait_for(lambda: self.on_bus(request), 2)
        self.assertEqual([(one["source"], one["detail-type"], one["detail"]) for one in sorted(sent, key=lambda one: one["detail"]["id"])],
                         [("intake", "signal", detail) for detail in delivered])

    def test_integer_beyond_64_bits_is_whole_in_the_lake_not_on_the_bus(self):
        price = 12345678901234567890123456789012345678
        request = self.send({"customerId": str(uuid.uuid4()), "eventType": "large", "data": {"price": price}})
        (whole,) = self.wait_for(lambda: self.in_lake(request), 1)
        self.assertEqual(whole["data"]["data"], {"price": price})
        (reference,) = self.wait_for(lambda: self.on_bus(request), 1)
        attributes = {name: whole[name] for name in ("specversion", "id", "source", "type", "subject", "time")}
        self.assertEqual(reference["detail"], attributes | {"dataref": "urn:intake:lake"})

    def test_customer_changes_carry_both_profiles_and_a_deletion_only_the_id(self):
        customer = str(uuid.uuid4())
        self.update_customer(customer, email="a@example.com")
        self.update_customer(customer, city="Paris")
        # Without the command, which waits until SQS has counted every message: the stream has the same record.
        key = {"pk": {"S": f"acme#{customer}"}}
        self.aws("dynamodb").delete_item(TableName=self.outputs["CustomersTableName"], Key=key)
        for read in (self.lake, lambda: [event["detail"] for event in self.bus() if event["detail-type"] == "customer"]):
            def changes() -> list[dict]:
                """The changes of this customer, once each kind is among them."""
                found = [event for event in read() if event["subject"] == customer]
                return found if len({event["type"] for event in found}) == 3 else []
            found = sorted(self.wait_for(changes, 3), key=lambda event: event["type"])
            # On a busy machine an update may be given up and repeated, and the second is a change, too.
            created, updated = found[0], [event for event in found if "city" in event.get("data", {}).get("new", {})][0]
            (deleted,) = [event for event in found if event["type"] == "intake.customer.deleted"]
            self.assertEqual((created["type"], created["data"]), ("intake.customer.created", {"new": {"email": "a@example.com"}}))
            self.assertEqual(updated["type"], "intake.customer.updated")
            self.assertEqual(updated["data"], {"old": {"email": "a@example.com"}, "new": {"email": "a@example.com", "city": "Paris"}})
            self.assertEqual(set(deleted), {"specversion", "id", "source", "type", "subject", "time"})
            self.assertEqual(deleted["source"], "/accounts/acme/customers")

    def test_queries_of_the_page_answer_what_they_say(self):
        # The customer that the page names.
        customer, other = "c-1001", str(uuid.uuid4())
        self.update_customer(customer, email="ada@example.com")
        for event_type, price in (("product_viewed", 49.9), ("added_to_cart", 49.9), ("purchase", 45)):
            request = self.send({"customerId": customer, "eventType": event_type, "data": {"price": price}})
            # One after the other: a millisecond apart at least.
            self.wait_for(lambda: self.in_lake(request), 1)
        request = self.send({"customerId": other, "eventType": "product_viewed"})
        self.wait_for(lambda: self.in_lake(request), 1)
        self.wait_for(lambda: [event for event in self.lake()
                               if event["subject"] == customer and event["source"].endswith("customers")], 1)
        # Delivered twice.
        for path in list(self.folder.rglob("*.gz")):
            path.with_name(f"again-{path.name}").write_bytes(path.read_bytes())
        self.addCleanup(lambda: [path.unlink() for path in self.folder.rglob("again-*")])
        database = self.database()
        counts = Counter()
        for day, event_type, signals in database.execute(QUERIES["events a day by type"]).fetchall():
            self.assertRegex(day, r"^\d{4}-\d\d-\d\d$")
            counts[event_type] += signals
        self.assertEqual((counts["product_viewed"], counts["added_to_cart"]), (2, 1))
        self.assertEqual(database.execute(QUERIES["a funnel"]).fetchall(), [(2, 1, 1)])
        history = database.execute(QUERIES["the history of one customer"]).fetchall()
        self.assertEqual([(type, price) for _, type, price, _ in history],
                         [("product_viewed", "49.9"), ("added_to_cart", "49.9"), ("purchase", "45")])
        without = {customer for _, customer, _ in database.execute(QUERIES["signals without a profile"]).fetchall()}
        self.assertIn(other, without)
        self.assertNotIn(customer, without)

    def test_backfill_writes_the_events_that_were_delivered(self):
        customer = str(uuid.uuid4())
        request = self.send({"customerId": customer, "eventType": "purchase", "sessionId": "s",
                             "data": {"price": 12.5, "tags": ["a", None, True, {"n": 10**37}]}})
        self.update_customer(customer, email="a@example.com")
        delivered = self.wait_for(lambda: self.in_lake(request), 1)
        self.run_command("cargo", "intake", "--stack", STACK, "lake", "backfill")
        self.download()
        lines = duckdb.sql(f"SELECT json FROM read_ndjson_objects('{self.folder}/events/*/backfill-*.gz')").fetchall()
        events = [json.loads(line, parse_float=str) for (line,) in lines]
        self.assertEqual([event for event in events if request in event["id"]], delivered)
        (profile,) = [event for event in events if event["source"].endswith("/customers") and event["subject"] == customer]
        self.assertEqual(profile["data"], {"new": {"email": "a@example.com"}})

    def test_events_of_an_erased_customer_are_gone_from_the_lake_and_those_of_another_are_not(self):
        customer, other = str(uuid.uuid4()), str(uuid.uuid4())
        request = self.send(*({"customerId": one, "eventType": "purchase"} for one in (customer, other, customer)))
        self.wait_for(lambda: self.in_lake(request), 3)
        printed = self.run_command("cargo", "intake", "--stack", STACK, "lake", "erase", "customer", "--account", "acme",
                                   f"--id={customer}", "--yes", "--json")
        self.assertGreaterEqual(json.loads(printed.splitlines()[-1])["events"], 2)
        self.assertEqual([event["subject"] for event in self.in_lake(request)], [other])

    def test_record_that_cannot_be_read_is_kept_with_its_reason_and_the_next_is_delivered(self):
        customer = str(uuid.uuid4())
        key = {"pk": {"S": f"acme#{customer}"}, "sk": {"S": "no signal"}}
        self.aws("dynamodb").put_item(TableName=self.outputs["SignalsTableName"], Item=key)
        self.addCleanup(self.aws("dynamodb").delete_item, TableName=self.outputs["SignalsTableName"], Key=key)
        request = self.send({"customerId": customer, "eventType": "purchase"})
        self.wait_for(lambda: self.in_lake(request), 1)
        self.wait_for(lambda: self.on_bus(request), 1)
        (unreadable,) = self.wait_for(lambda: [one for one in self.failures() if one["record"]["dynamodb"]["Keys"] == key], 1)
        self.assertTrue(unreadable["reason"])
        self.assertRegex(unreadable["key"], r"^unreadable/\d{4}/\d\d/\d\d/.+\.json$")

    def test_filter_of_the_bus_leaves_the_lake_complete(self):
        self.addCleanup(self.deploy_delivery, BusFilter='"{\\"eventName\\":[\\"INSERT\\"]}"')
        self.deploy_delivery(**self.parameter_of_the_page())
        request = self.send(*({"customerId": "c-filter", "eventType": one} for one in ("purchase", "product_seen", "checkout")))
        self.assertEqual(Counter(event["type"] for event in self.wait_for(lambda: self.in_lake(request), 3)),
                         {"purchase": 1, "product_seen": 1, "checkout": 1})
        sent = self.wait_for(lambda: self.on_bus(request), 2)
        self.assertEqual(sorted(event["detail"]["type"] for event in sent), ["checkout", "purchase"])

    def parameter_of_the_page(self) -> dict[str, str]:
        """The parameter in delivery/README.md, as it stands on the command line."""
        page = (HOME / "README.md").read_text()
        (text,) = re.findall(r"^  '(BusFilter=.*)'$", page, re.MULTILINE)
        name, value = text.split("=", 1)
        return {name: value}

    def test_functions_call_what_the_simulation_of_iam_knows(self):
        request = self.send({"customerId": "c-wire", "eventType": "visit"})
        self.wait_for(lambda: self.in_lake(request), 1)
        self.wait_for(lambda: self.on_bus(request), 1)
        self.assert_functions_call_what_the_simulation_of_iam_knows(DELIVERY)

    def test_table_and_alarms_are_deployed_and_watch_what_is_deployed(self):
        database, name = self.delivery["LakeTable"].split(".")
        table = self.aws("glue").get_table(DatabaseName=database, Name=name)["Table"]
        self.assertEqual(database, "intake_dev_delivery")
        self.assertEqual(table["StorageDescriptor"]["Location"], f"s3://{self.delivery['LakeBucketName']}/events/")
        columns = {column["Name"] for column in table["StorageDescriptor"]["Columns"]}
        request = self.send({"customerId": str(uuid.uuid4()), "eventType": "purchase"})
        (event,) = self.wait_for(lambda: self.in_lake(request), 1)
        self.assertEqual(set(event), columns)
        resources = self.aws("cloudformation").list_stack_resources(StackName=DELIVERY)["StackResourceSummaries"]
        physical = {resource["PhysicalResourceId"] for resource in resources}
        alarms = [alarm for alarm in self.aws("cloudwatch").describe_alarms()["MetricAlarms"] if alarm["AlarmName"] in physical]
        written = template.written("delivery/template.yaml")
        self.assertEqual(len(alarms), len(template.of_type(written, "AWS::CloudWatch::Alarm")))
        watched = {dimension["Value"] for alarm in alarms for dimension in alarm["Dimensions"]} - {"AllStorageTypes"}
        # The alarms about functions that are not invoked also watch those that accept.
        accepting = {self.outputs[f"{table}FunctionName"] for table in ("Signals", "Customers")}
        self.assertLessEqual(watched, physical | accepting)


if __name__ == "__main__":
    unittest.main()
