"""python3 forget.py LAKE_BUCKET ACCOUNT ID: removes the events of a customer or an emitter from the lake, of all with the ID '*'."""
import gzip, json, sys
import boto3

bucket, account, subject = sys.argv[1:]
sources = {f"/accounts/{account}/signals", f"/accounts/{account}/customers"}
s3 = boto3.client("s3")
for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix="events/"):
    for key in [found["Key"] for found in page.get("Contents", [])]:
        lines = gzip.decompress(s3.get_object(Bucket=bucket, Key=key)["Body"].read()).splitlines(keepends=True)
        events = [(line, json.loads(line)) for line in lines]
        kept = [line for line, event in events if event["source"] not in sources or subject not in (event["subject"], "*")]
        if len(kept) < len(lines):
            s3.put_object(Bucket=bucket, Key=key, Body=gzip.compress(b"".join(kept)))
            print(f"{key}: removed {len(lines) - len(kept)} of {len(lines)} events")
