//! Another emulator of DynamoDB in place of the embedded one: AWS's DynamoDB Local, whose address is
//! in `INTAKE_OTHER_DYNAMODB`.
//!
//! All tests share it, so they run one after the other, and each begins with empty tables. Its
//! tables have the streams of the template, which the embedded emulator leaves out.

use std::net::SocketAddr;

use emulator::{Emulator, Template};
use serde_json::{Value, json};

use crate::table_name;

/// DynamoDB Local reads the access key and the region from it, and checks no signature.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=local/20260101/eu-central-1/dynamodb/aws4_request, \
     SignedHeaders=host, Signature=0";

/// The emulator at the address in `INTAKE_OTHER_DYNAMODB`, if there is one, with the tables of
/// `template`, which are empty.
pub(crate) fn other_dynamodb(template: &Template) -> Option<Emulator> {
    let address = address()?;
    let tables = call("DynamoDB_20120810.ListTables", &json!({}));
    for name in tables["TableNames"].as_array().unwrap() {
        call("DynamoDB_20120810.DeleteTable", &json!({"TableName": name}));
    }
    for table in &template.tables {
        let mut definition = table.definition.clone();
        if let Some(view_type) = &table.stream_view_type {
            let stream = json!({"StreamEnabled": true, "StreamViewType": view_type});
            definition.insert("StreamSpecification".to_owned(), stream);
        }
        call("DynamoDB_20120810.CreateTable", &Value::from(definition));
    }
    Some(Emulator::remote(address))
}

fn address() -> Option<SocketAddr> {
    let address = std::env::var("INTAKE_OTHER_DYNAMODB").ok()?;
    Some(address.parse().expect("it is HOST:PORT"))
}

/// Calls the other emulator.
fn call(target: &str, body: &Value) -> Value {
    let address = address().expect("INTAKE_OTHER_DYNAMODB has the address of DynamoDB Local");
    let mut response = ureq::post(format!("http://{address}/"))
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", target)
        .header("authorization", AUTHORIZATION)
        .send(body.to_string())
        .unwrap();
    let text = response.body_mut().read_to_string().unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The records of the stream of a table of the other emulator, by its logical id, as its shards have
/// them. Each shard is in its order, and a child follows its parent.
///
/// # Panics
/// When `INTAKE_OTHER_DYNAMODB` is not set, or the table has no stream.
pub fn stream_records(logical_id: &str) -> Vec<Vec<Value>> {
    let table = json!({"TableName": table_name(logical_id)});
    let description = call("DynamoDB_20120810.DescribeTable", &table);
    let stream = &description["Table"]["LatestStreamArn"];
    let description = call(
        "DynamoDBStreams_20120810.DescribeStream",
        &json!({"StreamArn": stream}),
    );
    let shards = description["StreamDescription"]["Shards"].as_array();
    let shards = shards.expect("the table has a stream");
    shards
        .iter()
        .map(|shard| records_of_shard(stream, &shard["ShardId"]))
        .collect()
}

fn records_of_shard(stream: &Value, shard_id: &Value) -> Vec<Value> {
    let position = json!({
        "StreamArn": stream, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON",
    });
    let response = call("DynamoDBStreams_20120810.GetShardIterator", &position);
    let mut iterator = response["ShardIterator"].clone();
    let mut records = Vec::new();
    while !iterator.is_null() {
        let page = call(
            "DynamoDBStreams_20120810.GetRecords",
            &json!({"ShardIterator": iterator}),
        );
        let of_page = page["Records"].as_array().unwrap();
        // An open shard has a next iterator for ever.
        if of_page.is_empty() {
            break;
        }
        records.extend(of_page.iter().cloned());
        iterator = page["NextShardIterator"].clone();
    }
    records
}
