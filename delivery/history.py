"""Makes events of the items in an export of Intake's tables: those of the *.json.gz files below EXPORTED, one file a day below LAKE.

    python3 history.py EXPORTED LAKE
"""
import gzip
import json
import pathlib
import sys

# The attributes of a customer's item that are no fields of its profile (docs/data-model.md, Customers).
NO_PROFILE_FIELDS = {"pk", "accountId", "customerId", "createdAt", "updatedAt", "fence", "fenceId", "expiresAt"}
# The attributes of a signal's item that the client sent.
SENT_FIELDS = ("customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier", "data")


def json_text(value: dict) -> str:
    """The JSON text of a value in DynamoDB's JSON. A number is copied, so that it keeps its digits."""
    ((kind, inner),) = value.items()
    if kind == "M":
        return object_text(inner)
    if kind == "L":
        return "[" + ",".join(map(json_text, inner)) + "]"
    if kind == "N":
        return inner
    return "null" if kind == "NULL" else json.dumps(inner)


def object_text(fields: dict) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{json_text(value)}" for name, value in fields.items()) + "}"


def event_of_signal(item: dict) -> str:
    type_field, subject_field = ("eventType", "customerId") if "customerId" in item else ("stepNodeId", "emitterId")
    sent = {name: item[name] for name in SENT_FIELDS if name in item}
    undocumented = item.get("undocumented", {"M": {}})["M"]
    attributes = {"id": item["sk"]["S"], "source": f"/accounts/{item['accountId']['S']}/signals", "type": item[type_field]["S"],
                  "subject": item[subject_field]["S"], "time": item["receivedAt"]["S"]}
    return event(attributes, object_text(sent | undocumented))


def event_of_customer(item: dict) -> str:
    profile = {name: value for name, value in item.items() if name not in NO_PROFILE_FIELDS and not name.startswith("fence:")}
    attributes = {"id": f"history#{item['pk']['S']}", "source": f"/accounts/{item['accountId']['S']}/customers",
                  "type": "intake.customer.created", "subject": item["customerId"]["S"], "time": item["updatedAt"]["S"]}
    return event(attributes, f'{{"new":{object_text(profile)}}}')


def event(attributes: dict, data: str) -> str:
    """A line of the lake."""
    envelope = {"specversion": "1.0"} | attributes | {"datacontenttype": "application/json"}
    return f'{json.dumps(envelope)[:-1]}, "data": {data}}}\n'


def main() -> None:
    exported, lake = map(pathlib.Path, sys.argv[1:])
    for number, file in enumerate(sorted(exported.rglob("*.json.gz"))):
        lines_of_days: dict[str, list[str]] = {}
        for line in gzip.open(file, "rt"):
            item = json.loads(line)["Item"]
            # Only the item of a customer has this attribute, which no client can set.
            is_customer = "fenceId" in item
            time = item["updatedAt" if is_customer else "receivedAt"]["S"]
            lines = lines_of_days.setdefault(time[:len("2026-11-20")], [])
            lines.append(event_of_customer(item) if is_customer else event_of_signal(item))
        for day, lines in lines_of_days.items():
            folder = lake / f"dt={day}"
            folder.mkdir(parents=True, exist_ok=True)
            with gzip.open(folder / f"history-{file.parent.parent.name}-{number}.gz", "wt") as output:
                output.writelines(lines)


if __name__ == "__main__":
    main()
