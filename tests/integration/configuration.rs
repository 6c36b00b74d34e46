//! A function whose environment is incomplete: its caller and its log learn which variable it is.

use serde_json::json;
use testkit::function_process::FunctionProcess;
use testkit::{build_functions, emulator_options};
use tokio::sync::mpsc;

#[tokio::test]
async fn missing_and_malformed_variables_are_different_errors() {
    let programs = build_functions().unwrap();
    for (value, why) in [
        (
            "",
            "the environment variable SIGNAL_RETENTION_DAYS is missing: the template sets it on AWS, and `cargo dev` provides \
             it locally",
        ),
        (
            "a week",
            "the environment variable SIGNAL_RETENTION_DAYS is malformed: it must be a whole number",
        ),
    ] {
        // The function makes no call, so no process listens there.
        let mut options = emulator_options(&programs.join("signals"), "http://127.0.0.1:1");
        options
            .variables
            .push(("SIGNAL_RETENTION_DAYS".to_owned(), value.into()));
        let (log, mut lines) = mpsc::unbounded_channel();
        options.log = Some(log);
        let process = FunctionProcess::start(&options).await.unwrap();

        let answer = process.invoke("{}").await.unwrap().json();
        assert_eq!(
            answer,
            json!({"errorType": "ConfigError", "errorMessage": why})
        );
        assert_eq!(process.invocation_errors(), 1);
        let line = lines.recv().await.unwrap();
        assert!(
            line.contains("\"level\":\"ERROR\"") && line.contains(why),
            "{line}"
        );
    }
}
