//! Messages as SQS takes them: its answer to a message, and the group of a message.

use serde_json::json;
use testkit::RequestBuilder;
use testkit::fault_proxy::Fault;

use crate::support::clock::NOW;
use crate::support::overflow_stack::OverflowStack;
use crate::support::requests::{batch_with_identifier, signals};

#[tokio::test]
async fn answer_of_sqs_without_an_id_or_with_another_md5_acknowledges_nothing() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    let customer =
        || RequestBuilder::customer(json!({"customerId": "c", "customerData": {}})).key(&stack.key);
    for answer in [
        json!({}),
        json!({"MessageId": "1"}),
        json!({"MessageId": "1", "MD5OfMessageBody": "00"}),
    ] {
        stack.sqs.answer_sends_with(Some(answer.clone()));
        let batch = stack.send(&json!({"signals": signals(1)}), NOW).await;
        assert_eq!(batch.status, 503, "{answer}");
        let update = stack.app.send(customer()).await;
        assert_eq!(update.status, 503, "{answer}");
    }
    stack.sqs.answer_sends_with(None);
    stack
        .send_deferred(&json!({"signals": signals(1)}), NOW, 1)
        .await;
}

#[tokio::test]
async fn message_has_its_account_as_its_group_and_an_unreadable_one_has_none() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send(&batch_with_identifier(1), NOW).await;
    assert_eq!(stack.sqs.take_groups(), [Some("shop".to_owned())]);
    stack
        .drain_and_return_failed(&["unreadable".to_owned()])
        .await;
    assert_eq!(stack.sqs.take_groups(), [None]);
}
