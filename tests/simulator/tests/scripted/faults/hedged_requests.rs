//! Hedged requests (docs/outages.md, How long a request waits).

use std::time::Duration;

use serde_json::json;
use simulator::aws::faults::Fault;
use tokio::time::sleep;

use crate::support::clock::NOW;
use crate::support::requests::{batch_with_identifier, signals};
use crate::support::stack::{LATENCY, Stack, WRITE_BUDGET, assert_not_deferred, slow};
use crate::support::updates::assert_result;

/// How long DynamoDB has for the response to a call before the call is hedged.
const HEDGE_AFTER: Duration = Duration::from_millis(500);

#[tokio::test(start_paused = true)]
async fn hanging_call_is_made_again_beside_the_first_after_half_a_second() {
    for (operation, signals) in [
        ("PutItem", 2),
        ("BatchWriteItem", 2),
        ("BatchWriteItem", 60),
    ] {
        let stack = Stack::start([Fault::Hangs.always().for_operation(operation).on_call(1)]);
        let batch = batch_with_identifier(signals);
        let (response, took) = stack.timed(stack.send(&batch, NOW)).await;
        assert_not_deferred(&response);
        // The look-up of the key, the record and the signals.
        assert_eq!(took, HEDGE_AFTER + 3 * LATENCY, "{operation}");
        assert_eq!(stack.stored().len(), signals, "{operation}");
        assert_eq!(stack.faulted(), 1);
    }
    let stack = Stack::start([Fault::Hangs.on_call(1)]);
    let update = stack.update(json!({}), NOW);
    let (response, took) = stack.timed(update).await;
    assert_result(&response, "created");
    assert_eq!(took, HEDGE_AFTER + 2 * LATENCY);
}

#[tokio::test(start_paused = true)]
async fn hedged_request_is_repeated_until_a_call_has_a_response() {
    let writes = |fault: Fault| fault.always().for_operation("BatchWriteItem");
    let hanging = writes(Fault::Hangs).on_call(1);
    let throttled = writes(Fault::Throttled).on_first(4);
    let stack = Stack::start([hanging, throttled]);
    let batch = batch_with_identifier(2);
    assert_not_deferred(&stack.send(&batch, NOW).await);
    assert_eq!(stack.calls_of("BatchWriteItem"), 5);
}

#[tokio::test(start_paused = true)]
async fn response_to_the_first_call_counts_also_after_the_second_hangs_or_is_throttled() {
    // When the first call has its response, the throttled one is not repeated yet.
    for (millis, second) in [(700, Fault::Hangs), (506, Fault::Throttled)] {
        let stack = Stack::start([slow(millis).on_call(1), second.on_call(2)]);
        let batch = json!({"signals": signals(1)});
        let (response, took) = stack.timed(stack.send(&batch, NOW)).await;
        assert_not_deferred(&response);
        let expected = LATENCY + Duration::from_millis(millis) + LATENCY / 2;
        assert_eq!(took, expected, "the look-up of the key, and the first call");
        assert_eq!(stack.calls_of("BatchWriteItem"), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn few_calls_of_a_large_batch_are_made_a_second_time() {
    let stack = Stack::start([Fault::Hangs.always().for_operation("BatchWriteItem")]);
    let batch = json!({"signals": signals(500)});
    let sent = stack.timed(stack.send_deferred(&batch, NOW, 500));
    let calls_until_the_deadline = async {
        sleep(WRITE_BUDGET).await;
        stack.calls_of("BatchWriteItem")
    };
    let (((), took), calls) = tokio::join!(sent, calls_until_the_deadline);
    assert_eq!(took, WRITE_BUDGET + 2 * LATENCY);
    // Twenty calls of 25 signals, and four beside them. None of them ends before the deadline.
    assert_eq!(calls, 24);
}

#[tokio::test(start_paused = true)]
async fn batch_that_was_throttled_goes_on_with_few_calls() {
    let throttled = Fault::Throttled.always().for_operation("BatchWriteItem");
    let hanging = Fault::Hangs.always().for_operation("BatchWriteItem");
    let stack = Stack::start([throttled.on_first(20), hanging]);
    let batch = json!({"signals": signals(500)});
    stack.send_deferred(&batch, NOW, 500).await;
    // Twenty calls are throttled. Then there are two, and two beside them.
    assert_eq!(stack.calls_of("BatchWriteItem"), 24);
}
