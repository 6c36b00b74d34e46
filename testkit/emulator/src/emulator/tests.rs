use serde_json::{Value, json};

use super::{Emulator, Storage};
use crate::Template;

const TEMPLATE: &str = "
Resources:
  ApiKeysTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: keyHash, AttributeType: S}]
      KeySchema: [{AttributeName: keyHash, KeyType: HASH}]
  SignalsTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: sk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: {AttributeName: expiresAt, Enabled: true}
";

fn template() -> Template {
    Template::parse(TEMPLATE).unwrap()
}

/// One request of DynamoDB's protocol, as an SDK sends it.
fn call(emulator: &Emulator, operation: &str, body: &Value) -> Value {
    let credential = "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request";
    let mut response = ureq::post(emulator.endpoint())
        .header("Content-Type", "application/x-amz-json-1.0")
        .header("X-Amz-Target", format!("DynamoDB_20120810.{operation}"))
        .header("X-Amz-Date", "20260101T000000Z")
        .header("Authorization", format!("{credential}, SignedHeaders=host, Signature=0"))
        .send(body.to_string())
        .unwrap();
    serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap()
}

fn count(emulator: &Emulator, table: &str) -> Value {
    call(emulator, "Scan", &json!({"TableName": table, "Select": "COUNT"}))["Count"].clone()
}

#[test]
fn items_in_a_file_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::File(folder.path().join("data"));
    let mut first = Emulator::start(&template(), &storage, 0).unwrap();
    first.put_item("ApiKeysTable", &json!({"keyHash": {"S": "a"}})).unwrap();
    first.stop();

    let second = Emulator::start(&template(), &storage, 0).unwrap();
    assert_eq!(count(&second, "ApiKeysTable"), 1);
}

#[test]
fn file_with_other_keys_than_the_template_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::File(folder.path().join("data"));
    drop(Emulator::start(&template(), &storage, 0).unwrap());

    let changed = Template::parse(&TEMPLATE.replace("keyHash", "hash")).unwrap();
    let error = Emulator::start(&changed, &storage, 0).err().unwrap().to_string();
    assert_eq!(
        error,
        "The data file's table ApiKeysTable is not as the template declares it: delete the file, or name another."
    );
}
