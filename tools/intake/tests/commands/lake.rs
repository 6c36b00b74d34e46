//! `lake erase` removes events from the objects of the lake, and `lake backfill` writes those of what is
//! stored.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use harness::fake_s3::FakeS3;
use harness::fault_proxy::{AwsService, Fault, Order, Plan};
use harness::{RequestBuilder, TestApp};
use serde_json::{Value, json};

use crate::support::lake::events;
use crate::support::operator::{CommandOutput, Operator};
use crate::support::requests::{FLOW, send};
use crate::support::running_command::RunningCommand;

/// The erasure of a customer of the account `shop`, without the id.
pub(crate) const CUSTOMER: [&str; 7] = [
    "lake",
    "erase",
    "customer",
    "--bucket",
    "lake",
    "--account",
    "shop",
];

/// An operator with credentials and this S3.
pub(crate) fn operator(s3: &FakeS3) -> Operator {
    Operator::with_credentials("http://127.0.0.1:9").variable("AWS_ENDPOINT_URL_S3", &s3.endpoint())
}

pub(crate) fn event(account: &str, kind: &str, subject: &str, number: usize) -> Value {
    json!({
        "specversion": "1.0", "id": number.to_string(), "source": format!("/accounts/{account}/{kind}"), "type": "purchase",
        "subject": subject, "time": format!("2026-11-20T00:00:{number:02}.000Z"), "data": {"subject": "shop"},
    })
}

/// Writes events into an object of the lake.
pub(crate) fn put(s3: &FakeS3, name: &str, events: &[Value]) {
    let mut object = GzEncoder::new(Vec::new(), Compression::fast());
    for event in events {
        writeln!(object, "{event}").unwrap();
    }
    let path = format!("/lake/events/{name}");
    s3.put(&path, object.finish().unwrap());
}

pub(crate) fn ids(s3: &FakeS3) -> Vec<String> {
    let events = events(s3);
    let ids = events.iter().map(|event| event["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

/// Two objects of two accounts, with ids that look like options and patterns.
pub(crate) async fn lake() -> FakeS3 {
    let s3 = FakeS3::start().await.unwrap();
    let first = [
        event("shop", "signals", "ada", 1),
        event("shop", "customers", "ada", 2),
        event("shop", "signals", "--all", 3),
        event("shop", "signals", "*", 4),
        event("shop-2", "signals", "ada", 5),
    ];
    put(&s3, "dt=2026-11-20/a.gz", &first);
    let second = [
        event("shop", "signals", "-NxAbC123", 6),
        event("shop", "signals", "bob", 7),
    ];
    put(&s3, "dt=2026-11-21/b.gz", &second);
    s3
}

pub(crate) fn erase(s3: &FakeS3, more: &[&str]) -> CommandOutput {
    operator(s3).run(&[&CUSTOMER[..], more].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_customers_are_erased_and_objects_without_any_are_not_written() {
    let s3 = lake().await;
    let counted = erase(&s3, &["--id=ada", "--dry-run", "--json"])
        .success()
        .json();
    assert_eq!(
        counted,
        [json!({"accountId": "shop", "ids": ["ada"], "bucket": "lake", "events": 2, "objects": 1})]
    );
    let unconfirmed = erase(&s3, &["--id=ada"]).error_message();
    assert_eq!(
        unconfirmed,
        "Erase the events of \"ada\" in the account shop in the lake lake? This cannot be undone. Standard input is not a \
         terminal: add --yes to confirm."
    );
    assert_eq!(ids(&s3).len(), 7);
    s3.take_requests();
    let erased = erase(&s3, &["--id=ada", "--yes"]).success().stdout;
    assert!(
        erased.starts_with(
            "Erased the events of \"ada\" in the account shop in the lake lake, at 20"
        ),
        "{erased}"
    );
    assert!(
        erased.ends_with("Z: 2 event(s) in 1 object(s).\n"),
        "{erased}"
    );
    assert_eq!(ids(&s3), ["3", "4", "5", "6", "7"]);
    let requests = s3.take_requests();
    let writes: Vec<_> = requests
        .iter()
        .filter(|request| request.starts_with("PUT"))
        .collect();
    assert_eq!(writes, ["PUT /lake/events/dt=2026-11-20/a.gz"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_waits_while_s3_fails_the_reads_of_objects() {
    let s3 = lake().await;
    let slow_down = Fault::refused_as(503, "SlowDown");
    s3.faults()
        .set(slow_down.always().for_operation("GetObject"));
    let arguments = [&CUSTOMER[..], &["--id=ada", "--yes"]].concat();
    let running = RunningCommand::start(&operator(&s3), &arguments);
    assert!(running.note().starts_with("Reading the 2 object(s)"));
    let waiting = running.note();
    let expected = "S3: AWS fails. Retrying for up to ";
    assert!(waiting.starts_with(expected), "{waiting}");
    s3.faults().set(Plan::none());
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ids(&s3), ["3", "4", "5", "6", "7"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn object_whose_body_breaks_off_is_read_again() {
    let s3 = lake().await;
    let cut = Order::next_calls(AwsService::S3, "GetObject", [Fault::CutBody]);
    s3.faults().order(cut);
    erase(&s3, &["--id=ada", "--yes"]).success();
    assert_eq!(s3.faults().counts().faulted, 1);
    assert_eq!(ids(&s3), ["3", "4", "5", "6", "7"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn id_that_looks_like_an_option_or_a_pattern_is_an_id() {
    let s3 = lake().await;
    for (arguments, left) in [
        (
            &["--yes", "--id=--all"][..],
            &["1", "2", "4", "5", "6", "7"][..],
        ),
        (&["--yes", "--", "-NxAbC123"], &["1", "2", "4", "5", "7"]),
        (&["--yes", "--id=*"], &["1", "2", "5", "7"]),
        (&["--yes", "--", "ada", "bob"], &["5"]),
    ] {
        erase(&s3, arguments).success();
        assert_eq!(ids(&s3), left, "{arguments:?}");
    }
    // No option is abbreviated, and none stands for a whole account.
    for arguments in [
        &["--yes", "--all"][..],
        &["--yes"],
        &["--ye", "--id=ada"],
        &["--id", "ada", "--yes"],
    ] {
        let invalid = erase(&s3, arguments);
        assert_eq!(invalid.code, Some(2), "{arguments:?} {invalid:?}");
    }
    assert_eq!(ids(&s3), ["5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_an_account_or_a_type_are_erased() {
    let s3 = lake().await;
    let run = |command: &[&str], more: &[&str]| {
        let erase = ["lake", "erase"];
        operator(&s3).run(&[&erase[..], command, &["--bucket", "lake"], more].concat())
    };
    let signals = [
        "signals",
        "--account",
        "shop",
        "--type",
        "purchase",
        "--since",
        "2026-11-20T00:00:03Z",
        "--until",
        "2026-11-20T00:00:07Z",
    ];
    run(&signals, &["--yes"]).success();
    assert_eq!(ids(&s3), ["1", "2", "5", "7"]);
    let unconfirmed = run(&["account", "shop"], &[]).error_message();
    assert!(
        unconfirmed.starts_with("Erase all events of the account shop in the lake lake?"),
        "{unconfirmed}"
    );
    run(&["account", "shop"], &["--yes"]).success();
    assert_eq!(ids(&s3), ["5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_erasures_at_once_restore_nothing() {
    let s3 = lake().await;
    // Both read before one of them writes.
    let slow = Fault::Slow(std::time::Duration::from_millis(400));
    s3.faults().set(slow.always());
    let operator = operator(&s3);
    let start =
        |id: &str| RunningCommand::start(&operator, &[&CUSTOMER[..], &["--yes", id]].concat());
    let (first, second) = (start("--id=ada"), start("--id=*"));
    for running in [first, second] {
        let ended = running.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    s3.faults().set(Plan::none());
    assert_eq!(ids(&s3), ["3", "5", "6", "7"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_whose_write_gets_a_500_is_counted_once() {
    let s3 = lake().await;
    let lost = Order::next_calls(AwsService::S3, "PutObject", [Fault::ErrorAfter]);
    s3.faults().order(lost);
    let erased = erase(&s3, &["--id=bob", "--yes", "--json"]).success();
    assert_eq!(erased.json()[0]["events"], 1, "{erased:?}");
    assert_eq!(ids(&s3), ["1", "2", "3", "4", "5", "6"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn line_that_cannot_be_read_stays_and_fails_the_command() {
    let s3 = FakeS3::start().await.unwrap();
    put(
        &s3,
        "dt=2026-11-20/a.gz",
        &[event("shop", "signals", "ada", 1), json!("no event")],
    );
    s3.put("/lake/events/dt=2026-11-20/b", "no gzip");
    let erased = erase(&s3, &["--id=ada", "--yes"]);
    assert_eq!(erased.code, Some(1), "{erased:?}");
    assert!(
        erased.stdout.ends_with("Z: 1 event(s) in 1 object(s).\n"),
        "{erased:?}"
    );
    assert!(
        erased
            .stderr
            .contains("events/dt=2026-11-20/b cannot be read as gzip: "),
        "{erased:?}"
    );
    assert!(
        erased
            .stderr
            .contains("events/dt=2026-11-20/a.gz: 1 line(s) cannot be read."),
        "{erased:?}"
    );
    let missing = operator(&s3).run(&[&CUSTOMER[..3], &["--account", "shop", "--id=ada"]].concat());
    assert_eq!(
        missing.error_message(),
        "No lake: give --bucket NAME, or the stack of the service by --stack NAME."
    );
    // A local stack whose DynamoDB listens, and is not asked.
    let operator = operator(&s3).variable("AWS_ENDPOINT_URL_DYNAMODB", &s3.endpoint());
    operator.write_env_file("dev.env");
    let local = operator.run(&[&["--local=dev.env"], &CUSTOMER[..], &["--id=ada"]].concat());
    assert_eq!(
        local.error_message(),
        "The stack of `cargo dev` has no lake."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_writes_stored_signals_and_customers_whose_events_can_then_be_erased() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let operator = Operator::new(&app).variable("AWS_ENDPOINT_URL_S3", &s3.endpoint());
    let key = app.key("shop").await;
    let customer = |city: &str| {
        let data = json!({"email": "ada@example.com", "city": city, "loyalty": {"tier": null}});
        RequestBuilder::customer(json!({"customerId": "ada", "customerData": data}))
    };
    send(&app, &key, customer("Paris")).await;
    let signals = json!({"signals": [
        {"customerId": "ada", "eventType": "buy", "data": {"price": 12.5}, "sessionId": "s"},
        {"emitterId": "e", "stepNodeId": "n", "eventflowIdentifier": FLOW, "data": {}},
    ]});
    send(&app, &key, RequestBuilder::signals(signals)).await;
    let backfill = ["lake", "backfill", "--bucket", "lake"];
    let written = operator.run(&backfill).success().stdout;
    assert_eq!(
        written,
        "Wrote 2 signal(s) and 1 customer(s) into 1 object(s) of the lake lake.\n"
    );
    let first = events(&s3);
    let of = |subject: &str, kind: &str| {
        let source = format!("/accounts/shop/{kind}");
        let found = first
            .iter()
            .find(|event| event["subject"] == subject && event["source"] == *source);
        found.unwrap().clone()
    };
    let buy = of("ada", "signals");
    assert_eq!(
        buy["data"],
        json!({"customerId": "ada", "eventType": "buy", "data": {"price": 12.5}, "sessionId": "s"})
    );
    assert_eq!(of("e", "signals")["type"], "n");
    let profile = of("ada", "customers");
    assert_eq!(
        profile["data"],
        json!({"new": {"email": "ada@example.com", "city": "Paris", "loyalty": {"tier": null}}})
    );

    // The same state has the same id in the next run, and a new state has another.
    send(&app, &key, customer("Rome")).await;
    operator.run(&backfill).success();
    let both = events(&s3);
    assert_eq!(both.len(), 6);
    let ids_of = |source: &str| {
        let mut ids: Vec<_> = both
            .iter()
            .filter(|event| event["source"] == *source)
            .map(|event| event["id"].as_str().unwrap())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids.len()
    };
    assert_eq!(ids_of("/accounts/shop/signals"), 2);
    assert_eq!(ids_of("/accounts/shop/customers"), 2);

    operator
        .run(&[&CUSTOMER[..], &["--id=ada", "--yes"]].concat())
        .success();
    let subjects: Vec<_> = events(&s3)
        .iter()
        .map(|event| event["subject"].clone())
        .collect();
    assert_eq!(subjects, ["e", "e"]);
    let none = operator.run(&[&backfill[..], &["--since", "2099-01-01", "--json"]].concat());
    assert_eq!(
        none.success().json(),
        [json!({"bucket": "lake", "signals": 0, "customers": 0, "objects": 0})]
    );
}
