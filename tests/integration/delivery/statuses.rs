//! Answers of a target without an error code, as of a proxy or a load balancer: their status
//! decides. The unit test of `target_error` in the delivery has the others.

use serde_json::{Value, json};
use testkit::fake_targets::Target;

use crate::support::delivery::{Delivery, HANDLERS, ids_of, kept_key, signal, signals};

#[tokio::test]
async fn refused_call_is_divided_and_its_neighbours_are_delivered() {
    for handler in HANDLERS {
        let mut delivery = Delivery::start(handler.variables).await;
        delivery
            .targets
            .answer(handler.target, "odd", 413, Value::Null);
        let mut batch = signals(0..25);
        batch[11] = signal(11, &json!({"odd": {"BOOL": true}}));
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        let neighbours = ids_of((0..11).chain(12..25));
        let delivered = delivery.delivered();
        // The bus gets a claim check for the event behind the others.
        assert_eq!(delivered[..24], neighbours, "{}", handler.name);
        let claim_checks = delivered.len() - 24;
        assert_eq!(claim_checks, usize::from(handler.target == Target::Bus));
        assert_eq!(
            delivery.kept().into_keys().collect::<Vec<_>>(),
            [kept_key(11)]
        );
        let line = delivery.line().await;
        assert_eq!(line["RecordsUndelivered"], 0, "{line}");
    }
}

#[tokio::test]
async fn status_that_may_pass_keeps_the_stream_waiting() {
    for handler in HANDLERS {
        let mut delivery = Delivery::start(handler.variables).await;
        delivery
            .targets
            .answer(handler.target, "", 429, Value::Null);
        let one = signals([0]);
        let undelivered = delivery.first_undelivered(&one).await;
        assert_eq!(undelivered.as_deref(), Some("s0"), "{}", handler.name);
        let line = delivery.line().await;
        assert_eq!(line["failedTarget"], handler.name, "{line}");
        assert_eq!(line["cause"], "Throttled", "{line}");
        assert_eq!(delivery.kept().len(), 0, "{}", handler.name);
        delivery.targets.refuse_nothing();
        assert_eq!(delivery.first_undelivered(&one).await, None);
        assert_eq!(delivery.delivered(), ids_of([0]));
    }
}
