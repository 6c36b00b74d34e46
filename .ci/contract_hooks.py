"""What keeps Schemathesis within what the local stack can hand on to the functions."""

import schemathesis


def passable(name, value):
    # How API Gateway hands on a header beyond ASCII is not documented.
    text = str(value).encode("ascii", "replace").decode()
    # Schemathesis does not compress the body; an encoding that the contract does not have stays, and is a 415.
    is_gzip = name.lower() == "content-encoding" and text.strip().lower() in ("gzip", "x-gzip")
    return "identity" if is_gzip else text


# Where values are made up, so that Schemathesis still knows which of them are to be refused.
@schemathesis.hook
def map_headers(context, headers):
    return headers and {name: passable(name, value) for name, value in headers.items()}


# For those that are not made up: the examples, and the edges of the schema.
@schemathesis.hook
def before_call(context, case, kwargs):
    for name, value in dict(case.headers or {}).items():
        if passable(name, value) != value:
            case.headers[name] = passable(name, value)
    # Bodies that are not UTF-8 are tested as events.
    if isinstance(case.body, bytes):
        case.body = bytes(byte if byte < 0x80 else ord("?") for byte in case.body)
