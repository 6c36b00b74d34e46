"""What Intake's two functions do, as a first version in Python would have it: boto3 with its defaults, one call after
the other. `cargo bench -- --peers` measures it; nothing deploys it.

It looks the API key up by its hash and remembers it for a minute, validates what docs/api.md says of the documented
fields (not sizes, duplicate fields and near misses), and writes the same items with as many calls. It has no warnings,
no overflow queue and no key snapshot, and keeps no rejected signals.
"""

import base64
import hashlib
import http.client
import json
import os
import re
import secrets
import time
import uuid
from datetime import datetime, timezone
from decimal import Decimal

import boto3
from boto3.dynamodb.types import TypeSerializer

FIELDS = {"email", "phoneNumber", "firstName", "lastName", "gender", "dob", "city", "state", "country", "zip"}
RESERVED = {"pk", "accountId", "customerId", "createdAt", "updatedAt", "fence", "fenceId", "expiresAt"}
UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
KEY_LIFETIME = 60
ITEMS_OF_A_CALL = 25

dynamodb = boto3.client("dynamodb")
serialize = TypeSerializer().serialize
keys = {}


class Problem(Exception):
    def __init__(self, status, code, errors=()):
        self.status, self.body = status, {"status": status, "code": code, "fieldErrors": list(errors)}


def handle(event):
    try:
        account = authenticate(event["headers"].get("authorization", ""))
        body = read_body(event)
        store = store_signals if event["rawPath"] == "/api/event-flows/signal" else update_customer
        return respond(200, store(account, body))
    except Problem as problem:
        return respond(problem.status, problem.body)


def respond(status, body):
    headers = {"content-type": "application/json"}
    return {"statusCode": status, "headers": headers, "body": json.dumps(body), "isBase64Encoded": False}


def authenticate(header):
    scheme, _, key = header.partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise Problem(401, "missing-api-key")
    key_hash = hashlib.sha256(key.encode()).hexdigest()
    found, read_at = keys.get(key_hash, (None, 0))
    if found is None or time.monotonic() - read_at > KEY_LIFETIME:
        found = dynamodb.get_item(TableName=os.environ["API_KEYS_TABLE"], Key={"keyHash": {"S": key_hash}}).get("Item")
        if found:
            keys[key_hash] = (found, time.monotonic())
    is_expired = found and "expiresAt" in found and float(found["expiresAt"]["N"]) <= time.time()
    if not found or "revokedAt" in found or is_expired:
        raise Problem(401, "invalid-api-key")
    return found["accountId"]["S"]


def read_body(event):
    if event["headers"].get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "unsupported-media-type")
    body = base64.b64decode(event["body"]) if event.get("isBase64Encoded") else event["body"]
    try:
        parsed = json.loads(body, parse_float=Decimal)
    except ValueError:
        raise Problem(400, "malformed-json") from None
    if not isinstance(parsed, dict):
        raise Problem(400, "invalid-type")
    return parsed


def is_text(value):
    return isinstance(value, str) and value.strip() != ""


def now():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def update_customer(account, body):
    customer_id, data = body.get("customerId"), body.get("customerData")
    errors = [] if is_text(customer_id) else [{"pointer": "/customerId", "code": "required"}]
    if not isinstance(data, dict):
        raise Problem(400, "validation-failed", [*errors, {"pointer": "/customerData", "code": "invalid-type"}])
    for name, value in data.items():
        if name in RESERVED or name.startswith("fence:"):
            errors.append({"pointer": f"/customerData/{name}", "code": "reserved-name"})
        elif name in FIELDS and not (value is None or isinstance(value, str)):
            errors.append({"pointer": f"/customerData/{name}", "code": "invalid-type"})
    if errors:
        raise Problem(400, "validation-failed", errors)
    updated_at = now()
    fence = int(time.time() * 1000) << 20 | secrets.randbits(20)
    set_values = {"accountId": account, "customerId": customer_id, "updatedAt": updated_at, "fence": fence,
                  "fenceId": secrets.token_bytes(16)}
    set_values |= {name: value for name, value in data.items() if value is not None}
    set_values |= {f"fence:{name}": fence for name in data}
    removed = [name for name, value in data.items() if value is None]
    names = {f"#{index}": name for index, name in enumerate([*set_values, *removed])}
    values = {f":{index}": serialize(value) for index, value in enumerate(set_values.values())}
    sets = [f"#{index} = :{index}" for index in range(len(set_values))]
    expression = f"SET {', '.join(sets)}, #created = if_not_exists(#created, :created)"
    if removed:
        expression += " REMOVE " + ", ".join(f"#{len(set_values) + index}" for index in range(len(removed)))
    old = dynamodb.update_item(
        TableName=os.environ["CUSTOMERS_TABLE"],
        Key={"pk": {"S": f"{account}#{customer_id}"}},
        UpdateExpression=expression,
        ConditionExpression="attribute_not_exists(#fence) OR #fence < :fence",
        ExpressionAttributeNames=names | {"#created": "createdAt", "#fence": "fence"},
        ExpressionAttributeValues=values | {":created": {"S": updated_at}, ":fence": {"N": str(fence)}},
        ReturnValues="UPDATED_OLD",
    ).get("Attributes", {})
    result = "updated" if "fence" in old else "created"
    return {"customerId": customer_id, "result": result, "updatedAt": updated_at, "warnings": []}


def errors_of(signal):
    if not isinstance(signal, dict):
        return [{"pointer": "", "code": "invalid-type"}]
    is_event = "customerId" in signal or "eventType" in signal
    is_step = "emitterId" in signal or "stepNodeId" in signal
    if is_event == is_step:
        return [{"pointer": "", "code": "ambiguous-identity" if is_event else "missing-identity"}]
    names = ("customerId", "eventType") if is_event else ("emitterId", "stepNodeId")
    errors = [{"pointer": f"/{name}", "code": "required"} for name in names if not is_text(signal.get(name))]
    flow = signal.get("eventflowIdentifier")
    if (is_step or flow is not None) and not (isinstance(flow, str) and UUID.fullmatch(flow)):
        errors.append({"pointer": "/eventflowIdentifier", "code": "invalid-uuid"})
    if not isinstance(signal.get("data"), (dict, type(None))):
        errors.append({"pointer": "/data", "code": "invalid-type"})
    return errors


def store_signals(account, body):
    signals, identifier = body.get("signals"), body.get("requestIdentifier")
    if not isinstance(signals, list) or not 1 <= len(signals) <= 500:
        raise Problem(400, "validation-failed", [{"pointer": "/signals", "code": "invalid-size"}])
    if identifier is not None and not (isinstance(identifier, str) and UUID.fullmatch(identifier)):
        raise Problem(400, "validation-failed", [{"pointer": "/requestIdentifier", "code": "invalid-uuid"}])
    received_at, rejected, items = now(), [], []
    request = identifier or str(uuid.uuid4())
    for index, signal in enumerate(signals):
        errors = errors_of(signal)
        if errors:
            rejected += [{**error, "pointer": f"/signals/{index}{error['pointer']}"} for error in errors]
        else:
            items.append(item_of(account, request, received_at, index, signal))
    if not items:
        raise Problem(400, "validation-failed", rejected)
    if identifier:
        write_record(account, identifier, received_at, json.dumps(signals, default=str))
    store_items([{"PutRequest": {"Item": item}} for item in items])
    return {"requestIdentifier": request, "accepted": len(items), "rejected": len(signals) - len(items),
            "fieldErrors": rejected, "replayed": False, "warnings": []}


def item_of(account, request, received_at, index, signal):
    subject = signal.get("customerId") or signal.get("emitterId")
    documented = ("customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier")
    item = {name: signal[name] for name in documented if signal.get(name) is not None}
    undocumented = {name: value for name, value in signal.items() if name not in documented and name != "data"}
    item |= {"pk": f"{account}#{subject}", "sk": f"{received_at}#{request.lower()}#{index:04}", "accountId": account,
             "data": signal.get("data") or {}, "requestIdentifier": request, "receivedAt": received_at}
    if undocumented:
        item["undocumented"] = undocumented
    return {name: serialize(value) for name, value in item.items()}


def write_record(account, identifier, received_at, body):
    record = {"pk": f"{account}#{identifier.lower()}", "accountId": account, "receivedAt": received_at,
              "bodyHash": hashlib.sha256(body.encode()).hexdigest(), "expiresAt": int(time.time()) + 86_400}
    dynamodb.put_item(TableName=os.environ["IDEMPOTENCY_TABLE"], ConditionExpression="attribute_not_exists(pk)",
                      Item={name: serialize(value) for name, value in record.items()})


def store_items(requests):
    table = os.environ["SIGNALS_TABLE"]
    for start in range(0, len(requests), ITEMS_OF_A_CALL):
        left = {table: requests[start:start + ITEMS_OF_A_CALL]}
        while left:
            left = dynamodb.batch_write_item(RequestItems=left).get("UnprocessedItems")


def main():
    """The loop of Lambda's Runtime API."""
    api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    while True:
        api.request("GET", "/2018-06-01/runtime/invocation/next")
        response = api.getresponse()
        request_id = response.getheader("lambda-runtime-aws-request-id")
        result = json.dumps(handle(json.loads(response.read())))
        api.request("POST", f"/2018-06-01/runtime/invocation/{request_id}/response", body=result)
        api.getresponse().read()


if __name__ == "__main__":
    main()
