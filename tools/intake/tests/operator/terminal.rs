//! Commands in a terminal: confirmations and hidden input.

use testkit::TestApp;

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
