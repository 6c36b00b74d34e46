//! No body within the limits makes a function take more memory than it may: measured on its process.

use std::path::Path;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tests::faults::{Fault, Plan};
use tests::hostile_bodies::{self, HostileBody};
use tests::{FunctionProcess, Stack, build_functions};

/// The most memory that a request may cost a process, in bytes.
const MAX_MEMORY: u64 = 64_000_000;

/// The same where DynamoDB returns all of a request's signals unprocessed.
const MAX_MEMORY_UNPROCESSED: u64 = 80_000_000;

/// How long DynamoDB takes for a batch: the calls of a request then overlap, as they do in a region.
const DYNAMODB_TIME: Duration = Duration::from_millis(20);

/// Processes at once.
const CONCURRENT: usize = 2;

#[tokio::test]
async fn hostile_body_costs_at_most_64_mb() {
    assert_memory(hostile_bodies::all().collect(), &Fault::Swallowed(DYNAMODB_TIME).always().into(), MAX_MEMORY).await;
}

#[tokio::test]
async fn hostile_body_that_comes_back_unprocessed_costs_at_most_80_mb() {
    let plan = Fault::Unprocessed { done: 0 }.always().into();
    assert_memory(hostile_bodies::unprocessed().collect(), &plan, MAX_MEMORY_UNPROCESSED).await;
}

async fn assert_memory(bodies: Vec<HostileBody>, plan: &Plan, limit: u64) {
    let programs = build_functions().unwrap();
    let stack = Stack::start();
    let (key, endpoint) = (stack.key("shop").await, stack.emulator.endpoint());
    let (programs, key, endpoint) = (&programs, key.as_str(), endpoint.as_str());
    let measured = stream::iter(bodies).map(async |body| {
        let memory = measure(&body, programs, key, endpoint, plan).await;
        (body.name, memory)
    });
    let measured: Vec<_> = measured.buffer_unordered(CONCURRENT).collect().await;
    let over: Vec<_> = measured.iter().filter(|(_, memory)| *memory > limit).collect();
    assert!(over.is_empty(), "over {limit} bytes: {over:?}");
}

/// The peak memory, in bytes, of a process that answers this request and no other.
async fn measure(body: &HostileBody, programs: &Path, key: &str, endpoint: &str, plan: &Plan) -> u64 {
    let call = (body.call)().key(key);
    let program = programs.join(if call.is_for_signals() { "signals" } else { "customers" });
    let process = FunctionProcess::start_behind(&program, endpoint, plan.clone()).await;
    let response = process.invoke(&call.event()).await;
    let member = |name: &str| response.get(name).cloned().unwrap_or_default();
    // A debug build on a busy machine may meet the deadline of a request first; by then it has taken its memory.
    if body.status == 200 && member("statusCode") == 503 {
        return process.peak_memory();
    }
    assert_eq!(member("statusCode"), body.status, "{}: {:.300}", body.name, member("body"));
    let problem: serde_json::Value = serde_json::from_str(member("body").as_str().unwrap()).unwrap();
    assert_eq!(problem.get("code").and_then(serde_json::Value::as_str), body.code, "{}", body.name);
    process.peak_memory()
}
