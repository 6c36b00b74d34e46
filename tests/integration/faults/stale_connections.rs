//! Lambda freezes a process between requests, for minutes; its connections may die meanwhile without a word.

use testkit::RequestBuilder;
use testkit::fault_proxy::Plan;

use super::{behind, customer, stored, unnamed};

#[tokio::test]
async fn dropped_connections_fail_no_request() {
    for (call, again) in [(customer(), 0), (unnamed(400), 400)] {
        let (stack, proxy, key) = behind(Plan::none()).await;
        // As many calls at once as there are, so as many connections.
        assert_eq!(stack.send(unnamed(400).key(&key)).await.status, 200);
        proxy.forget_connections();
        let answer = stack.send(call.key(&key)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(stored(&stack).await.len(), 400 + again);
        let before = proxy.counts().calls();
        assert_eq!(stack.send(RequestBuilder::ping().key(&key)).await.status, 200);
        assert_eq!(stack.send(customer().key(&key)).await.status, 200);
        assert_eq!(proxy.counts().calls() - before, 1, "no dead connection is left");
    }
}
