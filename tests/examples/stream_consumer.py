"""A Lambda function behind the stream of signals. Needs nothing but Python."""

import json


def plain(value):
    """The JSON text of a value in DynamoDB's JSON. A number is copied, so that it keeps its digits."""
    ((kind, inner),) = value.items()
    if kind == "M":
        return "{" + ",".join(f"{json.dumps(name)}:{plain(field)}" for name, field in inner.items()) + "}"
    if kind == "L":
        return "[" + ",".join(map(plain, inner)) + "]"
    return inner if kind == "N" else "null" if kind == "NULL" else json.dumps(inner)


def handle(item):
    """What the consumer does with the item of a signal, as JSON text."""
    print(item)


def handler(event, context):
    for record in event["Records"]:
        # A signal that expires or is erased is a REMOVE.
        if record["eventName"] != "INSERT":
            continue
        try:
            handle(plain({"M": record["dynamodb"]["NewImage"]}))
        except Exception:
            # Lambda delivers this record and those after it again.
            return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
    return {"batchItemFailures": []}
