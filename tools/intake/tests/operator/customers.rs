//! `customers`.

use model::timestamp::Timestamp;
use serde_json::json;
use testkit::{RequestBuilder, TestApp};

use crate::operator::Operator;

async fn send(app: &TestApp, key: &str, call: RequestBuilder) {
    assert_eq!(app.send(call.key(key)).await.status, 200);
}

#[tokio::test]
async fn customer_is_shown_as_a_table_and_as_json() {
    let app = TestApp::start();
    let (operator, key) = (Operator::of(&app), app.key("shop").await);
    let data = r#"{"email":"ada@example.com","firstName":"Ada","zip":"","visits":12345678901234567890123}"#;
    send(&app, &key, RequestBuilder::customer(format!(r#"{{"customerId":"c#1","customerData":{data}}}"#))).await;
    let shown = operator.run(&["customers", "show", "--account", "shop", "c#1"]).success();
    let names: Vec<_> = shown.stdout.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, ["customerId", "email", "firstName", "zip", "visits", "createdAt", "updatedAt"]);
    let shown = operator.run(&["customers", "show", "--account", "shop", "c#1", "--json"]).success();
    assert!(shown.stdout.contains(r#""visits":12345678901234567890123"#), "{}", shown.stdout);
    assert_eq!(shown.json()[0]["customerId"], "c#1");

    let missing = operator.run(&["customers", "show", "--account", "shop", "c"]).error_message();
    assert_eq!(missing, "The account shop has no customer \"c\".");
}

#[tokio::test]
async fn erasure_deletes_all_data_of_one_customer_only() {
    let app = TestApp::start();
    let (operator, key) = (Operator::of(&app), app.key("shop").await);
    for subject_id in ["ada", "bob"] {
        send(&app, &key, RequestBuilder::customer(json!({"customerId": subject_id, "customerData": {"city": "X"}})))
            .await;
        let mut signals = vec![json!({"customerId": subject_id, "eventType": "t"}); 60];
        signals.push(json!({"customerId": subject_id, "eventType": ""}));
        // It names both subjects, so it is about both.
        signals.push(json!({"customerId": subject_id, "eventType": "t", "emitterId": "both", "stepNodeId": "n"}));
        send(&app, &key, RequestBuilder::signals(json!({"signals": signals}))).await;
    }
    let erase = ["customers", "erase", "--account", "shop", "ada"];
    let unconfirmed = operator.run(&erase).error_message();
    assert!(unconfirmed.contains("1 profile(s), 60 signal(s), 2 rejected signal(s)"), "{unconfirmed}");
    assert!(app.customer("shop", "ada").await.is_some());

    let mut erased = operator.run(&[&erase[..], &["--yes", "--json"]].concat()).success().json();
    let erased_at = erased[0].as_object_mut().unwrap().remove("erasedAt").unwrap();
    assert!(erased_at.as_str().unwrap().parse::<Timestamp>().is_ok(), "{erased_at}");
    assert_eq!(erased, [json!({"accountId": "shop", "id": "ada", "profiles": 1, "signals": 60, "rejectedSignals": 2})]);
    assert!(app.customer("shop", "ada").await.is_none() && app.customer("shop", "bob").await.is_some());
    assert_eq!((app.history("shop", "ada").await.len(), app.history("shop", "bob").await.len()), (0, 60));
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 2);

    let again = operator.run(&[&erase[..], &["--yes"]].concat()).success();
    assert!(again.stderr.contains("Nothing is stored of \"ada\""), "{}", again.stderr);

    // An emitter has no profile.
    let both = operator.run(&["customers", "erase", "--account", "shop", "both", "--yes"]).success();
    assert!(both.stdout.starts_with("Erased \"both\" in the account shop at 20"), "{}", both.stdout);
    assert!(both.stdout.ends_with("Z: 0 profile(s), 0 signal(s), 1 rejected signal(s).\n"), "{}", both.stdout);
}
