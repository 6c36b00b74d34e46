//! No body within the limits costs a function more than it may: measured on its process.
//!
//! Memory is bounded in every build. Processor time is bounded for the functions as they are released: `.ci/bench` names
//! their folder in `INTAKE_RELEASED_FUNCTIONS`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::function_process::FunctionProcess;
use testkit::hostile_bodies::{self, HostileBody};
use testkit::{TestApp, build_functions, emulator_options};

/// The most memory that a request may cost a process, in bytes.
const MAX_MEMORY: u64 = 64_000_000;

/// The same where DynamoDB returns all of a request's signals unprocessed.
const MAX_MEMORY_UNPROCESSED: u64 = 80_000_000;

/// The most processor time that a request may cost a released function, its start included.
const MAX_PROCESSOR_TIME: Duration = Duration::from_millis(500);

/// How long DynamoDB takes for a batch: the calls of a request then overlap, as they do in a region.
const DYNAMODB_TIME: Duration = Duration::from_millis(20);

/// Processes at once.
const CONCURRENT: usize = 2;

/// What a request cost: its name, bytes of memory, processor time.
type Cost = (&'static str, u64, Duration);

#[tokio::test]
async fn hostile_body_uses_at_most_64_mb() {
    assert_costs(hostile_bodies::all().collect(), &Fault::Swallowed(DYNAMODB_TIME).always().into(), MAX_MEMORY).await;
}

#[tokio::test]
async fn unprocessed_hostile_body_uses_at_most_80_mb() {
    let plan = Fault::Unprocessed { done: 0 }.always().into();
    assert_costs(hostile_bodies::unprocessed().collect(), &plan, MAX_MEMORY_UNPROCESSED).await;
}

async fn assert_costs(bodies: Vec<HostileBody>, plan: &Plan, max_memory: u64) {
    let released = std::env::var_os("INTAKE_RELEASED_FUNCTIONS").map(PathBuf::from);
    let programs = released.clone().unwrap_or_else(|| build_functions().unwrap());
    let stack = TestApp::start();
    let (key, endpoint) = (stack.key("shop").await, stack.emulator.endpoint());
    let (programs, key, endpoint) = (&programs, key.as_str(), endpoint.as_str());
    let costs = stream::iter(bodies).map(async |body| measure(&body, programs, key, endpoint, plan).await);
    let costs: Vec<Cost> = costs.buffer_unordered(CONCURRENT).collect().await;
    // What comes back unprocessed is sent again until the deadline: the time of that depends on how often.
    let is_bounded = released.is_some() && max_memory == MAX_MEMORY;
    let max_time = if is_bounded { MAX_PROCESSOR_TIME } else { Duration::MAX };
    let over: Vec<_> = costs.iter().filter(|(_, memory, time)| *memory > max_memory || *time > max_time).collect();
    assert!(over.is_empty(), "over {max_memory} bytes or {max_time:?}: {over:#?}");
}

/// Starts a process that answers this request and no other.
async fn measure(body: &HostileBody, programs: &Path, key: &str, endpoint: &str, plan: &Plan) -> Cost {
    let call = (body.call)().key(key);
    let program = programs.join(if call.is_for_signals() { "signals" } else { "customers" });
    let proxy = FaultProxy::start(endpoint, plan.clone()).await;
    let process = FunctionProcess::start(&emulator_options(&program, &proxy.endpoint())).await.unwrap();
    let response = process.invoke(call.event()).await.unwrap().json();
    let member = |name: &str| response.get(name).cloned().unwrap_or_default();
    // A debug build on a busy machine may meet the deadline of a request first; by then it has taken its memory.
    if body.status != 200 || member("statusCode") != 503 {
        assert_eq!(member("statusCode"), body.status, "{}: {:.300}", body.name, member("body"));
        let problem: serde_json::Value = serde_json::from_str(member("body").as_str().unwrap()).unwrap();
        assert_eq!(problem.get("code").and_then(serde_json::Value::as_str), body.code, "{}", body.name);
    }
    (body.name, process.peak_memory().unwrap(), process.processor_time().unwrap())
}
