//! Messages as SQS accepts them: its response to a message, and the group of a message.

use serde_json::json;
use simulator::aws::faults::{Fault, Target};

use crate::support::clock::NOW;
use crate::support::requests::{batch_with_identifier, customer, signals};
use crate::support::stack::Stack;

#[tokio::test(start_paused = true)]
async fn response_of_sqs_without_an_id_or_with_another_md5_acknowledges_nothing() {
    let stack = Stack::start([]);
    for response in [
        "{}",
        r#"{"MessageId":"1"}"#,
        r#"{"MessageId":"1","MD5OfMessageBody":"00"}"#,
    ] {
        let of_queue = Fault::Swallowed(response).always().on(Target::Sqs);
        stack.set([Fault::Lost.always(), of_queue]);
        let batch = stack.send(&json!({"signals": signals(1)}), NOW).await;
        assert_eq!(batch.status, 503, "{response}");
        let update = stack.request(customer()).await;
        assert_eq!(update.status, 503, "{response}");
    }
    stack.set([Fault::Lost.always()]);
    stack
        .send_deferred(&json!({"signals": signals(1)}), NOW, 1)
        .await;
}

#[tokio::test(start_paused = true)]
async fn message_has_its_account_as_its_group_and_an_unreadable_one_has_none() {
    let stack = Stack::start([Fault::Lost.always()]);
    stack.send(&batch_with_identifier(1), NOW).await;
    stack.drain_messages(&["unreadable".to_owned()]).await;
    let groups = stack.aws.state().queues.groups.clone();
    assert_eq!(groups, [Some("shop".to_owned()), None]);
}
