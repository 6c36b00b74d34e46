//! `signals erase` deletes the signals of one type, account and period.

use emulator::sqs::FakeSqs;
use harness::TestApp;
use harness::fault_proxy::{Fault, Plan};
use model::timestamp::Timestamp;
use serde_json::json;

use crate::support::clock::days_ago;
use crate::support::fault::{OperatorBehindProxy, operator_behind_proxy, wait_for_fault};
use crate::support::operator::Operator;
use crate::support::requests::{FLOW, send_at};
use crate::support::running_command::RunningCommand;

/// Sends signals of the type `card_entered` and others, of two accounts: ten, five and two days
/// ago.
async fn send_cards(app: &TestApp) {
    for account in ["shop", "shop-2"] {
        let key = app.key(account).await;
        for days in [10, 5, 2] {
            let mut signals = vec![json!({"customerId": "c", "eventType": "card_entered"}); 60];
            signals.extend([
                json!({"customerId": "c", "eventType": "card_entered_2"}),
                json!({"customerId": "c", "eventType": "t", "data": {"eventType": "card_entered"}}),
                json!({"emitterId": "e", "stepNodeId": "card_entered", "eventflowIdentifier": FLOW}),
                // These two are rejected.
                json!({"customerId": "", "eventType": "card_entered"}),
                json!({"customerId": "card_entered", "eventType": ""}),
            ]);
            send_at(app, &key, days_ago(days), json!(signals)).await;
        }
    }
}

const ERASE: [&str; 10] = [
    "signals",
    "erase",
    "--account",
    "shop",
    "--type",
    "card_entered",
    "--since",
    "6d",
    "--until",
    "3d",
];

#[tokio::test]
async fn erasure_by_type_deletes_one_type_of_one_account_in_one_period() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    send_cards(&app).await;
    let assert_stored = async |signals: usize, rejected: usize| {
        assert_eq!(app.items("SignalsTable").await.len(), signals);
        assert_eq!(app.items("RejectedSignalsTable").await.len(), rejected);
    };
    let erase = |more: &[&str]| operator.run(&[&ERASE[..], more].concat());
    assert_stored(378, 12).await;

    let counted = erase(&["--dry-run", "--json"]).success().json()[0].clone();
    assert_eq!(counted["signals"], 61);
    assert_eq!(counted["rejectedSignals"], 1);
    assert_eq!(counted["type"], "card_entered");
    assert!(counted.get("erasedAt").is_none());
    let unconfirmed = erase(&[]).error_message();
    assert!(
        unconfirmed.starts_with(
            "Erase 61 signal(s), 1 rejected signal(s): what the account shop sent of the type"
        ),
        "{unconfirmed}"
    );
    assert_stored(378, 12).await;

    let erased = erase(&["--yes"]).success();
    assert!(
        erased
            .stdout
            .starts_with("Erased what the account shop sent of the type \"card_entered\", from 20"),
        "{}",
        erased.stdout
    );
    assert!(
        erased
            .stdout
            .ends_with("Z: 61 signal(s), 1 rejected signal(s).\n"),
        "{}",
        erased.stdout
    );
    assert_stored(317, 11).await;
    let again = erase(&["--yes", "--json"]).success().json()[0].clone();
    assert_eq!(again["signals"], 0);
    assert_eq!(again["rejectedSignals"], 0);
}

#[tokio::test]
async fn erasure_by_type_refuses_a_period_that_is_not_over() {
    let operator = Operator::new(&TestApp::start());
    let erase = |since, until| {
        let period = ["--since", since, "--until", until];
        operator
            .run(&[&ERASE[..6], &period].concat())
            .error_message()
    };
    assert_eq!(
        erase("1h", "2199-01-01"),
        "--until must not be in the future: signals that arrive after the erasure would not be erased."
    );
    assert_eq!(erase("1h", "2h"), "--since must be before --until.");
}

#[tokio::test]
async fn erasure_by_type_of_a_period_that_has_just_ended_waits_for_functions() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    app.key("shop").await;
    let now = Timestamp::now().to_string();
    let erase = [&ERASE[..8], &["--until", &now, "--yes"]].concat();
    let waiting = RunningCommand::start(&operator, &erase);
    assert!(waiting.note().starts_with("Counting "));
    assert!(waiting.note().starts_with("Found nothing: "));
    let note = waiting.note();
    assert!(
        note.starts_with("Waiting ")
            && note.ends_with(
                " s: a request that a function received before --until may store something until then."
            ),
        "{note}"
    );
    let ended = waiting.end("KILL");
    assert_eq!(ended.stdout, Vec::<String>::new());
    assert_eq!(ended.stderr, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_by_type_deletes_when_the_messages_that_were_queued_while_it_counted_are_drained() {
    let app = TestApp::start();
    let sqs = FakeSqs::start().await.unwrap();
    let operator = Operator::new(&app).of_local_stack().with_queues(&sqs);
    send_cards(&app).await;
    let erase = [&ERASE[..], &["--yes"]].concat();
    for (overflow, dead_letters) in [(1, 0), (0, 1)] {
        sqs.set_counts(
            [[0, 0, 0], [overflow, 0, 0]],
            [[0, 0, 0], [dead_letters, 0, 0]],
        );
        let erasing = RunningCommand::start(&operator, &erase);
        let waiting = format!(
            "Waiting for up to 15 minutes until the queues are empty: the overflow queue has {overflow} message(s) and its \
             dead-letter queue {dead_letters}."
        );
        while erasing.note() != waiting {}
        assert_eq!(app.items("SignalsTable").await.len(), 378);
        assert_eq!(erasing.interrupt().stdout, Vec::<String>::new());
    }
    sqs.set_counts([[0, 0, 0], [1, 0, 0], [0, 0, 0]], [[0, 0, 0]]);
    operator.run(&erase).success();
    assert_eq!(app.items("SignalsTable").await.len(), 317);
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_erasure_by_type_is_completed_by_a_second_run() {
    let app = TestApp::start();
    send_cards(&app).await;
    let hanging = Fault::Hanging.always().for_operation("BatchWriteItem");
    let OperatorBehindProxy { operator, proxy } = operator_behind_proxy(&app, hanging).await;
    let operator = operator.of_local_stack();
    let erase = [&ERASE[..], &["--yes"]].concat();
    let erasing = RunningCommand::start(&operator, &erase);
    wait_for_fault(&proxy).await;
    let ended = erasing.interrupt();
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout, Vec::<String>::new());
    assert_eq!(
        ended.stderr.last().unwrap(),
        "error: Interrupted. To erase what is left, run the command again."
    );
    assert_eq!(app.items("SignalsTable").await.len(), 378);

    proxy.set(Plan::none());
    let again = operator.run(&erase).success();
    assert!(
        again
            .stdout
            .ends_with("Z: 61 signal(s), 1 rejected signal(s).\n"),
        "{}",
        again.stdout
    );
    assert_eq!(app.items("SignalsTable").await.len(), 317);
}
