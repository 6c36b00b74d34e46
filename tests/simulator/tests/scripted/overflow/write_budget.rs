//! The write budget (docs/outages.md, How long a request waits).

use std::time::Duration;

use serde_json::json;
use simulator::aws::faults::{Fault, Rule};

use crate::support::clock::NOW;
use crate::support::requests::{batch_with_identifier, signals};
use crate::support::stack::{FAILURES, LATENCY, Stack, WRITE_BUDGET, assert_not_deferred, slow};
use crate::support::updates::assert_result;

#[tokio::test(start_paused = true)]
async fn request_is_deferred_after_the_write_budget_when_dynamodb_hangs() {
    let stack = Stack::start([Fault::Hangs.always()]);
    let valid_and_rejected = json!({"signals": [{"customerId": "c", "eventType": "view"}, 17]});
    // The third request waits as long as the second: the function remembers nothing of a request.
    // Only the first one looks its key up.
    for (body, calls) in [
        (&batch_with_identifier(2), 2),
        (&valid_and_rejected, 1),
        (&batch_with_identifier(2), 1),
    ] {
        let (response, took) = stack.timed(stack.send(body, NOW)).await;
        let deferred = response.json()["deferred"].as_u64();
        assert!(deferred.is_some(), "{response:?}");
        assert_eq!(took, WRITE_BUDGET + calls * LATENCY, "{body}");
    }
    let update = stack.update(json!({"city": "Ulm"}), NOW);
    let (response, took) = stack.timed(update).await;
    assert_result(&response, "deferred");
    assert_eq!(took, WRITE_BUDGET + 2 * LATENCY);
    // After the outage, DynamoDB has its whole time again at once.
    stack.set([slow(600).always()]);
    let signals = json!({"signals": signals(2)});
    let (response, took) = stack.timed(stack.send(&signals, NOW)).await;
    assert_not_deferred(&response);
    assert_eq!(took, Duration::from_millis(600) + LATENCY / 2);
}

/// docs/outages.md, What is promised, Failures: one second of refused calls and lost connections, or half a second
/// of hangs.
#[tokio::test(start_paused = true)]
async fn failures_of_a_second_and_hangs_of_half_a_second_defer_nothing() {
    let failures = FAILURES.map(|fault| (fault, Duration::from_secs(1)));
    let hangs = (Fault::Hangs, Duration::from_millis(500));
    for (fault, lasts) in failures.into_iter().chain([hangs]) {
        let failing = || {
            Stack::start([Rule {
                during: Duration::ZERO..lasts,
                ..fault.clone().always()
            }])
        };
        let without_identifier = json!({"signals": signals(30)});
        for body in [&batch_with_identifier(30), &without_identifier] {
            let stack = failing();
            assert_not_deferred(&stack.send(body, NOW).await);
            assert!(stack.faulted() > 0, "{fault:?}");
            assert_eq!(stack.stored().len(), 30, "{fault:?}");
        }
        let stack = failing();
        assert_result(&stack.update(json!({"city": "Ulm"}), NOW).await, "created");
        assert!(stack.faulted() > 0, "{fault:?}");
    }
}
