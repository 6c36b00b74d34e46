"""Uses the pydantic models that datamodel-code-generator made of openapi.yaml."""

import json
import os
import urllib.error
import urllib.request
import uuid

from models import (
    BatchRejected, CustomerData, CustomerStored, CustomerUpdate, Event, EventData, Problem, SignalBatch, SignalsStored, WorkflowStep)
from pydantic import BaseModel

NAME, BASE_URL = os.environ["NAME"], os.environ["BASE_URL"]


def send(method: str, url: str, model: BaseModel | None, key: str = os.environ["API_KEY"]) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    # Fields that were not set would be sent as null, which removes fields of a customer.
    body = model.model_dump_json(exclude_unset=True).encode() if model else None
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def main() -> None:
    customers, signals = "/api/customers", "/api/event-flows/signal"
    update = CustomerUpdate(
        customerId=f"c-{NAME}",
        customerData=CustomerData(firstName="Ada", city=None, loyalty={"tier": "gold", "points": [1, 2.5]}),
    )
    status, text = send("PATCH", BASE_URL + customers, update)
    assert (status, CustomerStored.model_validate_json(text).warnings.root[0].pointer) == (200, "/customerData/loyalty"), text

    data = EventData(
        price=49.9, brand="Acme", quantity=12345678901, gift=True, coupon={"code": "SPRING", "uses": [1, 2.5, None, {"a": "b"}]})
    event = Event(customerId=f"c-{NAME}", eventType="purchase", data=data, sessionId="s-9")
    step = WorkflowStep(emitterId=f"e-{NAME}", stepNodeId="start", eventflowIdentifier=uuid.uuid4(), data={"channel": "mail"})
    wrong = Event(customerId="undefined", eventType="purchase")
    sent = SignalBatch(requestIdentifier=uuid.uuid4(), signals=[event, step, wrong])
    for replayed in (False, True):
        status, text = send("POST", BASE_URL + signals, sent)
        answer = SignalsStored.model_validate_json(text)
        assert (answer.received, answer.accepted, answer.rejected, answer.replayed) == (3, 2, 1, replayed), answer
        assert answer.fieldErrors.root[0].code == "placeholder-identifier", answer

    status, text = send("POST", BASE_URL + signals, SignalBatch(signals=[wrong]))
    rejected = BatchRejected.model_validate_json(text)
    assert (status, rejected.code, rejected.rejected) == (400, "validation-failed", 1), rejected
    status, text = send("GET", BASE_URL + "/api/sdk/ping", None, key="wrong")
    assert (status, Problem.model_validate_json(text).code) == (401, "unauthorized"), text

    later = os.environ["SCRIPTED_URL"]
    answer = SignalsStored.model_validate_json(send("POST", later + signals, sent)[1])
    assert (answer.deferred, answer.fieldErrors.root[0].code, answer.warnings.root[0].code) == (2, "later-error", "later-warning")
    assert CustomerStored.model_validate_json(send("POST", later + customers, update)[1]).result == "later-result"


if __name__ == "__main__":
    main()
