"""Uses the Python client that openapi-generator made of openapi.yaml."""

import os
import uuid

from openapi_client import ApiClient, ApiException, Configuration, CustomersApi, KeysApi, SignalsApi
from openapi_client.models import (
    CustomerData, CustomerUpdate, Event, EventData, Problem, Signal, SignalBatch, SignalsInvalid, WorkflowStep)

NAME, KEY = os.environ["NAME"], os.environ["API_KEY"]


def client_of(address: str) -> ApiClient:
    return ApiClient(Configuration(host=address, access_token=KEY))


def customer_update() -> CustomerUpdate:
    profile = CustomerData(firstName="Ada", city=None)
    profile.additional_properties = {"loyalty": {"tier": "gold", "points": [1, 2.5]}}
    return CustomerUpdate(customerId=f"c-{NAME}", customerData=profile)


def batch() -> SignalBatch:
    data = EventData(price=49.9, brand="Acme")
    data.additional_properties = {"quantity": 12345678901, "gift": True, "coupon": {"code": "SPRING", "uses": [1, 2.5, None, {"a": "b"}]}}
    event = Event(customerId=f"c-{NAME}", eventType="purchase", data=data)
    event.additional_properties = {"sessionId": "s-9"}
    step = WorkflowStep(emitterId=f"e-{NAME}", stepNodeId="start", eventflowIdentifier=uuid.uuid4(), data={"channel": "mail"})
    wrong = Event(customerId="undefined", eventType="purchase")
    return SignalBatch(requestIdentifier=str(uuid.uuid4()), signals=[Signal(event), Signal(step), Signal(wrong)])


def main() -> None:
    client = client_of(os.environ["BASE_URL"])
    assert KeysApi(client).ping().response == "pong"
    stored = CustomersApi(client).patch_customer(customer_update())
    assert [warning.pointer for warning in stored.warnings] == ["/customerData/loyalty"], stored

    signals, sent = SignalsApi(client), batch()
    for replayed in (False, True):
        answer = signals.post_signals(sent)
        assert (answer.received, answer.accepted, answer.rejected, answer.replayed) == (3, 2, 1, replayed), answer
        assert [error.code for error in answer.field_errors] == ["placeholder-identifier"], answer

    try:
        signals.post_signals(SignalBatch(signals=[Signal(Event(customerId="undefined", eventType="t"))]))
        raise AssertionError("a batch without a valid signal was no error")
    except ApiException as error:
        assert isinstance(error.data, SignalsInvalid), error.data
        rejected = error.data.actual_instance
        assert (error.status, rejected.code, rejected.rejected) == (400, "validation-failed", 1), rejected
    try:
        KeysApi(ApiClient(Configuration(host=os.environ["BASE_URL"], access_token="wrong"))).ping()
        raise AssertionError("a wrong key was no error")
    except ApiException as error:
        assert isinstance(error.data, Problem) and error.data.code == "unauthorized", error.data

    later = client_of(os.environ["SCRIPTED_URL"])
    answer = SignalsApi(later).post_signals(sent)
    codes = (answer.field_errors[0].code, answer.warnings[0].code)
    assert (answer.deferred, codes) == (2, ("later-error", "later-warning")), answer
    assert CustomersApi(later).post_customer(customer_update()).result == "later-result"


if __name__ == "__main__":
    main()
