"""What delivery/template.yaml needs of the emulator of AWS beside the corrections of aws_emulator_process.py.

As there, the names behind the underscores hold for the pinned version of ministack.
"""

import asyncio
import gzip
import time
import uuid

from ministack.services import cloudwatch_logs, firehose, glue, s3
from ministack.services.cloudformation import provisioners


def create_database(_logical_id, properties, _stack_name):
    """Creates a database, which ministack has, but not as a resource of a stack."""
    name = properties["DatabaseInput"]["Name"]
    raise_refusal(glue._create_database(properties))
    return name, {}


def delete_database(name, _properties):
    glue._delete_database({"Name": name})


def create_table(_logical_id, properties, _stack_name):
    """Creates a table of the catalog, which ministack has, but not as a resource of a stack."""
    raise_refusal(glue._create_table(properties))
    return properties["TableInput"]["Name"], {}


def delete_table(name, properties):
    glue._delete_table({"DatabaseName": properties["DatabaseName"], "Name": name})


def create_log_stream(_logical_id, properties, _stack_name):
    """Creates a log stream, which ministack has, but not as a resource of a stack."""
    group, stream = properties["LogGroupName"], properties["LogStreamName"]
    raise_refusal(cloudwatch_logs._create_log_stream({"logGroupName": group, "logStreamName": stream}))
    return stream, {}


def delete_log_stream(name, properties):
    cloudwatch_logs._delete_log_stream({"logGroupName": properties["LogGroupName"], "logStreamName": name})


def raise_refusal(response):
    """Fails unless ministack did what it was asked for."""
    status, _, body = response
    if status >= 400:
        raise ValueError(body)


def write_object(stream, destination, data):
    """Writes a record as Firehose names and compresses an object.

    ministack keeps the expressions in the prefix and compresses nothing. Unlike Firehose, this does not wait for more
    records, so each is an object.
    """
    settings = destination["config"]
    prefix = time.strftime(settings["Prefix"].replace("!{timestamp:yyyy-MM-dd}", "%Y-%m-%d"), time.gmtime())
    if "!{" in prefix or settings["CompressionFormat"] != "GZIP":
        raise ValueError("the emulator knows no other prefix and no other compression")
    key = f"{prefix}{stream['name']}-1-{time.strftime('%Y-%m-%d-%H-%M-%S', time.gmtime())}-{uuid.uuid4()}.gz"
    body = gzip.compress(data)
    bucket = firehose._s3_bucket_from_arn(settings["BucketARN"])
    headers = {"content-type": "application/octet-stream", "content-length": str(len(body)), "host": "s3.localhost"}
    asyncio.get_running_loop().create_task(s3.handle_request("PUT", f"/{bucket}/{key}", headers, body, {}))


def add_resources_and_firehose():
    """Lets ministack make these resources, and write the objects of Firehose as AWS does."""
    provisioners._RESOURCE_HANDLERS |= {
        "AWS::Glue::Database": {"create": create_database, "delete": delete_database},
        "AWS::Glue::Table": {"create": create_table, "delete": delete_table},
        "AWS::Logs::LogStream": {"create": create_log_stream, "delete": delete_log_stream},
    }
    firehose._deliver_to_s3 = write_object
