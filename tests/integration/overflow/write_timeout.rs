//! The write timeout where there is an overflow queue (docs/outages.md, How long a request waits).

use std::time::{Duration, Instant};

use aws::deadline::Deadline;
use serde_json::{Value, json};
use store::retry::{WRITE_TIMEOUT_WITH_QUEUE, deadline_of_writes};
use testkit::fault_proxy::Fault;

use crate::support::clock::NOW;
use crate::support::overflow_stack::OverflowStack;
use crate::support::requests::{batch_with_identifier, signals};

/// The longest time of the queue and of the function's own work on a busy machine. It is shorter than
/// a second write timeout.
const TIME_OF_THE_QUEUE: Duration = Duration::from_secs(1);

/// A request's deferred signals, and how long its response took.
struct TimedAnswer {
    deferred: u64,
    took: Duration,
}

async fn answer(stack: &OverflowStack, body: &Value) -> TimedAnswer {
    let began = Instant::now();
    let response = stack.send(body, NOW).await;
    let took = began.elapsed();
    assert_eq!(response.status, 200, "{response:?}");
    // The count is absent when it is 0.
    let deferred = response.json()["deferred"].as_u64().unwrap_or_default();
    TimedAnswer { deferred, took }
}

#[tokio::test]
async fn request_is_deferred_after_one_write_timeout_when_dynamodb_hangs() {
    let stack = OverflowStack::start(Fault::Hanging.always()).await;
    let valid_and_rejected = json!({"signals": [{"customerId": "c", "eventType": "view"}, 17]});
    // The third request waits as long as the first: the function remembers nothing of a request.
    for body in [
        &batch_with_identifier(2),
        &valid_and_rejected,
        &batch_with_identifier(2),
    ] {
        let answer = answer(&stack, body).await;
        assert!(answer.deferred > 0, "{body}");
        let longest = WRITE_TIMEOUT_WITH_QUEUE + TIME_OF_THE_QUEUE;
        assert!(
            (WRITE_TIMEOUT_WITH_QUEUE..longest).contains(&answer.took),
            "{body}: {:?}",
            answer.took
        );
    }
    // After the outage, DynamoDB has its whole time again at once.
    stack
        .proxy
        .set(Fault::Slow(Duration::from_millis(600)).always());
    let answer = answer(&stack, &json!({"signals": signals(2)})).await;
    assert_eq!(answer.deferred, 0);
}

#[test]
fn writes_of_a_request_that_has_little_time_leave_the_queue_its_part() {
    let deadline = Deadline::after(Duration::from_secs(3));
    let writes = deadline_of_writes(deadline, true);
    // The queue has 2.5 of the 3 seconds; 100 ms may have passed since.
    let expected = Duration::from_millis(400)..=Duration::from_millis(500);
    let remaining = writes.remaining();
    assert!(expected.contains(&remaining), "{remaining:?}");
}
