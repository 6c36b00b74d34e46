"""Removes events from the lake, as `cargo intake customers erase`, `accounts erase` and `signals erase` do from the tables.

    python3 forget.py LAKE_BUCKET ACCOUNT ID        those of a customer or an emitter
    python3 forget.py LAKE_BUCKET ACCOUNT --all     those of the whole account
    python3 forget.py LAKE_BUCKET ACCOUNT --type T --since 2026-11-20 --until 2026-11-21T12:00:00Z     signals of one type and period
"""
import argparse
import gzip
import json
from datetime import datetime, timezone


def time(text: str) -> str:
    """A time as the events have it. One without an offset is in UTC."""
    parsed = datetime.fromisoformat(text.replace("Z", "+00:00"))
    parsed = parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)
    return parsed.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_forgotten(event: dict, options: argparse.Namespace) -> bool:
    signals, customers = (f"/accounts/{options.account}/{kind}" for kind in ("signals", "customers"))
    if options.type is not None:
        return event["source"] == signals and event["type"] == options.type and options.since <= event["time"] < options.until
    return event["source"] in (signals, customers) and (options.all or event["subject"] == options.id)


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lake_bucket")
    parser.add_argument("account")
    parser.add_argument("id", nargs="?")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--type")
    parser.add_argument("--since", type=time)
    parser.add_argument("--until", type=time)
    options = parser.parse_args(arguments)
    by_type = [options.type, options.since, options.until]
    ways = [options.id is not None, options.all, any(value is not None for value in by_type)]
    if ways.count(True) != 1 or (ways[2] and None in by_type):
        parser.error("give an ID, or --all, or --type, --since and --until")
    return options


def main() -> None:
    import boto3
    options = read_options()
    bucket, s3 = options.lake_bucket, boto3.client("s3")
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix="events/"):
        for key in [found["Key"] for found in page.get("Contents", [])]:
            lines = gzip.decompress(s3.get_object(Bucket=bucket, Key=key)["Body"].read()).splitlines(keepends=True)
            kept = [line for line in lines if not is_forgotten(json.loads(line), options)]
            if len(kept) < len(lines):
                s3.put_object(Bucket=bucket, Key=key, Body=gzip.compress(b"".join(kept)))
                print(f"{key}: removed {len(lines) - len(kept)} of {len(lines)} events")


if __name__ == "__main__":
    main()
