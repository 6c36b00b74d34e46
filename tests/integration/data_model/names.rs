//! Names that a parser of JSON takes for its own are stored as any other. `.ci/nightly dynamodb` runs this over
//! DynamoDB Local, too.

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{Item, RequestBuilder, TestApp};

/// Names that `serde_json` uses itself, and one beside them.
const NAMES: [&str; 3] = [
    "$serde_json::private::RawValue",
    "$serde_json::private::Number",
    "$serde_json::private::RawValue~",
];

/// The value at the end of these names of attributes.
fn at<'i>(item: &'i Item, names: &[&str]) -> &'i AttributeValue {
    let (first, rest) = names.split_first().unwrap();
    let mut value = &item[*first];
    for name in rest {
        value = &value.as_m().unwrap()[*name];
    }
    value
}

#[tokio::test]
async fn name_that_the_parser_uses_itself_is_stored_as_it_was_sent() {
    let (app, key) = TestApp::with_key("shop").await;
    for (index, name) in NAMES.into_iter().enumerate() {
        let id = format!("c-{index}");
        let escaped = name.replace('$', "\\u0024");
        let batch = format!(
            r#"{{"{name}": 1, "signals": [{{"customerId": "{id}", "eventType": "t", "data": {{"{name}": "1", "in": {{"{escaped}": [1]}}}}, "{escaped}": {{"{name}": true}}}}]}}"#
        );
        let response = app.send(RequestBuilder::signals(batch).key(&key)).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.json()["accepted"], 1, "{response:?}");
        let signal = app.history("shop", &id).await.remove(0);
        let text = AttributeValue::S("1".to_owned());
        assert_eq!(at(&signal, &["data", name]), &text);
        let list = AttributeValue::L(vec![AttributeValue::N("1".to_owned())]);
        assert_eq!(at(&signal, &["data", "in", name]), &list);
        let is_true = AttributeValue::Bool(true);
        assert_eq!(at(&signal, &["undocumented", name, name]), &is_true);

        let customer = format!(
            r#"{{"customerId": "{id}", "customerData": {{"{name}": "1", "in": {{"{escaped}": "1"}}}}}}"#
        );
        for result in ["created", "updated"] {
            let call = RequestBuilder::customer(&customer).key(&key);
            let response = app.send(call).await;
            assert_eq!(response.json()["result"], result, "{response:?}");
            let item = app.customer("shop", &id).await.unwrap();
            assert_eq!(at(&item, &[name]), &text);
            assert_eq!(at(&item, &["in", name]), &text);
        }
    }
}
