"""A reference implementation of both functions in Python with boto3, in the most common style: all defaults, one call after
the other. It is measured and never deployed."""

import hashlib
import http.client
import json
import os
import time
import uuid
from datetime import datetime, timezone
from decimal import Decimal

import boto3

CONTRACT = {"customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier", "data"}
PLACEHOLDERS = {"null", "undefined", "none", "nan", "nil", "[object object]"}

dynamodb = boto3.resource("dynamodb")
api_keys = dynamodb.Table(os.environ["API_KEYS_TABLE"])
customers = dynamodb.Table(os.environ["CUSTOMERS_TABLE"])
idempotency = dynamodb.Table(os.environ["IDEMPOTENCY_TABLE"])
signals_table = dynamodb.Table(os.environ["SIGNALS_TABLE"])
cached_keys = {}


def handle(event):
    account = account_of(event["headers"].get("authorization", ""))
    if account is None:
        return answer(401, {"code": "unauthorized"})
    body = json.loads(event["body"], parse_float=Decimal)
    if event["rawPath"] == "/api/customers":
        status, body = customer(account, body)
    else:
        status, body = signals(account, body, event["body"])
    print(json.dumps({"status": status, "account": account}), flush=True)
    return answer(status, body)


def account_of(authorization):
    if not authorization.startswith("Bearer "):
        return None
    key_hash = hashlib.sha256(authorization[7:].encode()).hexdigest()
    account, until = cached_keys.get(key_hash, (None, 0))
    if time.monotonic() < until:
        return account
    item = api_keys.get_item(Key={"keyHash": key_hash}, ConsistentRead=True).get("Item")
    if item:
        cached_keys[key_hash] = (item["accountId"], time.monotonic() + 60)
        return item["accountId"]
    return None


def customer(account, body):
    customer_id, profile = body.get("customerId"), body.get("customerData")
    if not identifier(customer_id) or not isinstance(profile, dict):
        return 400, {"code": "validation-failed"}
    now = timestamp()
    expression = (
        "SET accountId = :account, customerId = :customer, updatedAt = :now, createdAt = if_not_exists(createdAt, :now)"
    )
    names, values = {}, {":account": account, ":customer": customer_id, ":now": now}
    for index, (name, value) in enumerate(profile.items()):
        expression += f", #{index} = :{index}"
        names[f"#{index}"], values[f":{index}"] = name, value
    output = customers.update_item(
        Key={"pk": f"{account}#{customer_id}"},
        UpdateExpression=expression,
        ExpressionAttributeNames=names,
        ExpressionAttributeValues=values,
        ReturnValues="UPDATED_OLD",
    )
    result = "updated" if "Attributes" in output else "created"
    return 200, {"customerId": customer_id, "result": result, "updatedAt": now, "warnings": []}


def signals(account, body, sent):
    batch = body.get("signals")
    if not isinstance(batch, list) or not 1 <= len(batch) <= 500:
        return 400, {"code": "validation-failed"}
    now = timestamp()
    request_identifier = body.get("requestIdentifier")
    if request_identifier:
        request_identifier = str(uuid.UUID(request_identifier))
        idempotency.put_item(
            Item={
                "pk": f"{account}#{request_identifier}",
                "bodyHash": hashlib.sha256(sent.encode()).hexdigest(),
                "receivedAt": now,
            },
            ConditionExpression="attribute_not_exists(pk)",
        )
    else:
        request_identifier = str(uuid.uuid4())
    errors, accepted = [], 0
    with signals_table.batch_writer() as writer:
        for index, signal in enumerate(batch):
            item = item_of(account, request_identifier, now, index, signal)
            if item is None:
                errors.append({"field": f"signals[{index}]", "code": "invalid"})
            else:
                writer.put_item(Item=item)
                accepted += 1
    return (200 if accepted else 400), {
        "requestIdentifier": request_identifier,
        "received": len(batch),
        "accepted": accepted,
        "rejected": len(errors),
        "replayed": False,
        "fieldErrors": errors,
        "warnings": [],
    }


def item_of(account, request_identifier, now, index, signal):
    subject, kind = ("emitterId", "stepNodeId") if signal.get("customerId") is None else ("customerId", "eventType")
    data = signal.get("data") or {}
    if not identifier(signal.get(subject)) or not identifier(signal.get(kind)) or not storable(data, 0):
        return None
    if not CONTRACT.issuperset(signal):
        return None
    item = {
        "pk": f"{account}#{signal[subject]}",
        "sk": f"{now}#{request_identifier}#{index:04}",
        "accountId": account,
        subject: signal[subject],
        kind: signal[kind],
        "data": data,
        "requestIdentifier": request_identifier,
        "receivedAt": now,
    }
    if signal.get("eventflowIdentifier") is not None:
        item["eventflowIdentifier"] = str(uuid.UUID(signal["eventflowIdentifier"]))
    return item


def identifier(value):
    return isinstance(value, str) and value.strip() != "" and len(value) <= 256 and value.lower() not in PLACEHOLDERS


def storable(value, depth):
    if isinstance(value, dict):
        return depth < 31 and all(name and storable(member, depth + 1) for name, member in value.items())
    if isinstance(value, list):
        return depth < 31 and all(storable(member, depth + 1) for member in value)
    return True


def timestamp():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def answer(status, body):
    return {"statusCode": status, "headers": {"content-type": "application/json"}, "body": json.dumps(body)}


def serve():
    """What Lambda's own runtime does, on one connection."""
    runtime = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    while True:
        runtime.request("GET", "/2018-06-01/runtime/invocation/next")
        response = runtime.getresponse()
        event = json.loads(response.read())
        invocation = response.headers["Lambda-Runtime-Aws-Request-Id"]
        body = json.dumps(handle(event))
        runtime.request("POST", f"/2018-06-01/runtime/invocation/{invocation}/response", body)
        runtime.getresponse().read()


serve()
