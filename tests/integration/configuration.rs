//! The environment of a function: the tests' is the template's, and when it is incomplete, the caller
//! and the log learn which variable it is.

use std::collections::HashMap;
use std::time::Duration;

use aws::variables::{ConfigError, Variables};
use customers::CustomersFunction;
use emulator::sqs::FakeSqs;
use harness::fake_s3::FakeS3;
use harness::function_process::{FUNCTION_MEMORY, FunctionProcess};
use harness::{build_functions, emulator_options};
use overflow::OverflowFunction;
use serde_json::json;
use signals::SignalsFunction;
use store::customers::REMOVED_FENCE_RETENTION;
use tokio::sync::mpsc;

use crate::support::template::read_template;

#[tokio::test]
async fn caller_and_log_learn_which_variable_is_malformed() {
    let name = "SIGNAL_RETENTION_DAYS";
    let why =
        "the environment variable SIGNAL_RETENTION_DAYS is malformed: it must be a whole number";
    let program = build_functions().unwrap().join("signals");
    let sqs = FakeSqs::start().await.unwrap();
    let s3 = FakeS3::start().await.unwrap();
    // The function makes no call, so no process listens there.
    let mut options = emulator_options(&program, "http://127.0.0.1:1", &sqs, &s3);
    options.variables.push((name.to_owned(), "a week".into()));
    let (log, mut lines) = mpsc::unbounded_channel();
    options.log = Some(log);
    let process = FunctionProcess::start(&options).await.unwrap();

    let response = process.invoke("{}").await.unwrap().json();
    assert_eq!(
        response,
        json!({"errorType": "ConfigError", "errorMessage": why})
    );
    assert_eq!(process.invocation_errors(), 1);
    let line = lines.recv().await.unwrap();
    assert!(
        line.contains("\"level\":\"ERROR\"") && line.contains(why),
        "{line}"
    );
}

#[test]
fn memory_of_the_tests_functions_is_the_templates_default() {
    let template = read_template("template.yaml");
    let default = template.pointer("/Parameters/FunctionMemory/Default");
    assert_eq!(default.unwrap().to_string(), FUNCTION_MEMORY);
}

#[test]
fn fence_of_a_removed_field_outlives_an_update_that_waits_in_both_queues() {
    let template = read_template("template.yaml");
    let retention_of = |queue: &str| {
        let seconds = &template["Resources"][queue]["Properties"]["MessageRetentionPeriod"];
        Duration::from_secs(seconds.as_u64().unwrap())
    };
    let longest_wait = retention_of("OverflowQueue") + retention_of("OverflowDeadLetterQueue");
    let margin = Duration::from_hours(24);
    assert_eq!(REMOVED_FENCE_RETENTION, longest_wait + margin);
}

/// The local stack gives each function the variables of all. On AWS, each has its own.
#[test]
fn function_starts_with_the_variables_of_its_template_and_with_nothing_less() {
    let template = read_template("template.yaml");
    let names = |pointer: &str| -> Vec<String> {
        let variables = template.pointer(pointer).unwrap();
        variables.as_object().unwrap().keys().cloned().collect()
    };
    for (function, start) in functions() {
        let mut variables = variables_of_lambda();
        let of_all = names("/Globals/Function/Environment/Variables");
        let pointer = format!("/Resources/{function}/Properties/Environment/Variables");
        let own = names(&pointer);
        // A number is a name and a URL, too.
        variables.extend(
            of_all
                .iter()
                .chain(&own)
                .map(|name| (name.clone(), "1".to_owned())),
        );
        start(&variables.clone().into_iter().collect()).expect(function);
        for name in own {
            let mut incomplete = variables.clone();
            incomplete.remove(&name);
            match start(&incomplete.into_iter().collect()) {
                Err(ConfigError::Missing(missing)) => assert_eq!(missing, name, "{function}"),
                other => panic!("{function} without {name}: {other:?}"),
            }
        }
    }
}

type Start = fn(&Variables) -> Result<(), ConfigError>;

/// The functions of template.yaml by their logical ids, and how each starts.
fn functions() -> [(&'static str, Start); 3] {
    [
        ("CustomersFunction", |variables| {
            CustomersFunction::from_variables(variables).map(drop)
        }),
        ("SignalsFunction", |variables| {
            SignalsFunction::from_variables(variables).map(drop)
        }),
        ("OverflowFunction", |variables| {
            OverflowFunction::from_variables(variables).map(drop)
        }),
    ]
}

fn variables_of_lambda() -> HashMap<String, String> {
    let names = ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    names.map(|name| (name.to_owned(), "1".to_owned())).into()
}
