"""Uses the Python client that openapi-python-client made of openapi.yaml."""

import importlib
import os
import pkgutil
import uuid

import intake_client
from intake_client import AuthenticatedClient
from intake_client.api.customers import patch_customer, post_customer
from intake_client.api.keys import ping
from intake_client.api.signals import post_signals
from intake_client.models import (
    BatchRejected, CustomerData, CustomerUpdate, Event, EventData, Pong, Problem, SignalBatch, WorkflowStep, WorkflowStepDataType0)

NAME, KEY = os.environ["NAME"], os.environ["API_KEY"]


def client_of(address: str, key: str = KEY) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=address, token=key, timeout=60)


def customer_update() -> CustomerUpdate:
    profile = CustomerData(first_name="Ada", city=None)
    profile["loyalty"] = {"tier": "gold", "points": [1, 2.5]}
    return CustomerUpdate(customer_id=f"c-{NAME}", customer_data=profile)


def batch() -> SignalBatch:
    data = EventData(price=49.9, brand="Acme")
    data["quantity"], data["gift"] = 12345678901, True
    data["coupon"] = {"code": "SPRING", "uses": [1, 2.5, None, {"a": "b"}]}
    event = Event(customer_id=f"c-{NAME}", event_type="purchase", data=data)
    event["sessionId"] = "s-9"
    channel = WorkflowStepDataType0.from_dict({"channel": "mail"})
    step = WorkflowStep(emitter_id=f"e-{NAME}", step_node_id="start", eventflow_identifier=uuid.uuid4(), data=channel)
    wrong = Event(customer_id="undefined", event_type="purchase")
    return SignalBatch(request_identifier=uuid.uuid4(), signals=[event, step, wrong])


def main() -> None:
    for module in pkgutil.walk_packages(intake_client.__path__, "intake_client."):
        importlib.import_module(module.name)
    client = client_of(os.environ["BASE_URL"])
    assert ping.sync(client=client) == Pong(response="pong")
    stored = patch_customer.sync(client=client, body=customer_update())
    assert [warning.pointer for warning in stored.warnings] == ["/customerData/loyalty"], stored

    sent = batch()
    for replayed in (False, True):
        answer = post_signals.sync(client=client, body=sent)
        assert (answer.received, answer.accepted, answer.rejected, answer.replayed) == (3, 2, 1, replayed), answer
        assert [error.code for error in answer.field_errors] == ["placeholder-identifier"], answer

    wrong = SignalBatch(signals=[Event(customer_id="undefined", event_type="t")])
    rejected = post_signals.sync(client=client, body=wrong)
    assert isinstance(rejected, BatchRejected) and (rejected.code, rejected.rejected) == ("validation-failed", 1), rejected
    empty = post_signals.sync_detailed(client=client, body=SignalBatch(signals=[]))
    assert (empty.status_code, type(empty.parsed)) == (400, Problem), empty
    assert ping.sync(client=client_of(os.environ["BASE_URL"], "wrong")).code == "unauthorized"

    later = client_of(os.environ["SCRIPTED_URL"])
    answer = post_signals.sync(client=later, body=sent)
    codes = (answer.field_errors[0].code, answer.warnings[0].code)
    assert (answer.deferred, codes) == (2, ("later-error", "later-warning")), answer
    assert post_customer.sync(client=later, body=customer_update()).result == "later-result"


if __name__ == "__main__":
    main()
