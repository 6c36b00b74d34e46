"""What the alarms and the dashboard read, and what the access log writes.

Tests in Rust compare the alarms and the dashboard with the code of the functions: tests/integration/metrics.rs and alarms.rs.
"""

import fnmatch
import re
import subprocess
import sys
import unittest

import boto3

import template
from template import PROJECT, of_type


class Metrics(unittest.TestCase):
    """What reads the metrics is complete."""

    @classmethod
    def setUpClass(cls):
        cls.template = template.deployed()
        cls.monitoring = template.written("deploy/monitoring.yaml")
        cls.alarms = template.alarms()
        cls.widgets = template.widgets()

    def test_dashboard_shows_every_alarm(self):
        shown = {re.fullmatch(r"\$\{(\w+Alarm)\.?Arn\}", alarm).group(1)
                 for widget in self.widgets for alarm in widget["properties"].get("alarms", [])}
        self.assertEqual(shown, set(self.alarms))

    def test_console_has_an_address_in_every_partition(self):
        # Those of the secret regions have no public console.
        partitions = {name for name in boto3.Session().get_available_partitions() if not name.startswith("aws-iso")}
        self.assertIn("aws-eusc", partitions)
        self.assertEqual(set(self.monitoring["Mappings"]["Partitions"]), partitions)

    def test_the_nested_stack_gets_each_parameter_from_what_has_its_name(self):
        stack = self.template["Resources"]["Monitoring"]["Properties"]
        self.assertEqual(stack["TemplateURL"], "deploy/monitoring.yaml")
        named = {*self.template["Parameters"], *self.template["Resources"]}

        def source(name: str) -> dict:
            if name in named:
                return {"Ref": name}
            # A reference to a queue gives its URL, and CloudWatch wants its name.
            if name.endswith("Arn"):
                return {"Fn::GetAtt": [name.removesuffix("Arn"), "Arn"]}
            return {"Fn::GetAtt": [name.removesuffix("Name"), "QueueName"]}
        expected = {name: source(name) for name in self.monitoring["Parameters"]}
        self.assertEqual(stack["Parameters"], expected)
        self.assertLessEqual(template.references(expected), named)

    def test_what_loses_or_stops_something_pages_and_the_rest_is_a_ticket_without_an_end(self):
        def actions_for(kind: str) -> dict:
            return {"Fn::If": [f"Has{kind}Topic", [{"Ref": f"{kind}TopicArn"}], {"Ref": "AWS::NoValue"}]}
        pages = {"DefectsAlarm", "ServerErrorsAlarm", "QuietAlarm", "RejectedNotStoredAlarm",
                 # What waits or is set aside is deleted after 14 days.
                 "OutageAlarm", "OverflowAgeAlarm", "OverflowDrainFailuresAlarm", "OverflowDeadLettersAlarm", "OverflowRejectionsAlarm",
                 # Records leave a stream after a day.
                 "AgeAlarm", "BusNotInvokedAlarm", "LakeNotInvokedAlarm", "UndeliveredAlarm", "DataFreshnessAlarm"}
        for name, alarm in (self.alarms | template.delivery_alarms()).items():
            kind = "Page" if name in pages else "Ticket"
            self.assertEqual(alarm["Properties"]["AlarmActions"], actions_for(kind), name)
            self.assertEqual(alarm["Properties"].get("OKActions"), actions_for(kind) if name in pages else None, name)

    def test_calculated_alarm_uses_every_metric_that_it_reads_and_fills_none(self):
        expressions = 0
        for name, alarm in (template.alarms() | template.delivery_alarms()).items():
            queries = alarm["Properties"].get("Metrics", [])
            calculating = {query["Id"]: query["Expression"] for query in queries if "Expression" in query}
            read = [id for expression in calculating.values() for id in re.findall(r"\b[a-z]\w*", expression)]
            watched = [query["Id"] for query in queries if query.get("ReturnData", True)]
            if queries:
                self.assertEqual(len(watched), 1, name)
                self.assertEqual({*read, *watched}, {query["Id"] for query in queries}, name)
                # PutMetricAlarm in the CloudWatch API reference.
                self.assertLessEqual(len(queries) - len(calculating), 10, name)
            for expression in calculating.values():
                expressions += 1
                # The value that fills the latest period, before its metric arrives, must not decide alone (FILL in
                # "Using math expressions with CloudWatch metrics").
                properties = alarm["Properties"]
                deciding_periods = properties.get("DatapointsToAlarm", properties["EvaluationPeriods"])
                self.assertTrue("FILL" not in expression or deciding_periods >= 2, name)
        self.assertGreaterEqual(expressions, 5)

    def test_runbook_has_a_heading_for_each_alarm_and_the_page_on_cost_counts_them(self):
        runbook, cost = ((PROJECT / "docs" / page).read_text() for page in ("runbook.md", "operate.md"))
        headings = re.findall(r"^### (\w+Alarm)$", runbook, re.MULTILINE)
        self.assertEqual(sorted(headings), sorted(self.alarms))
        # The table has each with what it means, a command, and how long it may wait.
        rows = re.findall(r"^\| \[(\w+Alarm)\]\(#\w+\)(?: \| [^|]+){3} \|$", runbook, re.MULTILINE)
        self.assertEqual(rows, headings)
        # The page says that the first of them go to the topic that pages, and how many these are.
        paging = [name for name in headings if "PageTopicArn" in template.references(self.alarms[name])]
        self.assertEqual(paging, headings[:9])
        self.assertIn("The first nine go to `PageTopicArn`", runbook)
        always = [alarm for alarm in self.alarms.values() if "Condition" not in alarm]
        metrics = sum(len(template.watched(alarm)) for alarm in always)
        self.assertIn(f"without any traffic: {len(always)} alarms on {metrics} metrics at $0.10 (${metrics / 10:.2f})", cost)

    def test_bill_on_the_page_on_cost_adds_up(self):
        lines = (PROJECT / "docs" / "operate.md").read_text().splitlines()
        rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
        bill = rows[next(index for index, row in enumerate(rows) if row[0] == "dollars"):]
        bill = bill[:next(index for index, row in enumerate(bill) if row[0] == "total") + 1]
        # The alarms' metrics, the dashboard, the polling of the queue and 20 metrics of the functions.
        metrics = sum(len(template.watched(alarm)) for alarm in self.alarms.values() if "Condition" not in alarm)
        dollars = metrics * 0.10 + 3.00 + 0.26 + 20 * 0.30
        row_of_alarms = next(row for row in bill if row[0].startswith("alarms"))
        self.assertEqual({f"{dollars:.2f}"}, set(row_of_alarms[1:]))
        for column in range(1, 5):
            *parts, total = [float(row[column] or 0) for row in bill[1:]]
            self.assertAlmostEqual(sum(parts), total, 2, bill[0][column])

    def test_figures_of_the_readme_and_the_page_on_cost_are_those_that_the_program_prints(self):
        page, readme = ((PROJECT / name).read_text() for name in ("docs/operate.md", "README.md"))
        program = PROJECT / "docs" / "examples" / "costs.py"
        printed = subprocess.run([sys.executable, program], check=True, capture_output=True, text=True).stdout
        rows = "".join(line for line in printed.splitlines(keepends=True) if line.startswith("|"))
        self.assertEqual(rows.count("\n"), 6)
        self.assertIn(f"|---|---|---|---|---|\n{rows}\n", page)
        figures = re.findall(r"\$\d+(?:,\d{3})*(?:\.\d\d)?", printed)
        self.assertEqual(len(figures), 14)
        for figure in figures:
            self.assertIn(figure, page)
        # The README has two of them.
        readme = " ".join(readme.split())
        self.assertIn(re.search(r"a million signals, sent 25 in a request, cost (\$\S+)", readme).group(1), figures)
        without_traffic = re.search(r"A month costs (\$\d+) without traffic", readme).group(1)
        self.assertIn(f"a month costs {without_traffic}.", page)


def calculated(alarm: dict, **sums: float) -> float:
    """What the expressions of an alarm make of the metrics' values in one period."""
    expressions = [query for query in alarm["Properties"]["Metrics"] if "Expression" in query]
    functions = {"IF": lambda condition, yes, no: yes if condition else no,
                 "SUM": lambda values: sum(value or 0 for value in values)}
    values = dict(sums)
    # The one that the alarm watches reads the others.
    for query in sorted(expressions, key=lambda query: query.get("ReturnData", True)):
        as_python = re.sub(r"\b(AND|OR)\b", lambda operator: operator[0].lower(), query["Expression"])
        values[query["Id"]] = eval(as_python, {"__builtins__": {}}, functions | values)
    return values[query["Id"]]


def requests_of_a_period() -> float:
    """The requests of the bill in docs/operate.md that come in the five minutes of an alarm's period."""
    millions = int(re.search(r"`requestIdentifier`: (\d+) million requests", (PROJECT / "docs" / "operate.md").read_text()).group(1))
    return millions * 1_000_000 / (30 * 24 * 60 / 5)


class Alarms(unittest.TestCase):
    """Whether an alarm fires when it is to."""

    @classmethod
    def setUpClass(cls):
        cls.alarms = template.alarms()
        cls.delivery = template.delivery_alarms()

    def test_server_errors_page_for_a_rate_and_a_few_are_a_ticket(self):
        for errors, requests, pages in ((1, 230, False), (2, 2, False), (3, 3, True), (4, 5, False), (5, 230, True),
                                        (5, 501, False), (40, 3_000, True), (5, 5, True)):
            rate = calculated(self.alarms["ServerErrorsAlarm"], errors=errors, requests=requests)
            self.assertEqual(rate > 0, pages, (errors, requests))
        self.assertEqual(calculated(self.alarms["FailedRequestsAlarm"], errors=1, throttled=None), 1)

    def test_deployment_is_rolled_back_for_one_defect_and_for_three_requests_without_access_in_a_minute(self):
        alarm = self.alarms["DefectsAlarm"]
        # In a minute that had no request of one kind, its metric has no value.
        none = {query["Id"]: None for query in alarm["Properties"]["Metrics"] if "MetricStat" in query}
        self.assertEqual({query["MetricStat"]["Period"] for query in alarm["Properties"]["Metrics"] if "MetricStat" in query}, {60})
        self.assertEqual(calculated(alarm, **none), 0)
        for function in ("customers", "signals"):
            for defect in ("Errors", "Defects", "InvalidCalls"):
                self.assertEqual(calculated(alarm, **none | {f"{function}{defect}": 1}), 1, defect)
            for requests, fires in ((2, False), (3, True)):
                self.assertEqual(calculated(alarm, **none | {f"{function}AccessErrors": requests}) >= 1, fires, requests)
        self.assertEqual(calculated(alarm, **none | {"customersAccessErrors": 1, "signalsAccessErrors": 2}), 1)

    def test_requests_without_a_key_do_not_page_when_they_are_throttled(self):
        reading = {name: alarm for name, alarm in self.alarms.items() if "GatewayThrottled" in str(template.watched(alarm))}
        self.assertTrue(reading)
        for name, alarm in reading.items():
            self.assertNotIn("PageTopicArn", template.references(alarm), name)

    def test_latency_is_evaluated_at_the_load_of_the_page_on_cost(self):
        latency = self.alarms["LatencyAlarm"]["Properties"]
        percentile = float(latency["ExtendedStatistic"].removeprefix("p"))
        # "Percentile-based CloudWatch alarms and low data samples" in the CloudWatch user guide.
        needed = 10 / (1 - percentile / 100) if latency.get("EvaluateLowSampleCountPercentile") == "ignore" else 1
        self.assertLess(needed, requests_of_a_period())

    def test_messages_that_are_not_received_and_a_throttled_function_page(self):
        age = self.alarms["OverflowAgeAlarm"]["Properties"]
        self.assertEqual((age["MetricName"], age["Dimensions"][0]["Value"]), ("ApproximateAgeOfOldestMessage", {"Ref": "OverflowQueueName"}))
        # Longer than three receives take, after which SQS leaves a message out: of failed drains, the other alarm speaks.
        queue = template.deployed()["Resources"]["OverflowQueue"]["Properties"]
        self.assertGreater(age["Threshold"], 3 * queue["VisibilityTimeout"])
        for one in ("messages", "crashes", "throttles"):
            sums = {"messages": None, "crashes": None, "throttles": None} | {one: 1}
            self.assertEqual(calculated(self.alarms["OverflowDrainFailuresAlarm"], **sums), 1)

    def test_delivery_that_is_not_invoked_while_something_is_accepted_pages_after_half_an_hour(self):
        for target in ("Bus", "Lake"):
            alarm = self.delivery[f"{target}NotInvokedAlarm"]
            for accepted in ("signals", "created", "updated"):
                for count, invocations, is_unread in ((9, None, 1), (9, 0, 1), (9, 1, 0), (0, None, 0), (None, None, 0), (None, 3, 0)):
                    sums = {"signals": None, "created": None, "updated": None, accepted: count, "invocations": invocations}
                    self.assertEqual(calculated(alarm, **sums), is_unread, (target, sums))
            periods = {query["MetricStat"]["Period"] for query in alarm["Properties"]["Metrics"] if "MetricStat" in query}
            self.assertEqual({period * alarm["Properties"]["EvaluationPeriods"] for period in periods}, {30 * 60})
            # Of its own metrics, Intake knows what an erasure or an identical write is: DynamoDB's write units count both.
            self.assertEqual({metric["Namespace"] for metric in template.watched(alarm)}, {"Intake", "AWS/Lambda"})

    def test_new_alarm_that_the_past_would_set_off_waits_until_the_past_is_behind_it(self):
        waiting = {name: alarm["Properties"]["WarmUpConfiguration"] for name, alarm in (self.alarms | self.delivery).items()
                   if "WarmUpConfiguration" in alarm["Properties"]}
        # Data of before would end a wait that does not last until its end ("Alarm warm-up periods" in the CloudWatch user guide).
        for name, settings in waiting.items():
            self.assertIs(settings["OnlyStartEvaluatingAfterWarmUpPeriodEnds"], True, name)
        minutes = {name: settings["WarmUpPeriodDurationInMinutes"] for name, settings in waiting.items()}
        self.assertEqual(minutes, {
            "BusNotInvokedAlarm": 60, "LakeNotInvokedAlarm": 60,
            "AgeAlarm": 6 * 60,
            # All minutes that it judges.
            "QuietAlarm": self.alarms["QuietAlarm"]["Properties"]["EvaluationPeriods"]})
        self.assertEqual(self.alarms["QuietAlarm"]["Properties"]["Period"], 60)


def access_log_line() -> str:
    """The format of the access log."""
    (stage,) = of_type(template.deployed(), "AWS::ApiGatewayV2::Stage").values()
    return stage["Properties"]["AccessLogSettings"]["Format"]


def matches(pattern: str, line: str) -> bool:
    """Whether CloudWatch would count `line` ("Filter pattern syntax" in the CloudWatch Logs user guide, space-delimited events)."""
    values = [value.strip('"') for value in re.findall(r'"[^"]*"|\S+', line)]

    def term(value: str, operator: str, wanted: str) -> bool:
        if wanted.startswith("%"):
            found = re.search(wanted.strip("%"), value) is not None
        else:
            found = fnmatch.fnmatchcase(value, wanted.strip('"'))
        return found == (operator == "=")

    *fields, rest = re.split(r",\s+", pattern.strip("[]"))
    assert rest == "..." and len(fields) <= len(values)
    return all(any(all(term(value, *re.search(r"(!?=) (.+)", one).groups()) for one in either.split(" && "))
                   for either in field.split(" || "))
               for field, value in zip(fields, values) if "=" in field)


class AccessLog(unittest.TestCase):
    def test_access_log_line_begins_with_both_request_ids(self):
        self.assertTrue(access_log_line().startswith("$context.requestId/$context.awsEndpointRequestId "))

    def test_metric_filters_count_once_what_api_gateway_answered_by_itself(self):
        filters = of_type(template.written("deploy/monitoring.yaml"), "AWS::Logs::MetricFilter").values()
        for status, function_status, path, is_counted in [
            ("429", "-", "/api/customers", True),
            ("413", "-", "/api/event-flows/signal", True),
            ("503", "", "/api/event-flows/signal", True),
            # The function crashed: Lambda's invocation has the status 200, the function has none.
            ("500", "-", "/api/event-flows/signal", True),
            ("404", "-", "/api/customers/", True),
            ("404", "", "/api/event-flows", True),
            ("404", "-", "/api/sdk/pong", True),
            ("404", "-", "/.env", False),
            ("204", "-", "/api/customers", False),
            ("401", "401", "/api/customers", False),
            ("404", "404", "/api/customers", False),
            ("503", "503", "/api/customers", False),
        ]:
            values = {"status": status, "integration.status": function_status, "path": path, "identity.userAgent": 'a 429/- "b'}
            line = re.sub(r"\$context\.([\w.]+)", lambda variable: values.get(variable.group(1), "-"), access_log_line())
            matching = [metric_filter["Properties"] for metric_filter in filters
                        if matches(metric_filter["Properties"]["FilterPattern"], line)]
            counted = [properties["MetricTransformations"][0]["MetricName"]["Fn::Sub"] for properties in matching]
            name = "GatewayThrottled" if status == "429" else "GatewayErrors"
            self.assertEqual(counted, [f"{name}-${{HttpApi}}"] if is_counted else [], line)

    def test_metric_filters_and_the_dashboard_read_the_values_in_their_order(self):
        written = ["id", "functionId", "status", "functionStatus", "latency", "ip", "method", "path", "error"]
        variables = re.findall(r"\$context\.([\w.]+)", access_log_line())
        self.assertEqual(variables[:9], ["requestId", "awsEndpointRequestId", "status", "integration.status", "responseLatency",
                                         "identity.sourceIp", "httpMethod", "path", "error.message"])
        (query,) = (widget["properties"]["query"] for widget in template.widgets() if "AccessLogGroup" in str(widget))
        glob, names = re.search(r"parse @message '(.+)' as ([\w, ]+) \|", query).groups()
        self.assertEqual(names.split(", "), written)
        self.assertTrue(re.sub(r"\$context\.[\w.]+", "*", access_log_line()).startswith(glob))
        for metric_filter in of_type(template.written("deploy/monitoring.yaml"), "AWS::Logs::MetricFilter").values():
            *terms, _ = re.split(r",\s+", metric_filter["Properties"]["FilterPattern"].strip("["))
            fields = [term.split(" ")[0] for term in terms]
            self.assertEqual(fields, ["ids", "status", "latency", "ip", "method", "path"][:len(fields)])


if __name__ == "__main__":
    unittest.main()
