"""python3 history.py EXPORTED LAKE: makes events of the items in the *.json.gz files below EXPORTED, one file a day below LAKE."""
import gzip, json, pathlib, sys

ITEM_ONLY = {"pk", "accountId", "customerId", "createdAt", "updatedAt", "fence", "fenceId", "expiresAt"}
SENT = ("customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier", "data")

def plain(value):
    """The JSON text of a value in DynamoDB's JSON. A number is copied, so that it keeps its digits."""
    ((kind, inner),) = value.items()
    if kind == "M":
        return "{" + ",".join(f"{json.dumps(name)}:{plain(field)}" for name, field in inner.items()) + "}"
    if kind == "L":
        return "[" + ",".join(map(plain, inner)) + "]"
    return inner if kind == "N" else "null" if kind == "NULL" else json.dumps(inner)

def event(item):
    text = {name: value["S"] for name, value in item.items() if "S" in value}
    if "sk" in item:
        kind, subject = ("eventType", "customerId") if "customerId" in item else ("stepNodeId", "emitterId")
        fields = {name: item[name] for name in SENT if name in item} | item.get("undocumented", {"M": {}})["M"]
        id, source, type, subject, time, data = text["sk"], "signals", text[kind], text[subject], text["receivedAt"], plain({"M": fields})
    else:
        profile = plain({"M": {name: value for name, value in item.items()
                              if name not in ITEM_ONLY and not name.startswith("fence:")}})
        id, source, type, subject, time = f"history#{text['pk']}", "customers", "intake.customer.created", text["customerId"], text["updatedAt"]
        data = f'{{"new":{profile}}}'
    attributes = {"specversion": "1.0", "id": id, "source": f"/accounts/{text['accountId']}/{source}", "type": type,
                  "subject": subject, "time": time, "datacontenttype": "application/json"}
    return time[:10], f'{json.dumps(attributes)[:-1]}, "data": {data}}}\n'

exported, lake = map(pathlib.Path, sys.argv[1:])
for number, file in enumerate(sorted(exported.rglob("*.json.gz"))):
    days = {}
    for line in gzip.open(file, "rt"):
        day, line = event(json.loads(line)["Item"])
        days.setdefault(day, []).append(line)
    for day, lines in days.items():
        folder = lake / f"dt={day}"
        folder.mkdir(parents=True, exist_ok=True)
        with gzip.open(folder / f"history-{file.parent.parent.name}-{number}.gz", "wt") as output:
            output.writelines(lines)
