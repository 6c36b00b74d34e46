"""The process of aws_emulator.py: ministack, with corrections that its version in requirements.txt needs.

The names behind the underscores are private to ministack. They hold for the pinned version, and a test that needs them
fails at once where they do not.
"""

import os
import subprocess
import types

import aws_emulator_calls
import aws_emulator_lake
from ministack import app
from ministack.services import cloudwatch_logs, lambda_svc
from ministack.services.cloudformation import provisioners


def update_function(physical_id, _old, properties, stack_name, logical_id):
    """Changes a function and keeps its versions and aliases, as AWS does.

    ministack makes the function anew and forgets both, so an alias would lead nowhere after any update.
    """
    before = lambda_svc._functions[physical_id]
    made = provisioners._lambda_create(logical_id, properties, stack_name)
    for kept in ("aliases", "next_version", "policy", "versions"):
        lambda_svc._functions[physical_id][kept] = before[kept]
    return made


def create_metric_filter(logical_id, properties, stack_name):
    """Creates a metric filter, which ministack has, but not as a resource of a stack."""
    name = f"{stack_name}-{logical_id}"
    (transformation,) = properties["MetricTransformations"]
    cloudwatch_logs._put_metric_filter({
        "logGroupName": properties["LogGroupName"],
        "filterName": name,
        "filterPattern": properties["FilterPattern"],
        "metricTransformations": [{
            "metricNamespace": transformation["MetricNamespace"],
            "metricName": transformation["MetricName"],
            "metricValue": transformation["MetricValue"],
        }],
    })
    return name, {}


def delete_metric_filter(name, properties):
    cloudwatch_logs._delete_metric_filter({"logGroupName": properties["LogGroupName"], "filterName": name})


def create_alarm(logical_id, properties, stack_name):
    """Creates an alarm. ministack cannot calculate: of an alarm on several metrics, it gets the first one."""
    metrics = [query["MetricStat"] for query in properties.get("Metrics", []) if "MetricStat" in query]
    if metrics:
        first = {**metrics[0]["Metric"], "Statistic": metrics[0]["Stat"], "Period": metrics[0]["Period"]}
        properties = {name: value for name, value in properties.items() if name != "Metrics"} | first
    return provisioners._cw_metric_alarm_create(logical_id, properties, stack_name)


class LoggedProcess(subprocess.Popen):
    """A function's process. Its calls have its name.

    ministack reads and drops what it writes to standard output, so that is added to the file FUNCTIONS_LOG.
    """

    def __init__(self, *args, env, **kwargs):
        super().__init__(*args, env=env | {"AWS_SESSION_TOKEN": env["AWS_LAMBDA_FUNCTION_NAME"]}, **kwargs)

    def communicate(self, *args, **kwargs):
        output, errors = super().communicate(*args, **kwargs)
        with open(os.environ["FUNCTIONS_LOG"], "ab") as log:
            log.write(output or b"")
        return output, errors


provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"] |= {
    "update": update_function,
    "update_with_logical_id": True,
}
provisioners._RESOURCE_HANDLERS["AWS::CloudWatch::Alarm"] |= {"create": create_alarm}
provisioners._RESOURCE_HANDLERS["AWS::Logs::MetricFilter"] = {
    "create": create_metric_filter,
    "delete": delete_metric_filter,
}
lambda_svc.subprocess = types.SimpleNamespace(**{**vars(subprocess), "Popen": LoggedProcess})
aws_emulator_lake.add_resources_and_firehose()
app.app = aws_emulator_calls.recorded(app.app)

app.main()
