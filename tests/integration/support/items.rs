//! Items of DynamoDB: how they are read, changed past the functions, and written as JSON.

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{Item, TestApp};
use serde_json::{Value, json};

/// The name of the type of a value in DynamoDB's JSON.
pub(crate) fn type_of(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "S",
        AttributeValue::N(_) => "N",
        AttributeValue::Bool(_) => "BOOL",
        AttributeValue::B(_) => "B",
        AttributeValue::M(_) => "M",
        AttributeValue::L(_) => "L",
        AttributeValue::Null(_) => "NULL",
        other => panic!("{other:?}"),
    }
}

/// An attribute value as the AWS command line prints it.
pub(crate) fn dynamodb_json(value: &AttributeValue) -> Value {
    let inner = match value {
        AttributeValue::S(text) | AttributeValue::N(text) => json!(text),
        AttributeValue::Bool(truth) | AttributeValue::Null(truth) => json!(truth),
        AttributeValue::B(bytes) => json!(data_encoding::BASE64.encode(bytes.as_ref())),
        AttributeValue::M(map) => item_json(map),
        AttributeValue::L(list) => list.iter().map(dynamodb_json).collect(),
        other => panic!("{other:?}"),
    };
    json!({type_of(value): inner})
}

/// An item as a record of the stream has it, too.
pub(crate) fn item_json(item: &Item) -> Value {
    item.iter()
        .map(|(name, value)| (name.clone(), dynamodb_json(value)))
        .collect()
}

/// The numbers of the stored signals of the customer `c` of the account `shop`, in their order.
pub(crate) async fn stored_numbers(app: &TestApp) -> Vec<usize> {
    let number = |item: &Item| {
        let data = item["data"].as_m().unwrap();
        data["n"].as_n().unwrap().parse().unwrap()
    };
    app.history("shop", "c").await.iter().map(number).collect()
}
