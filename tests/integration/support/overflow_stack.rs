//! An app with an overflow queue: batches and updates that are deferred, and their drain.

use std::fmt::Display;
use std::time::Duration;

use aws::deadline::Deadline;
use aws_sdk_dynamodb::types::AttributeValue;
use emulator::sqs::FakeSqs;
use model::customer::CustomerUpdate;
use model::json::JsonText;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use store::customers::{CustomersTable, NewerField, StoredPart, Upsert};
use store::fence::UpdateMark;
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::{Endpoints, Item, RequestBuilder, TestApp, TestResponse, client_at, table_name};

use super::clock::{NOW, later};

pub(crate) const RETENTION: Duration = Duration::from_hours(7 * 24);

pub(crate) const NO_MESSAGES: [&str; 0] = [];

/// An app with an overflow queue, and a fault proxy before every table but that of the keys.
pub(crate) struct OverflowStack {
    pub(crate) app: TestApp,
    pub(crate) proxy: FaultProxy,
    pub(crate) sqs: FakeSqs,
    pub(crate) key: String,
}

impl OverflowStack {
    pub(crate) async fn start(plan: impl Into<Plan>) -> Self {
        let emulator = TestApp::emulator();
        let sqs = FakeSqs::start().await.unwrap();
        let keys = emulator.endpoint();
        let proxy = FaultProxy::start(&keys, plan).await.unwrap();
        let endpoints = Endpoints {
            keys: &keys,
            others: &proxy.endpoint(),
            sqs: Some(&sqs),
            s3: None,
        };
        let app = TestApp::with_endpoints(emulator, &endpoints, Some(RETENTION));
        let key = app.key("shop").await;
        Self {
            app,
            proxy,
            sqs,
            key,
        }
    }

    /// Sends a batch of signals that arrives at this time.
    pub(crate) async fn send(&self, body: &Value, at: Timestamp) -> TestResponse {
        let call = RequestBuilder::signals(body).key(&self.key).received_at(at);
        self.app.send(call).await
    }

    /// Sends a batch of which so many signals are deferred.
    pub(crate) async fn send_deferred(&self, body: &Value, at: Timestamp, count: usize) {
        let response = self.send(body, at).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.json()["deferred"], count, "{response:?}");
    }

    /// Drains all messages of the queue. None is to be delivered again.
    pub(crate) async fn drain(&self) {
        self.drain_messages(&self.sqs.take_messages()).await;
    }

    /// Drains these messages. None is to be delivered again.
    pub(crate) async fn drain_messages(&self, messages: &[String]) {
        assert_eq!(self.drain_and_return_failed(messages).await, NO_MESSAGES);
    }

    /// Drains these messages a minute after `NOW`, and returns those that are to be delivered
    /// again.
    pub(crate) async fn drain_and_return_failed(&self, messages: &[String]) -> Vec<String> {
        self.app.drain(messages, later(60)).await
    }

    /// The one dead letter is this message, of which DynamoDB refused a write.
    pub(crate) fn assert_refused_dead_letter(&self, message: &str) {
        let dead_letters = self.sqs.take_dead_letters();
        assert_eq!(dead_letters.len(), 1, "{dead_letters:?}");
        let dead_letter = &dead_letters[0];
        assert_eq!(dead_letter.body, message);
        assert_eq!(dead_letter.reason.as_deref(), Some("ValidationException"));
    }

    pub(crate) async fn stored(&self) -> Vec<Item> {
        stored_signals(&self.app).await
    }
}

/// Updates of the customer `c`.
impl OverflowStack {
    /// Sends an update of the customer that arrives at this time.
    pub(crate) async fn update(&self, profile: impl Display, at: Timestamp) -> TestResponse {
        let body = format!("{{\"customerId\":\"c\",\"customerData\":{profile}}}");
        let call = RequestBuilder::customer(&body)
            .key(&self.key)
            .received_at(at);
        self.app.send(call).await
    }

    /// Sends an update that is acknowledged.
    pub(crate) async fn store_update(&self, profile: impl Display, at: Timestamp) {
        let response = self.update(profile, at).await;
        assert_eq!(response.status, 200, "{response:?}");
    }

    /// Sends an update that is deferred, and returns its messages.
    pub(crate) async fn defer_update(&self, profile: impl Display, at: Timestamp) -> Vec<String> {
        self.proxy.set(Fault::ResetBefore.always());
        let response = self.update(profile, at).await;
        assert_result(&response, "deferred");
        self.proxy.set(Plan::none());
        self.sqs.take_messages()
    }

    /// Writes a line of an import with this time.
    pub(crate) async fn import(&self, profile: Value, time: Timestamp) -> StoredPart {
        let body = json!({"customerId": "c", "customerData": profile}).to_string();
        let update = CustomerUpdate::parse(JsonText::parse(&body).unwrap()).unwrap();
        let client = client_at(&self.proxy.endpoint());
        let table = CustomersTable::new(client, table_name("CustomersTable"));
        let deadline = Deadline::after(Duration::from_mins(1));
        let account = "shop".parse().unwrap();
        let upsert = Upsert {
            account_id: &account,
            update: &update,
            mark: UpdateMark::new_imported(time),
            newer_field: NewerField::Keep,
            now: time.max(NOW),
        };
        table.upsert(upsert, deadline).await.unwrap().part
    }

    /// Does `work` after `write` has met a newer item and before it writes over that.
    pub(crate) async fn run_before_conditional_write<T>(
        &self,
        write: impl Future<Output = T>,
        work: impl Future<Output = ()>,
    ) -> T {
        self.proxy
            .set(Fault::InternalServerError.where_body_has("attribute_exists"));
        let work = async {
            while self.proxy.counts().faulted == 0 {
                tokio::task::yield_now().await;
            }
            work.await;
            self.proxy.set(Plan::none());
        };
        let both = async { tokio::join!(write, work) };
        let (written, ()) = tokio::time::timeout(Duration::from_mins(1), both)
            .await
            .expect("a write over a newer item");
        written
    }

    /// Drains messages of an update, and does `work` after the drain has met a newer item and
    /// before it writes the rest.
    pub(crate) async fn drain_with_work_before_write(
        &self,
        messages: &[String],
        work: impl Future<Output = ()>,
    ) {
        self.run_before_conditional_write(self.drain_messages(messages), work)
            .await;
    }

    /// Deletes the item of the customer, as an operator's erasure does.
    pub(crate) async fn erase(&self) {
        let key = AttributeValue::S("shop#c".to_owned());
        let delete = self
            .app
            .client
            .delete_item()
            .table_name(table_name("CustomersTable"))
            .key("pk", key);
        delete.send().await.unwrap();
    }

    pub(crate) async fn customer(&self) -> Item {
        self.app.customer("shop", "c").await.unwrap()
    }

    /// Gives the customer's item these attributes, beside its own.
    pub(crate) async fn set_attributes(
        &self,
        attributes: impl IntoIterator<Item = (String, AttributeValue)>,
    ) {
        let mut item = self.customer().await;
        item.extend(attributes);
        self.put_customer(item).await;
    }

    /// Replaces the customer's item.
    pub(crate) async fn put_customer(&self, item: Item) {
        let put = self
            .app
            .client
            .put_item()
            .table_name(table_name("CustomersTable"))
            .set_item(Some(item));
        put.send().await.unwrap();
    }
}

/// The stored signals in the order of their sort keys.
pub(crate) async fn stored_signals(app: &TestApp) -> Vec<Item> {
    let mut items = app.items("SignalsTable").await;
    items.sort_by_key(|item| item["sk"].as_s().unwrap().clone());
    items
}

/// The update was acknowledged, with this result.
#[track_caller]
pub(crate) fn assert_result(response: &TestResponse, result: &str) {
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.json()["result"], result, "{response:?}");
}

pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name).map(|value| value.as_s().unwrap().as_str())
}

/// The fence in this attribute.
pub(crate) fn fence(item: &Item, name: &str) -> u64 {
    item[name].as_n().unwrap().parse().unwrap()
}

/// The batch was accepted, and none of its signals is deferred: then the count is absent.
#[track_caller]
pub(crate) fn assert_not_deferred(response: &TestResponse) {
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.json().get("deferred"), None, "{response:?}");
}
