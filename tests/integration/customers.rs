//! One customer per request, merged into the stored profile (docs/api.md, Customers).

use aws_sdk_dynamodb::types::AttributeValue;
use model::timestamp::Timestamp;
use serde_json::json;
use testkit::{RequestBuilder, TestApp};

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

#[tokio::test]
async fn new_customer_is_created_and_a_stored_one_updated() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let body = json!({"customerId": "c1", "customerData": {"email": "ada@example.com", "zip": ""}});
    let first = Timestamp::from_millis(1_795_214_024_123);

    let created = app.send(RequestBuilder::customer(&body).key(&key).at(first)).await;
    assert_eq!(created.status, 200);
    assert_eq!(created.header("content-type"), "application/json");
    assert_eq!(
        created.text,
        r#"{"customerId":"c1","result":"created","updatedAt":"2026-11-20T22:33:44.123Z","warnings":[]}"#
    );

    let second = Timestamp::from_millis(1_795_214_099_001);
    let updated = app.send(RequestBuilder::customer(&body).method("PATCH").key(&key).at(second)).await;
    assert_eq!(
        updated.text,
        r#"{"customerId":"c1","result":"updated","updatedAt":"2026-11-20T22:34:59.001Z","warnings":[]}"#
    );

    let mut item = app.customer("shop", "c1").await.unwrap();
    let fence: u64 = item.remove("fence").unwrap().as_n().unwrap().parse().unwrap();
    assert_eq!(fence >> 20, second.millis());
    let expected = [
        ("pk", s("shop#c1")),
        ("accountId", s("shop")),
        ("customerId", s("c1")),
        ("email", s("ada@example.com")),
        ("zip", s("")),
        ("createdAt", s("2026-11-20T22:33:44.123Z")),
        ("updatedAt", s("2026-11-20T22:34:59.001Z")),
    ];
    assert_eq!(item, expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
}

#[tokio::test]
async fn absent_field_stays_null_removes_and_string_replaces() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let before =
        json!({"customerId": "c1", "customerData": {"email": "a", "city": "London", "state": "x", "tier": "gold"}});
    app.send(RequestBuilder::customer(before).key(&key)).await;
    let change = json!({"customerId": "c1", "customerData": {"city": null, "state": "", "tier": null, "dob": null}});
    assert_eq!(app.send(RequestBuilder::customer(change).key(&key)).await.status, 200);

    let item = app.customer("shop", "c1").await.unwrap();
    assert_eq!((item.get("email"), item.get("state")), (Some(&s("a")), Some(&s(""))));
    assert_eq!((item.get("city"), item.get("tier"), item.get("dob")), (None, None, None));
}

#[tokio::test]
async fn empty_customer_data_only_creates_the_customer() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let response = app.send(RequestBuilder::customer(json!({"customerId": "c1", "customerData": {}})).key(&key)).await;
    assert_eq!(response.json()["result"], "created");
    assert_eq!(app.customer("shop", "c1").await.unwrap().len(), 6);
}

#[tokio::test]
async fn unknown_fields_are_stored_as_sent_with_a_warning() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let body = r#"{"customerId":"c1","customerData":{"phone":"1","prefs":{"n":[1.50,12345678901234567890123456789012345678,null,true]}}}"#;
    let response = app.send(RequestBuilder::customer(body).key(&key)).await;
    insta::assert_json_snapshot!(response.json()["warnings"], @r#"
    [
      {
        "code": "undocumented-member",
        "field": "customerData.phone",
        "message": "customerData.phone is not in the contract; it is stored as it was sent. Did you mean phoneNumber?",
        "pointer": "/customerData/phone"
      },
      {
        "code": "undocumented-member",
        "field": "customerData.prefs",
        "message": "customerData.prefs is not in the contract; it is stored as it was sent.",
        "pointer": "/customerData/prefs"
      }
    ]
    "#);
    let item = app.customer("shop", "c1").await.unwrap();
    let list = item["prefs"].as_m().unwrap()["n"].as_l().unwrap();
    assert_eq!(list[1], AttributeValue::N("12345678901234567890123456789012345678".into()));
    assert_eq!((&list[2], &list[3]), (&AttributeValue::Null(true), &AttributeValue::Bool(true)));
}

#[tokio::test]
async fn invalid_customer_gets_every_error_and_is_not_stored() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let body = r#"{"customerId":"null","customerData":{"email":1,"createdAt":"x","zip":"1","zip":"2","score":1e999}}"#;
    let response = app.send(RequestBuilder::customer(body).key(&key)).await;
    response.assert_problem(400, "validation-failed");
    let expected = [
        ("/customerId", "placeholder-identifier"),
        ("/customerData/email", "invalid-type"),
        ("/customerData/createdAt", "reserved-name"),
        ("/customerData/score", "number-out-of-range"),
        ("/customerData/zip", "duplicate-member"),
    ];
    assert_eq!(response.field_errors(), expected.map(|(pointer, code)| (pointer.to_owned(), code.to_owned())));
    assert_eq!(app.items("CustomersTable").await, []);
}

#[tokio::test]
async fn profile_beyond_an_item_is_a_422() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let value = "x".repeat(1000);
    let mut stored = 0;
    // An item has room for 400 KB: for 19 or 20 of these updates.
    let too_large = loop {
        let data: serde_json::Map<_, _> = (0..20).map(|n| (format!("m{stored}-{n}"), json!(value))).collect();
        let body = json!({"customerId": "c1", "customerData": data});
        let response = app.send(RequestBuilder::customer(body).key(&key)).await;
        if response.status != 200 {
            break response;
        }
        stored += 1;
        assert!(stored <= 20, "{stored} updates of 20 KB are stored");
    };
    too_large.assert_problem(422, "customer-too-large");
    assert!(stored >= 19, "only {stored} updates of 20 KB are stored");
}
