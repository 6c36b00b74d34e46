"""What CloudFormation makes of the templates' references, for a stack with every option on: its names, ARNs and policies."""

import re

STACK = "intake-dev"
KMS_KEY = "arn:aws:kms:eu-west-1:123456789012:key/0a"
PSEUDO = {"AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com", "AWS::Region": "eu-west-1",
          "AWS::AccountId": "123456789012", "AWS::StackName": STACK,
          "StackName": STACK, "KmsKeyArn": KMS_KEY, "KeyOperatorArns": "arn:aws:iam::123456789012:role/operator",
          "SubjectPrefix": "repo:owner@1/intake@2", "Environment": "dev",
          "PermissionsBoundary": "arn:aws:iam::123456789012:policy/deploy-intake-dev-PermissionsBoundary-1ABCDEFGHIJKL"}
TABLES = "arn:aws:dynamodb:eu-west-1:123456789012:table"
DELIVERY = {"SignalsStreamArn": f"{TABLES}/intake-dev-SignalsTable-1ABC/stream/2026-11-20T22:33:44.123",
            "CustomersStreamArn": f"{TABLES}/intake-dev-CustomersTable-1ABC/stream/2026-11-20T22:33:44.123"}
NAMED = {"AWS::DynamoDB::Table": "dynamodb:eu-west-1:123456789012:table/",
         "AWS::KinesisFirehose::DeliveryStream": "firehose:eu-west-1:123456789012:deliverystream/",
         "AWS::Lambda::Function": "lambda:eu-west-1:123456789012:function:",
         "AWS::SQS::Queue": "sqs:eu-west-1:123456789012:"}


def stack(processed: dict) -> str:
    """The name of the stack that this template makes."""
    return f"{STACK}-delivery" if "BusFilter" in processed["Parameters"] else STACK


def resolved(processed: dict, value):
    """The value as CloudFormation makes it for this stack."""
    if isinstance(value, list):
        return [resolved(processed, inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "Ref" in value:
        return stack(processed) if value["Ref"] == "AWS::StackName" else (PSEUDO | DELIVERY)[value["Ref"]]
    if "Fn::If" in value:
        return resolved(processed, value["Fn::If"][1])
    if "Fn::GetAtt" in value:
        return arn(processed, value["Fn::GetAtt"][0])
    if "Fn::Join" in value:
        return value["Fn::Join"][0].join(resolved(processed, value["Fn::Join"][1]))
    if "Fn::Split" in value:
        return resolved(processed, value["Fn::Split"][1]).split(value["Fn::Split"][0])
    if "Fn::Sub" in value:
        text, names = value["Fn::Sub"] if isinstance(value["Fn::Sub"], list) else (value["Fn::Sub"], {})
        names = PSEUDO | {"AWS::StackName": stack(processed)} | resolved(processed, names)

        def value_of(reference: re.Match) -> str:
            name = reference[1]
            return names.get(name) or arn(processed, name.removesuffix(".Arn"))
        return re.sub(r"\$\{([^}]+)\}", value_of, text)
    return {name: resolved(processed, inner) for name, inner in value.items()}


def arn(processed: dict, name: str) -> str:
    """The ARN of a resource, with the name that CloudFormation gives it."""
    resource = processed["Resources"][name]
    if resource["Type"] == "AWS::Logs::LogGroup":
        group = resolved(processed, resource["Properties"]["LogGroupName"])
        return f"arn:aws:logs:eu-west-1:123456789012:log-group:{group}:*"
    if resource["Type"] == "AWS::S3::Bucket":
        return f"arn:aws:s3:::{stack(processed)}-{name.lower()}-1abcdefghijkl"
    if resource["Type"] == "AWS::Events::EventBus":
        return f"arn:aws:events:eu-west-1:123456789012:event-bus/{resolved(processed, resource['Properties']['Name'])}"
    return f"arn:aws:{NAMED[resource['Type']]}{stack(processed)}-{name}-1ABCDEFGHIJKL"
