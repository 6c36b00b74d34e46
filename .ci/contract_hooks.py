"""What keeps Schemathesis within what the local stack can hand on to the functions."""

import schemathesis

# What openapi.yaml leaves out, because generated clients cannot read a schema that refers to itself: a JSON value that
# DynamoDB can store exactly. Without it, most signals that are made up would rightly be refused.
STORABLE = {
    "type": ["object", "array", "string", "number", "boolean", "null"],
    "propertyNames": {"minLength": 1},
    "additionalProperties": {"$ref": "#/components/schemas/Storable"},
    "items": {"$ref": "#/components/schemas/Storable"},
    "anyOf": [
        {"not": {"type": "number"}},
        {"minimum": 0, "maximum": 0},
        {"minimum": 1.0e-130, "exclusiveMaximum": 1.0e126},
        {"exclusiveMinimum": -1.0e126, "maximum": -1.0e-130},
    ],
}


@schemathesis.hook
def before_load_schema(context, raw_schema):
    schemas = raw_schema["components"]["schemas"]
    schemas["Storable"] = STORABLE
    open_objects = [schemas["Event"], schemas["EventData"], schemas["WorkflowStep"], schemas["WorkflowStep"]["properties"]["data"]]
    for schema in open_objects:
        if schema["additionalProperties"] is not True:
            raise ValueError("A schema of a signal is not open: adapt .ci/contract_hooks.py.")
        schema["additionalProperties"] = {"$ref": "#/components/schemas/Storable"}
    # The documented number is of those that DynamoDB can store, too.
    schemas["EventData"]["properties"]["price"]["anyOf"] = STORABLE["anyOf"][1:]


def passable(value):
    # How API Gateway hands on a header beyond ASCII is not documented.
    return str(value).encode("ascii", "replace").decode()


# Where values are made up, so that Schemathesis still knows which of them are to be refused.
@schemathesis.hook
def map_headers(context, headers):
    return headers and {name: passable(value) for name, value in headers.items()}


# For those that are not made up: the examples, and the edges of the schema.
@schemathesis.hook
def before_call(context, case, kwargs):
    for name, value in dict(case.headers or {}).items():
        case.headers[name] = passable(value)
    # Bodies that are not UTF-8 are tested as events.
    if isinstance(case.body, bytes):
        case.body = bytes(byte if byte < 0x80 else ord("?") for byte in case.body)
