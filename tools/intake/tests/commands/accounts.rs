//! `accounts usage` counts the log lines of requests, and `accounts erase` leaves nothing of an account.

use harness::fault_proxy::{Fault, Plan};
use harness::http_server::HttpServer;
use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::json;

use crate::support::fake_aws::{Change, FakeAws, operator_at, run_at_aws};
use crate::support::fault::{OperatorBehindProxy, operator_behind_proxy, wait_for_faults};
use crate::support::key_table::revoke_an_hour_ago;
use crate::support::operator::Operator;
use crate::support::running_command::RunningCommand;
use crate::support::terminal::Terminal;

const TABLES: [&str; 4] = [
    "CustomersTable",
    "SignalsTable",
    "RejectedSignalsTable",
    "IdempotencyTable",
];

const ERASE: [&str; 3] = ["accounts", "erase", "shop"];

/// A profile, 60 signals, a rejected signal and an idempotency record.
async fn fill(app: &TestApp, account: &str) {
    let key = app.key(account).await;
    let customer =
        RequestBuilder::customer(json!({"customerId": "shop#c", "customerData": {"city": "X"}}));
    assert_eq!(app.send(customer.key(&key)).await.status, 200);
    let mut signals = vec![json!({"customerId": "shop#c", "eventType": "t"}); 60];
    signals.push(json!({"customerId": "shop#c", "eventType": ""}));
    let body =
        json!({"requestIdentifier": "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11", "signals": signals});
    let batch = RequestBuilder::signals(body)
        .key(&key)
        .received_at(Timestamp::now());
    assert_eq!(app.send(batch).await.status, 200);
}

/// How many items each table has.
async fn items(app: &TestApp) -> Vec<usize> {
    let mut counts = Vec::new();
    for table in TABLES {
        counts.push(app.items(table).await.len());
    }
    counts
}

/// The key may have expired a moment before, with a request under way.
#[tokio::test]
async fn erasure_of_an_account_without_an_active_key_waits_for_requests_under_way() {
    let app = TestApp::start();
    fill(&app, "shop").await;
    revoke_an_hour_ago(&app, "shop").await;
    let operator = Operator::new(&app).of_local_stack();
    let erasing = RunningCommand::start(&operator, &[&ERASE[..], &["--yes"]].concat());
    let waiting = loop {
        let note = erasing.note();
        if note.starts_with("Waiting ") {
            break note;
        }
    };
    assert_eq!(
        waiting,
        "Waiting 10 s: a request that a function received before may store something until then."
    );
    assert_eq!(erasing.interrupt().code, Some(1));
    assert_eq!(items(&app).await, [1, 60, 1, 1]);
}

#[tokio::test]
async fn interrupted_erasure_of_an_account_has_revoked_its_keys_and_deleted_nothing() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    fill(&app, "shop").await;
    let unconfirmed = operator.run(&ERASE).error_message();
    let question = "Erase 1 profile(s), 60 signal(s), 1 rejected signal(s), 1 idempotency record(s): everything that is stored of \
        the account shop, and revoke 1 key(s)? This cannot be undone.";
    assert!(unconfirmed.starts_with(question), "{unconfirmed}");
    assert_eq!(items(&app).await, [1, 60, 1, 1]);

    // The key is revoked first; functions may have cached it.
    let erasing = RunningCommand::start(&operator, &[&ERASE[..], &["--yes", "--json"]].concat());
    loop {
        let note = erasing.note();
        if note.starts_with("Waiting ") && note.contains("up to 60 s after its revocation") {
            break;
        }
    }
    assert_eq!(items(&app).await, [1, 60, 1, 1]);
    let ended = erasing.interrupt();
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        ended.stderr,
        ["error: Interrupted. To erase what is left, run the command again."]
    );
    let keys = operator.list_keys();
    let states: Vec<_> = keys.iter().map(|key| &key["state"]).collect();
    assert_eq!(states, ["revoked"]);
}

/// What the erasure of `shop` says after it has revoked a key that was created meanwhile.
const LATER_KEY: &str = "The account shop got 1 key during the erasure. The command revoked those that were active, but data \
    that clients sent with them may be stored. Make sure that no operator creates keys of this account, and run the command \
    again.";

#[track_caller]
fn assert_all_keys_are_revoked(operator: &Operator) {
    let keys = operator.list_keys();
    let states: Vec<_> = keys.iter().map(|key| &key["state"]).collect();
    assert_eq!(states, ["revoked", "revoked"]);
}

#[tokio::test]
async fn key_created_before_the_confirmation_is_revoked_and_waited_for() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    fill(&app, "shop").await;
    revoke_an_hour_ago(&app, "shop").await;
    let mut terminal = Terminal::run(&operator, &ERASE);
    terminal.wait_for("Type shop to confirm:");
    operator.create_key("later");
    terminal.write("shop\n");
    terminal.wait_for("Waiting 7");
    assert_all_keys_are_revoked(&operator);
    assert_eq!(items(&app).await, [1, 60, 1, 1]);
    terminal.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_waits_for_a_table_that_throttles_whole_batches_and_fails_if_a_key_was_created() {
    let app = TestApp::start();
    fill(&app, "shop").await;
    revoke_an_hour_ago(&app, "shop").await;
    let throttled = Fault::THROTTLED.always().for_operation("BatchWriteItem");
    let OperatorBehindProxy { operator, proxy } = operator_behind_proxy(&app, throttled).await;
    let operator = operator.of_local_stack();
    let erasing = RunningCommand::start(&operator, &[&ERASE[..], &["--yes"]].concat());
    // These are more failures than one call has attempts.
    wait_for_faults(&proxy, 9).await;
    operator.create_key("later");
    proxy.set(Plan::none());
    let ended = erasing.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let error = format!("error: {LATER_KEY}");
    assert_eq!(ended.stderr.last(), Some(&error), "{ended:?}");
    // The operator needs the line for the record nevertheless.
    assert!(
        ended.stdout[0].starts_with("Erased everything that is stored of the account shop, at "),
        "{ended:?}"
    );
    assert_all_keys_are_revoked(&operator);
    assert_eq!(items(&app).await, [0; 4]);
}

#[tokio::test]
async fn erasure_of_an_account_deletes_its_data_only() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    for account in ["shop", "shop-2", "sho"] {
        fill(&app, account).await;
    }
    revoke_an_hour_ago(&app, "shop").await;
    let counted = operator.run(&[&ERASE[..], &["--dry-run", "--json"]].concat());
    assert_eq!(
        counted.success().json(),
        [
            json!({"accountId": "shop", "profiles": 1, "signals": 60, "rejectedSignals": 1, "idempotencyRecords": 1})
        ]
    );
    assert_eq!(items(&app).await, [3, 180, 3, 3]);
    let ended = operator
        .run(&[&ERASE[..], &["--yes", "--json"]].concat())
        .success();
    let late_signals = "run the command again: it erases what was stored since.\n";
    assert!(ended.stderr.ends_with(late_signals), "{}", ended.stderr);
    let mut erased = ended.json();
    let summary = erased[0].as_object_mut().unwrap();
    let erased_at = summary.remove("erasedAt").unwrap();
    let erased_at = erased_at.as_str().unwrap();
    assert!(erased_at.parse::<Timestamp>().is_ok(), "{erased_at}");
    let counts = json!({
        "accountId": "shop", "profiles": 1, "signals": 60, "rejectedSignals": 1, "idempotencyRecords": 1, "revokedKeys": 0,
    });
    assert_eq!(erased, [counts]);
    assert_eq!(items(&app).await, [2, 120, 2, 2]);
    let keys = operator.list_keys();
    let accounts_of_active_keys: Vec<_> = keys
        .iter()
        .filter(|key| key["state"] == "active")
        .map(|key| &key["accountId"])
        .collect();
    assert_eq!(accounts_of_active_keys, ["shop-2", "sho"]);
}

#[test]
fn erasure_of_an_account_that_does_not_exist_is_an_error() {
    let app = TestApp::start();
    let erased = Operator::new(&app)
        .of_local_stack()
        .run(&["accounts", "erase", "shopp", "--yes"]);
    assert_eq!(
        erased.error_message(),
        "The account shopp has no key, and there is no data of it."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_of_the_stack_in_the_environment_is_counted_by_key() {
    let usage = run_at_aws(None, &["accounts", "usage", "--json"])
        .await
        .success()
        .json();
    assert_eq!(
        usage,
        [
            json!({"accountId": "shop", "keyId": "key_1", "requests": 7, "accepted": 120, "rejected": 3,
                "lastSeen": "2026-11-20T22:33:44.123Z"}),
            json!({"accountId": "shop", "keyId": "key_2", "requests": 1, "accepted": 0, "rejected": 0,
                "lastSeen": "2026-11-20 22:33:44.123"}),
        ]
    );
    let change = Change {
        operation: "GetQueryResults",
        about: "q1",
        place: "/status",
        value: "Failed".into(),
    };
    let failed = run_at_aws(Some(change), &["accounts", "usage"])
        .await
        .error_message();
    assert_eq!(
        failed,
        "The logs of the functions cannot be read: the query ended as Failed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_waits_while_cloudwatch_logs_runs_as_many_queries_as_it_allows() {
    let change = Change {
        operation: "StartQuery",
        about: "",
        place: "",
        value: json!({"__type": "LimitExceededException", "message": "too many"}),
    };
    let aws = HttpServer::start(FakeAws::new(Some(change)), None)
        .await
        .unwrap();
    let operator = operator_at(&aws.endpoint());
    let running = RunningCommand::start(&operator, &["accounts", "usage"]);
    let waiting = running.note();
    let expected = "CloudWatch Logs: AWS already runs as many of these queries as it allows. Retrying for up to ";
    assert!(waiting.starts_with(expected), "{waiting}");
    assert_eq!(running.interrupt().code, Some(1));
}
