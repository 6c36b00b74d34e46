//! The programs of the functions, started while DynamoDB hangs or throttles.

use emulator::sqs::OVERFLOW_QUEUE;
use futures_util::future::join_all;
use serde_json::Value;
use testkit::fault_proxy::Fault;
use testkit::function_process::FunctionProcess;
use testkit::{KEY_SNAPSHOT_BUCKET, build_functions, emulator_options, key_entry};

use crate::support::logs::request_lines_of_process;
use crate::support::snapshot_stack::{KEY, SnapshotStack, signal};

#[tokio::test]
async fn process_started_in_an_outage_takes_signals_and_says_so_in_its_log() {
    let programs = build_functions().unwrap();
    join_all([Fault::Hanging, Fault::Throttled].map(async |fault| {
        let stack = SnapshotStack::with_snapshot(fault.always(), &key_entry("shop")).await;
        let mut options = emulator_options(&programs.join("signals"), &stack.proxy.endpoint());
        let s3 = stack.s3.endpoint();
        let sqs = stack.sqs.endpoint();
        let variables = [
            ("KEY_SNAPSHOT_BUCKET", KEY_SNAPSHOT_BUCKET),
            ("AWS_ENDPOINT_URL_S3", &s3),
            ("OVERFLOW_QUEUE_URL", OVERFLOW_QUEUE),
            ("AWS_ENDPOINT_URL_SQS", &sqs),
        ];
        options
            .variables
            .extend(variables.map(|(name, value)| (name.to_owned(), value.into())));
        let (log, lines) = tokio::sync::mpsc::unbounded_channel();
        options.log = Some(log);
        let mut process = FunctionProcess::start(&options).await.unwrap();
        // The log ends with the last of its senders.
        drop(options);
        process.idle().await.unwrap();
        assert_eq!(
            stack.s3.take_requests().len(),
            1,
            "{fault:?}: the snapshot is read during init"
        );
        let response = process
            .invoke(signal().key(KEY).event())
            .await
            .unwrap()
            .json();
        assert_eq!(response["statusCode"], 200, "{fault:?}: {response}");
        let body: Value = serde_json::from_str(response["body"].as_str().unwrap()).unwrap();
        assert_eq!(body["deferred"], 1);
        let with_unknown_key = signal().key("an-unknown-key").event();
        let response = process.invoke(with_unknown_key).await.unwrap().json();
        assert_eq!(response["statusCode"], 503, "{fault:?}: {response}");
        process.kill().await.unwrap();
        let lines = request_lines_of_process(lines).await;
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0]["KeyTableUnavailable"], 1);
        assert_eq!(lines[1]["KeyTableUnavailable"], Value::Null);
    }))
    .await;
}
