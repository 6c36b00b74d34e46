//! What a command says of a stack by its state: one without outputs, one whose deployment failed, one that is being
//! deleted, or another stack than that of the service.

use serde_json::{Value, json};

use crate::aws_profiles::CREATE;
use crate::support::fake_aws::{FakeAws, StateOfStack, run_at};
use crate::support::operator::CommandOutput;

const OPERATE: &str = "docs/operate.md says what to do when a deployment fails";

async fn run_in(status: &'static str, has_outputs: bool, arguments: &[&str]) -> CommandOutput {
    let state = StateOfStack {
        status,
        has_outputs,
    };
    run_at(FakeAws::new(None).with_state(state), arguments).await
}

#[tokio::test(flavor = "multi_thread")]
async fn stack_without_outputs_is_told_with_its_state_and_what_to_do() {
    let failed = format!("its creation failed. {OPERATE}");
    for (status, told) in [
        (
            "REVIEW_IN_PROGRESS",
            "its first deployment was not executed. Deploy it",
        ),
        (
            "CREATE_IN_PROGRESS",
            "it is being created. Wait until that ends",
        ),
        ("ROLLBACK_COMPLETE", &failed),
        ("ROLLBACK_FAILED", &failed),
        ("CREATE_FAILED", &failed),
    ] {
        let error = run_in(status, false, &["keys", "list"]).await;
        let expected = format!(
            "The stack intake-test does not define API_KEYS_TABLE. It is in the state {status}: {told}."
        );
        assert_eq!(error.error_message(), expected);
    }
    let doctor = run_in("CREATE_FAILED", false, &["doctor", "--json"]).await;
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let seen = format!(
        "The stack intake-test does not define API_KEYS_TABLE. It is in the state CREATE_FAILED: {failed}."
    );
    let row = json!({"check": "Stack", "result": "failed", "seen": seen});
    assert_eq!(doctor.json(), [row], "the other checks would say the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_says_what_the_state_of_a_stack_with_outputs_means() {
    let rollback = format!(
        "UPDATE_ROLLBACK_FAILED: its last deployment failed, and so did the rollback. {OPERATE}"
    );
    for (status, result, seen) in [
        ("UPDATE_ROLLBACK_FAILED", "failed", rollback.as_str()),
        (
            "DELETE_FAILED",
            "failed",
            "DELETE_FAILED: its deletion failed. Its events name the reason; delete it again",
        ),
        (
            "UPDATE_ROLLBACK_COMPLETE",
            "held",
            "UPDATE_ROLLBACK_COMPLETE: the last deployment failed and was rolled back",
        ),
        (
            "UPDATE_IN_PROGRESS",
            "held",
            "UPDATE_IN_PROGRESS: a deployment is in progress",
        ),
    ] {
        let doctor = run_in(status, true, &["doctor", "--json"]).await;
        let rows: Vec<Value> = doctor.json();
        let row = json!({"check": "Stack", "result": result, "seen": seen});
        assert_eq!(rows[0], row);
        assert!(rows.len() > 10, "{rows:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_added_to_a_stack_that_is_being_deleted() {
    let rotate = ["keys", "rotate", "key_1"];
    let import = ["import", "--account", "shop", "/dev/null"];
    let verify = ["verify", "--yes"];
    for command in [&CREATE[..], &rotate, &import, &verify] {
        let refused = run_in("DELETE_IN_PROGRESS", true, command).await;
        assert_eq!(
            refused.error_message(),
            "The stack intake-test is in the state DELETE_IN_PROGRESS: it is being deleted."
        );
    }
    run_in("DELETE_IN_PROGRESS", true, &["keys", "list"])
        .await
        .success();
}

#[tokio::test(flavor = "multi_thread")]
async fn stack_of_a_delivery_is_told_with_that_of_its_service() {
    let aws = FakeAws::new(None).with_delivery();
    let error = run_at(aws, &["--stack", "intake-test-delivery", "keys", "list"]).await;
    assert_eq!(
        error.error_message(),
        "The stack intake-test-delivery does not define API_KEYS_TABLE. It is the stack of a delivery. Give the stack of the \
         service: --stack intake-test."
    );
    let other = run_in("CREATE_COMPLETE", false, &["keys", "list"]).await;
    assert_eq!(
        other.error_message(),
        "The stack intake-test does not define API_KEYS_TABLE. It is not a stack of Intake, or its version is not the one of \
         this command line."
    );
}
