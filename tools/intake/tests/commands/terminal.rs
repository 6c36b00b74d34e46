//! Commands in a terminal: confirmations and hidden input. And one whose reader has closed its output.

use std::process::Stdio;

use harness::TestApp;
use harness::fake_s3::FakeS3;

use crate::support::operator::Operator;
use crate::support::terminal::Terminal;

#[tokio::test]
async fn destructive_command_without_confirmation_changes_nothing() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let key = operator.create_key("web");
    let revoke = |input: &str| {
        let mut terminal = Terminal::run(&operator, &["keys", "revoke", &key.id]);
        terminal.wait_for("Revoke the key");
        terminal.wait_for("[y/N]");
        terminal.write(input);
        terminal.end()
    };
    for no in ["\n", "n\n", "nay\n"] {
        revoke(no).assert_nothing_was_changed();
    }
    assert_eq!(operator.list_keys()[0]["state"], "active");
    assert_eq!(revoke("y\n").code, Some(0));
    assert_eq!(operator.list_keys()[0]["state"], "revoked");
}

#[tokio::test]
async fn ctrl_c_at_a_question_ends_the_command_and_changes_nothing() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let key = operator.create_key("web");
    let mut terminal = Terminal::run(&operator, &["keys", "revoke", &key.id]);
    terminal.wait_for("[y/N]");
    let ended = terminal.interrupt();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.screen.contains("error: Interrupted."), "{ended:?}");
    assert_eq!(operator.list_keys()[0]["state"], "active");
}

#[tokio::test]
async fn erasure_of_an_account_is_confirmed_by_its_name() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    app.key("shop").await;
    for wrong in ["\n", "y\n", "yes\n", "Shop\n"] {
        let mut terminal = Terminal::run(&operator, &["accounts", "erase", "shop"]);
        terminal.wait_for("Type shop to confirm:");
        terminal.write(wrong);
        terminal.end().assert_nothing_was_changed();
    }
    let mut terminal = Terminal::run(&operator, &["accounts", "erase", "shop"]);
    terminal.wait_for("Type shop to confirm:");
    terminal.write("shop\n");
    terminal.wait_for("Waiting ");
    assert_eq!(operator.list_keys()[0]["state"], "revoked");
    terminal.kill();
}

#[test]
fn pasted_key_is_not_shown() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let mut terminal = Terminal::run(
        &operator,
        &["keys", "import", "--account", "shop", "--name", "old"],
    );
    terminal.wait_for("it is not shown");
    let key = "k".repeat(40);
    terminal.wait_for_echo_off();
    terminal.write(&format!("{key}\n"));
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.screen.contains(&key), "{ended:?}");
}

#[test]
fn terminal_shows_what_is_typed_after_ctrl_c_at_the_hidden_key() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let import = ["keys", "import", "--account", "shop", "--name", "old"];
    let mut terminal = Terminal::run(&operator, &import);
    terminal.wait_for("it is not shown");
    terminal.wait_for_echo_off();
    let ended = terminal.interrupt();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.has_echo, "{ended:?}");
    assert_eq!(operator.list_keys(), Vec::<serde_json::Value>::new());
}

#[test]
fn erasure_of_a_type_with_white_space_around_it_is_confirmed_by_it() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    operator.create_key("web");
    let erase = ["signals", "erase", "--account", "shop", "--type", " sp2 "];
    let period = ["--since", "3d", "--until", "2d"];
    for (answer, code) in [(" sp2", 1), (" sp2 ", 0)] {
        let mut terminal = Terminal::run(&operator, &[&erase[..], &period].concat());
        terminal.wait_for("to confirm:");
        terminal.write(&format!("{answer}\n"));
        assert_eq!(terminal.end().code, Some(code), "{answer:?}");
    }
}

/// Runs a command whose reader has closed standard output already. Returns its exit code.
fn run_with_closed_output(operator: &Operator, arguments: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = operator.command(arguments);
    let status = command.stdout(writer).stderr(Stdio::null()).status();
    status.unwrap().code()
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_that_closes_standard_output_does_not_change_the_exit_code() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    s3.put("/lake/events/dt=2026-11-20/b", "no gzip");
    let operator = Operator::new(&app).variable("AWS_ENDPOINT_URL_S3", &s3.endpoint());
    operator.create_key("web");
    let invalid = r#"{"customerId":"ada","customerData":"none"}"#;
    let valid = r#"{"customerId":"ada","customerData":{"city":"Bern"}}"#;
    operator.file("customers.ndjson", &format!("{invalid}\n{valid}\n"));
    for (arguments, code) in [
        (&["keys", "list"][..], 0),
        (
            &[
                "import",
                "--account",
                "shop",
                "--received-at",
                "2026-11-20",
                "customers.ndjson",
            ],
            1,
        ),
        (
            &[
                "rejected",
                "redrive",
                "--account",
                "shop",
                "2026-11-20-07-3fa85f64-3",
            ],
            1,
        ),
        (
            &[
                "lake",
                "erase",
                "customer",
                "--bucket",
                "lake",
                "--account",
                "shop",
                "--id=ada",
                "--yes",
            ],
            1,
        ),
    ] {
        let ended = run_with_closed_output(&operator, arguments);
        assert_eq!(ended, Some(code), "{arguments:?}");
    }
}
