"""template.yaml and the templates nested in it as data: as written, and as the SAM transform makes CloudFormation of it."""

import copy
import functools
import json
import logging
import os
import re
from pathlib import Path
from types import SimpleNamespace

# The transform asks boto3 for a region; that it has one is all that matters here.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samcli.yamlhelper import yaml_parse
from samtranslator.translator.transform import transform

# It remarks on its own internals at every use.
logging.getLogger("samtranslator").setLevel(logging.CRITICAL)

PROJECT = Path(__file__).resolve().parent.parent.parent


def written(name: str | Path = "template.yaml") -> dict:
    """The template as it is written, with the long forms of its functions."""
    return plain(yaml_parse((PROJECT / name).read_text()))


def alarms() -> dict:
    """The alarms of template.yaml and of deploy/monitoring.yaml, which has no transform, by logical id."""
    return {name: alarm for file in (deployed(), written("deploy/monitoring.yaml"))
            for name, alarm in of_type(file, "AWS::CloudWatch::Alarm").items()}


def delivery_alarms() -> dict:
    """The alarms of delivery/template.yaml, by logical id."""
    return of_type(deployed("delivery/template.yaml"), "AWS::CloudWatch::Alarm")


def watched(alarm: dict) -> list[dict]:
    """The metrics that an alarm reads."""
    queries = alarm["Properties"].get("Metrics", [])
    return [query["MetricStat"]["Metric"] for query in queries if "MetricStat" in query] or [alarm["Properties"]]


def widgets() -> list[dict]:
    """The widgets of the dashboard with every alarm that a parameter can add, and with its references unresolved."""
    dashboard = written("deploy/monitoring.yaml")["Resources"]["Dashboard"]
    text, conditional = dashboard["Properties"]["DashboardBody"]["Fn::Sub"]
    for name, value in conditional.items():
        text = text.replace("${" + name + "}", value["Fn::If"][1]["Fn::Sub"])
    return json.loads(text)["widgets"]


def processed(template: dict, **parameters: str) -> dict:
    """What CloudFormation gets of `template` when it is deployed with these parameters."""
    template = copy.deepcopy(template)
    for function in of_type(template, "AWS::Serverless::Function").values():
        # A deployment packs the folder; the transform wants the package.
        code = function["Properties"]["CodeUri"]
        if isinstance(code, str) and not code.startswith("s3:"):
            function["Properties"]["CodeUri"] = f"s3://bucket/{code}"
    no_managed_policies = SimpleNamespace(load=dict)
    return plain(transform(template, parameters, no_managed_policies))


@functools.cache
def deployed(name: str = "template.yaml") -> dict:
    """What CloudFormation gets of the template where every option is on that adds resources."""
    return processed(written(name), GradualDeployment="true")


def of_type(template: dict, kind: str) -> dict:
    """The resources of one type, by logical id."""
    return {name: resource for name, resource in template["Resources"].items() if resource["Type"] == kind}


def statements(template: dict, role: str) -> list[dict]:
    """The statements of a role, those under a condition included."""
    policies = [*template["Resources"][role]["Properties"]["Policies"]]
    policies += [policy["Properties"] for policy in of_type(template, "AWS::IAM::Policy").values()
                 if {"Ref": role} in policy["Properties"]["Roles"]]
    found = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
    return [statement["Fn::If"][1] if "Fn::If" in statement else statement for statement in found]


def as_list(value) -> list:
    """The value of an element of a statement that can be one thing or a list."""
    return value if isinstance(value, list) else [value]


def actions(statement: dict) -> list[str]:
    return as_list(statement["Action"])


def routes(processed_template: dict) -> list[tuple[str, str, str]]:
    """The HTTP API's routes: method, path, and the logical id of the alias that serves it."""
    (api,) = of_type(processed_template, "AWS::ApiGatewayV2::Api").values()
    found = []
    for path, methods in api["Properties"]["Body"]["paths"].items():
        for method, operation in methods.items():
            method = "ANY" if method == "x-amazon-apigateway-any-method" else method.upper()
            uri = json.dumps(operation["x-amazon-apigateway-integration"]["uri"])
            found.append((method, path, re.search(r"functions/\$\{(\w+)\}/invocations", uri).group(1)))
    return found


def cors(processed_template: dict) -> dict:
    """The HTTP API's CORS configuration where CorsOrigins is given, as a call to make it so has it."""
    (api,) = of_type(processed_template, "AWS::ApiGatewayV2::Api").values()
    _, declared, _ = api["Properties"]["Body"]["x-amazon-apigateway-cors"]["Fn::If"]
    return {name[0].upper() + name[1:]: evaluated(value) for name, value in declared.items()}


def evaluated(value):
    """A value of the CORS configuration: the transform has replaced the references, and CorsHeaders, which is not given, is empty."""
    match value:
        case {"Fn::Split": [separator, text]}:
            return evaluated(text).split(separator)
        case {"Fn::Join": [separator, texts]}:
            return separator.join(map(evaluated, texts))
        case {"Fn::If": [_, _, otherwise]}:
            return evaluated(otherwise)
    return value


def references(value) -> set[str]:
    """Every name that `value` refers to by Ref, GetAtt, Sub or a condition's name."""
    if isinstance(value, list):
        return set().union(*map(references, value))
    if not isinstance(value, dict):
        return set()
    found = set()
    for key, inner in value.items():
        if key == "Ref":
            found.add(inner)
        elif key == "Fn::Sub":
            text = inner[0] if isinstance(inner, list) else inner
            found.update(re.findall(r"\$\{([^!}.]+)", text))
        elif key == "Fn::GetAtt":
            found.add(inner[0] if isinstance(inner, list) else inner.split(".")[0])
        elif key == "Fn::If":
            found.add(inner[0])
        elif key == "Condition" and isinstance(inner, str):
            found.add(inner)
        found |= references(inner)
    return found


def plain(value):
    """`value` with ordinary dictionaries, lists and strings in it."""
    return json.loads(json.dumps(value))
