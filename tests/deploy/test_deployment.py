"""The deployed functions, used through the HTTP API and through the overflow queue."""

import json
import subprocess
import time
import unittest
import uuid

import deployed_stack
import template
from deployed_stack import STACK
from template import PROJECT

DAY_SECONDS = 86_400
# Lambda polls the queue, and on a busy machine the function takes seconds to start.
DRAIN_WITHIN_SECONDS = 60


class Deployment(deployed_stack.DeployedStack):
    def verify(self, *arguments: str, host: str | None = None) -> subprocess.CompletedProcess:
        """`cargo intake verify` with few signals, at the address that the emulator gives to the API."""
        # Without --yes it would describe a table, of which the emulator sends the value of a parameter as a string.
        return subprocess.run(
            ["cargo", "intake", "--stack", STACK, "verify", "--yes", "--signals", "600", "--json", "--base-url", self.emulator.url,
             "--host", host or self.host, *arguments],
            cwd=PROJECT, env=self.emulator.environment(), stdin=subprocess.DEVNULL, text=True, capture_output=True)

    def test_verify_holds_but_for_what_the_emulator_breaks_and_leaves_nothing(self):
        done = self.verify()
        self.assertTrue(done.stdout, f"{done.stderr[-3000:]}\n{self.emulator.own_log.read_text(errors='replace')[-3000:]}")
        report = json.loads(done.stdout)
        checks = {check["name"]: check for check in report["checks"]}
        failed = {name: check["detail"] for name, check in checks.items() if check["result"] == "failed"}
        # The emulator hands a gzip body over as text, which is no gzip any more, and answers OPTIONS without an Origin itself.
        by_emulator = {"gzip", "OPTIONS without a key"}
        # It may repeat an invocation whose process is slow to start: then the client gets the response of the second one, a replay.
        failed = {name: detail for name, detail in failed.items() if "expected false at /replayed" not in detail}
        self.maxDiff = None
        self.assertEqual({name: detail for name, detail in failed.items() if name not in by_emulator}, {})
        self.assertLessEqual(by_emulator, set(failed))
        self.assertEqual(done.returncode, 1, done.stderr[-3000:])
        held = [name for name, check in checks.items() if check["result"] == "held"]
        self.assertIn("Ping with a valid key", held)
        for table in ("Signals", "RejectedSignals", "Customers", "Idempotency"):
            items = self.aws("dynamodb").scan(TableName=self.outputs[f"{table}TableName"])["Items"]
            self.assertFalse([item for item in items if item["pk"]["S"].startswith(report["account"])], table)

    def test_pages_of_the_configured_origins_may_send_signals_and_others_may_not(self):
        def allowed(origin: str) -> tuple[str | None, ...]:
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
            _, headers, _ = self.api.call("OPTIONS", "/api/event-flows/signal", key="", more=asked)
            return headers.get("access-control-allow-origin"), headers.get("access-control-allow-methods")
        for origin in deployed_stack.ORIGINS:
            allowed_origin, methods = allowed(origin)
            self.assertEqual(allowed_origin, origin)
            self.assertIn("POST", methods)
        self.assertNotIn(allowed("https://another.invalid")[0], ("https://another.invalid", "*"))

    def test_verify_of_another_address_fails(self):
        done = self.verify(host="another.execute-api.localhost")
        self.assertEqual(done.returncode, 1, done.stdout[-3000:])
        self.assertTrue(done.stdout, done.stderr[-3000:])
        failed = [check["name"] for check in json.loads(done.stdout)["checks"] if check["result"] == "failed"]
        self.assertIn("Ping with a valid key", failed)

    def messages(self, queue: str) -> list[str]:
        """The bodies of the messages that this queue holds. They stay there."""
        url = self.outputs[f"{queue}Url"]
        received = self.aws("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return [message["Body"] for message in received.get("Messages", [])]

    def wait_until_drained(self):
        sqs, counts = self.aws("sqs"), ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        deadline = time.monotonic() + DRAIN_WITHIN_SECONDS
        while time.monotonic() < deadline:
            left = sqs.get_queue_attributes(QueueUrl=self.outputs["OverflowQueueUrl"], AttributeNames=counts)["Attributes"]
            if all(left[count] == "0" for count in counts):
                return
            time.sleep(0.2)
        self.fail(f"The overflow queue is not drained: {left}")

    def drain_messages(self) -> dict:
        """Sends the same message twice, and an unreadable one. Returns the first one."""
        (record,) = json.loads((PROJECT / "events" / "overflow" / "event.json").read_text())["Records"]
        sample = record["body"]
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate([sample, "unreadable", sample])]
        sent = self.aws("sqs").send_message_batch(QueueUrl=self.outputs["OverflowQueueUrl"], Entries=entries)
        self.assertEqual(len(sent["Successful"]), 3, sent)
        self.wait_until_drained()
        return json.loads(sample)

    def test_messages_of_the_overflow_queue_are_drained_and_an_unreadable_one_is_a_dead_letter(self):
        message = self.drain_messages()
        origin = f"{message['receivedAt']}#{message['requestIdentifier'].lower()}"
        # Once each, although the message came twice.
        event = self.item("Signals", customerId="c-overflow")
        self.assertEqual((event["pk"]["S"], event["sk"]["S"]), ("acme#c-overflow", f"{origin}#0000"))
        self.assertEqual(event["data"]["M"]["brand"], {"S": "\ufffe\"é"})
        step = self.item("Signals", emitterId="e-overflow")
        self.assertEqual((step["pk"]["S"], step["sk"]["S"]), ("acme#e-overflow", f"{origin}#0002"))
        record = self.item("Idempotency", pk=f"acme#{message['requestIdentifier'].lower()}")
        self.assertEqual((record["receivedAt"]["S"], record["bodyHash"]["S"]), (message["receivedAt"], message["bodyHash"]))
        # Twice when the emulator repeated the invocation.
        self.assertEqual(set(self.messages("OverflowDeadLetterQueue")), {"unreadable"})
        lines = [json.loads(line) for line in self.emulator.functions_log.read_text().splitlines() if line.startswith("{")]
        drained = [line["SignalsDrained"] for line in lines if "SignalsDrained" in line]
        self.assertEqual(drained, [2] * len(drained))
        self.assertGreaterEqual(len(drained), 2)

    def test_functions_call_what_the_simulation_of_iam_knows(self):
        customer = {"customerId": "c-wire", "customerData": {"city": "Oslo"}}
        self.assertEqual(self.api.call("POST", "/api/customers", customer)[0], 200)
        signals = [{"customerId": "c-wire", "eventType": "visit"}, {"customerId": "c-wire"}]
        batch = {"requestIdentifier": str(uuid.uuid4()), "signals": signals}
        self.assertEqual(self.api.call("POST", "/api/event-flows/signal", batch)[0], 200)
        self.drain_messages()
        self.assert_functions_call_what_the_simulation_of_iam_knows()

    def test_deployment_without_a_change_changes_nothing(self):
        self.assertIn("No changes to deploy", self.deploy())

    def test_changed_parameter_alone_reaches_the_functions(self):
        self.assertNotIn("expiresAt", self.send_signal())
        self.addCleanup(self.deploy)
        self.deploy(retention_days=7)
        item = self.send_signal()
        self.assertIn("expiresAt", item)
        self.assertAlmostEqual(int(item["expiresAt"]["N"]), time.time() + 7 * DAY_SECONDS, delta=600)

    def test_every_alarm_is_deployed_and_shown_and_it_and_the_dashboard_watch_what_is_deployed(self):
        cloudwatch = self.aws("cloudwatch")
        alarms = cloudwatch.describe_alarms()["MetricAlarms"]
        self.assertEqual(len(alarms), len(template.alarms()))
        (dashboard,) = cloudwatch.list_dashboards()["DashboardEntries"]
        self.assertTrue(self.outputs["DashboardUrl"].endswith("/" + dashboard["DashboardName"]))
        body = cloudwatch.get_dashboard(DashboardName=dashboard["DashboardName"])["DashboardBody"]
        self.assertNotIn("${", body)
        widgets = json.loads(body)["widgets"]
        self.assertEqual(sorted(widgets[0]["properties"]["alarms"]), sorted(alarm["AlarmArn"] for alarm in alarms))
        metrics = [metric for widget in widgets for metric in widget["properties"].get("metrics", []) if isinstance(metric[0], str)]
        watched = {metric[3] for metric in metrics if isinstance(metric[2], str)}
        watched |= {d["Value"] for alarm in alarms for d in alarm.get("Dimensions", [])}
        self.assertGreater(len(watched), 10)
        # CloudWatch knows a queue by its name, which ends its URL.
        self.assertLessEqual(watched, {physical.rsplit("/", 1)[-1] for physical in self.physical_ids().values()})

    def test_metric_filter_reads_the_access_log(self):
        found = self.aws("logs").describe_metric_filters()["metricFilters"]
        self.assertEqual({one["logGroupName"] for one in found}, {"/aws/vendedlogs/intake-dev/access"})
        transformations = [metric_filter["metricTransformations"][0] for metric_filter in found]
        metrics = {(made["metricNamespace"], made["metricName"]) for made in transformations}
        api = self.physical_ids()["HttpApi"]
        self.assertEqual(metrics, {("Intake", f"GatewayErrors-{api}"), ("Intake", f"GatewayThrottled-{api}")})

if __name__ == "__main__":
    unittest.main()
