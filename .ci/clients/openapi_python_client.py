"""Sends a batch with the Python client that was generated from openapi.yaml, and fails when a response is not as the contract
has it.
"""

import importlib
import json
import os
import pkgutil
import sys
import urllib.request
import uuid

import intake_client
from intake_client import AuthenticatedClient
from intake_client.api.customers import patch_customer
from intake_client.api.keys import ping
from intake_client.api.signals import post_signals
from intake_client.models import CustomerStored, CustomerUpdate, FieldError, Pong, Problem, SignalBatch, SignalsStored


def expect(what: str, wanted, got) -> None:
    if wanted != got:
        sys.exit(f"error: {what}: wanted {wanted!r}, got {got!r}")


def main() -> None:
    for module in pkgutil.walk_packages(intake_client.__path__, "intake_client."):
        importlib.import_module(module.name)
    client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"], timeout=60)

    expect("ping", Pong(response="pong"), ping.sync(client=client))

    update = {"customerId": "c-python", "customerData": {"firstName": "Ada", "city": None, "loyalty": {"tier": "gold"}}}
    stored = patch_customer.sync(client=client, body=CustomerUpdate.from_dict(update))
    expect("customer", "c-python", stored.customer_id)
    expect("the unknown field", ["/customerData/loyalty"], [warning.pointer for warning in stored.warnings])

    batch = SignalBatch.from_dict({
        "requestIdentifier": str(uuid.uuid4()),
        "signals": [
            {"customerId": "c-python", "eventType": "purchase", "data": {"price": 12.5, "tags": ["new"]}, "sessionId": "s-9"},
            {"emitterId": str(uuid.uuid4()), "stepNodeId": "start", "eventflowIdentifier": str(uuid.uuid4()), "data": {}},
            {"customerId": "c-python", "eventType": ""},
        ],
    })
    for replayed in (False, True):
        stored = post_signals.sync(client=client, body=batch)
        expect("the type of the batch's response", SignalsStored, type(stored))
        expect("batch", (3, 2, 1, replayed), (stored.received, stored.accepted, stored.rejected, stored.replayed))
        expect("its errors", ["/signals/2/eventType"], [error.pointer for error in stored.field_errors])
        expect("its unknown member", ["/signals/0/sessionId"], [warning.pointer for warning in stored.warnings])

    invalid = post_signals.sync_detailed(client=client, body=SignalBatch(signals=[]))
    expect("an empty batch", (400, Problem), (invalid.status_code, type(invalid.parsed)))

    # One call says what arrived, as in the tests of an application.
    with urllib.request.urlopen(f"{os.environ['INSPECTOR_URL']}/signals?subject=c-python&count=4&wait=10s") as response:
        arrived = [(signal["type"], signal["verdict"].replace("deferred", "stored")) for signal in json.load(response)["signals"]]
    expect("what arrived", [("purchase", "stored"), ("", "rejected"), ("purchase", "replayed"), ("", "replayed")], arrived)

    # A later version may add results and codes.
    later = {"customerId": "c", "result": "later", "updatedAt": "2026-11-20T22:33:44.123Z", "warnings": [
        {"field": "f", "pointer": "/f", "code": "later", "message": "m"}]}
    expect("a result that is not known", "later", CustomerStored.from_dict(later).result)
    expect("a code of a warning that is not known", "later", CustomerStored.from_dict(later).warnings[0].code)
    error = {"field": "f", "pointer": "/f", "code": "later", "message": "m"}
    expect("a code of an error that is not known", "later", FieldError.from_dict(error).code)

    print("The Python client sent a batch and read every response.")


if __name__ == "__main__":
    main()
