//! Memory and processor time of a function for the worst bodies within the limits (docs/api.md,
//! Limits), measured on its process.
//!
//! Memory is bounded in every build. Processor time is bounded only for released functions:
//! `.ci/run guard` sets their folder in `INTAKE_RELEASED_FUNCTIONS`.
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod body;
mod customers;
mod signals;

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use harness::fault_proxy::{Fault, FaultProxy, Plan};
use harness::function_process::FunctionProcess;
use harness::{TestApp, build_functions, emulator_options};
use serde_json::Value;

use self::body::HostileBody;
use crate::support::faulted::assert_faulted;

/// Memory limit of a process that serves one request, in bytes.
const MAX_MEMORY: u64 = 64_000_000;

/// Memory limit of a process to which DynamoDB returns all signals unprocessed, so that it defers them, in
/// bytes.
const MAX_MEMORY_UNPROCESSED: u64 = 80_000_000;

/// Limit of the processor time of a released function for one request, its start included.
const MAX_PROCESSOR_TIME: Duration = Duration::from_millis(500);

/// The latency of a batch, so that the calls of a request overlap as they do in a region.
const DYNAMODB_TIME: Duration = Duration::from_millis(20);

/// Processes that run at the same time.
const CONCURRENT: usize = 2;

/// What a process used for the request with a body.
#[derive(Debug)]
struct Usage {
    #[expect(dead_code, reason = "it is read when it is printed")]
    body: &'static str,
    /// Whether the response was a 503, or signals were deferred, in place of a plain 200, or a 503 in place of
    /// a deferral.
    is_late: bool,
    memory_bytes: u64,
    processor_time: Duration,
}

#[tokio::test]
async fn hostile_body_uses_at_most_64_mb() {
    assert_usage(
        [customers::BODIES, signals::BODIES].concat(),
        &Fault::Swallowed(DYNAMODB_TIME).always().into(),
        MAX_MEMORY,
    )
    .await;
}

#[tokio::test]
async fn unprocessed_hostile_body_uses_at_most_80_mb() {
    let plan = Fault::Unprocessed.always().into();
    assert_usage(signals::UNPROCESSED.to_vec(), &plan, MAX_MEMORY_UNPROCESSED).await;
}

async fn assert_usage(bodies: Vec<HostileBody>, plan: &Plan, max_memory: u64) {
    let released = std::env::var_os("INTAKE_RELEASED_FUNCTIONS").map(PathBuf::from);
    let programs = released
        .clone()
        .unwrap_or_else(|| build_functions().unwrap());
    let app = TestApp::start();
    let key = app.key("shop").await;
    let accepted = bodies.iter().filter(|body| body.status == 200).count();
    let deferred = bodies.iter().filter(|body| body.is_deferred).count();
    let measured =
        stream::iter(bodies).map(async |body| measure(&body, &programs, &app, &key, plan).await);
    let usages: Vec<Usage> = measured.buffer_unordered(CONCURRENT).collect().await;
    // The function sends unprocessed signals again until the deadline, so its processor time is not
    // bounded by the body.
    let is_bounded = released.is_some() && max_memory == MAX_MEMORY;
    let max_time = if is_bounded {
        MAX_PROCESSOR_TIME
    } else {
        Duration::MAX
    };
    // A function that responds to every body with a 503, or defers it, uses little, and must not pass. One that tries to
    // defer a body has made its messages.
    let late = usages.iter().filter(|usage| usage.is_late).count();
    let max_late = if released.is_some() {
        0
    } else {
        deferred.max(accepted.saturating_sub(1))
    };
    assert!(
        late <= max_late,
        "{late} of {accepted} bodies got a 503 or were deferred: {usages:#?}"
    );
    let over: Vec<_> = usages
        .iter()
        .filter(|usage| usage.memory_bytes > max_memory || usage.processor_time > max_time)
        .collect();
    assert!(
        over.is_empty(),
        "over {max_memory} bytes or {max_time:?}: {over:#?}"
    );
}

/// Starts a process for this request alone.
async fn measure(
    body: &HostileBody,
    programs: &Path,
    app: &TestApp,
    key: &str,
    plan: &Plan,
) -> Usage {
    let call = (body.call)().key(key);
    let program = programs.join(if call.is_for_signals() {
        "signals"
    } else {
        "customers"
    });
    let proxy = FaultProxy::start(&app.emulator.endpoint(), plan.clone())
        .await
        .unwrap();
    let options = emulator_options(&program, &proxy.endpoint(), &app.sqs, &app.s3);
    let process = FunctionProcess::start(&options).await.unwrap();
    let response = process.invoke(call.event()).await.unwrap().json();
    // A debug build on a busy machine may reach the write budget first. Its memory has peaked by then.
    let is_deferred = has_deferred(&response);
    let is_late =
        body.status == 200 && (response["statusCode"] == 503 || is_deferred && !body.is_deferred);
    if !is_late {
        assert_response(body, &response);
        assert_eq!(is_deferred, body.is_deferred, "{}", body.name);
    }
    // A function that defers the signals without a write uses little, and must not pass.
    if body.is_deferred {
        assert_faulted(&proxy);
    }
    Usage {
        body: body.name,
        is_late,
        memory_bytes: process.peak_memory().unwrap(),
        processor_time: process.processor_time().unwrap(),
    }
}

/// Whether the function has deferred signals.
fn has_deferred(response: &Value) -> bool {
    let text = response["body"].as_str().unwrap_or_default();
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    body.get("deferred").is_some()
}

/// Fails unless the response has the status and the code of this body.
fn assert_response(body: &HostileBody, response: &Value) {
    let name = body.name;
    let text = response["body"].as_str().unwrap();
    assert_eq!(response["statusCode"], body.status, "{name}: {text:.300}");
    let problem: Value = serde_json::from_str(text).unwrap();
    let code = problem.get("code").and_then(Value::as_str);
    assert_eq!(code, body.code, "{name}");
}
