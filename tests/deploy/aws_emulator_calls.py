"""Records which calls each deployed function sends to the emulator of AWS: the operation, and the resource that it names."""

import json
import os

# A function gets its own name as its session token, which is in each of its calls and nowhere else.
FUNCTION_HEADER = b"x-amz-security-token"


def iam_calls(method: str, path: str, headers: dict[bytes, bytes], body: bytes) -> list[tuple[str, str]]:
    """What IAM would decide about for this request: the action, and the physical name of each resource."""
    target = headers.get(b"x-amz-target", b"").decode()
    if not target:
        # S3: the bucket begins the path.
        return [({"GET": "s3:GetObject", "PUT": "s3:PutObject"}[method], path.split("/")[1])]
    service, operation = target.split(".")
    call = json.loads(body)
    match service:
        case "DynamoDB_20120810":
            tables = call.get("RequestItems", [call.get("TableName")])
            return [(f"dynamodb:{operation}", table) for table in tables]
        case "AmazonSQS":
            return [(f"sqs:{operation}", call["QueueUrl"].rsplit("/", 1)[-1])]
        case "AWSEvents":
            return [(f"events:{operation}", entry["EventBusName"]) for entry in call["Entries"]]
        case "Firehose_20150804":
            return [(f"firehose:{operation}", call["DeliveryStreamName"])]
        case _:
            return [(target, "")]


def recorded(app):
    """An application that adds each call of a function to the file CALLS_LOG, and then does what `app` does."""
    async def record_and_answer(scope, receive, send):
        headers = dict(scope.get("headers", []))
        function = headers.get(FUNCTION_HEADER, b"").decode()
        if not function:
            return await app(scope, receive, send)
        messages = []
        while not messages or messages[-1].get("more_body"):
            messages.append(await receive())
        body = b"".join(message.get("body", b"") for message in messages)
        with open(os.environ["CALLS_LOG"], "a") as log:
            for action, resource in iam_calls(scope["method"], scope["path"], headers, body):
                log.write(json.dumps([function, action, resource]) + "\n")
        received = iter(messages)

        async def receive_again():
            for message in received:
                return message
            return await receive()
        return await app(scope, receive_again, send)
    return record_and_answer
