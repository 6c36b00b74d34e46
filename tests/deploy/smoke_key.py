"""Creates an API key for the smoke test in a table of API keys, valid for an hour, and prints it.

    python3 tests/deploy/smoke_key.py TABLE

`cargo intake keys create` makes the same item. This needs only boto3, which comes with sam: the job that holds AWS
credentials compiles nothing and runs nothing that was compiled elsewhere.
"""

import hashlib
import secrets
import sys
import time
from datetime import datetime, timezone

import boto3

VALID_SECONDS = 3_600


def main() -> int:
    if len(sys.argv) != 2:
        print("Give the table of API keys: the output ApiKeysTableName of the stack.", file=sys.stderr)
        return 2
    key = f"intake_sk_{secrets.token_hex(32)}"
    boto3.client("dynamodb").put_item(TableName=sys.argv[1], ConditionExpression="attribute_not_exists(keyHash)", Item={
        "keyHash": {"S": hashlib.sha256(key.encode()).hexdigest()},
        "keyId": {"S": f"key_{secrets.token_hex(6)}"},
        "accountId": {"S": "smoke-test"},
        "name": {"S": "smoke test"},
        "createdAt": {"S": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")},
        "expiresAt": {"N": str(int(time.time()) + VALID_SECONDS)},
    })
    print(key)
    return 0


if __name__ == "__main__":
    sys.exit(main())
