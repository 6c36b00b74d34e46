//! Updates of the customer `c`: by requests, imports and drains, and what is stored of them.

use std::fmt::Display;
use std::time::Duration;

use aws::deadline::Deadline;
use model::customer::CustomerUpdate;
use model::json::JsonText;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use simulator::aws::dynamodb::CUSTOMERS;
use simulator::aws::faults::Fault;
use simulator::environment::customers_table;
use store::customers::{NewerField, StoredPart, Upsert};
use store::fence::UpdateMark;
use tokio::time::sleep;

use super::clock::NOW;
use super::request_builder::{RequestBuilder, TestResponse};
use super::stack::{Item, Stack, number, slow, text};

impl Stack {
    /// Sends an update of the customer that arrives at this time.
    pub(crate) async fn update(&self, profile: impl Display, at: Timestamp) -> TestResponse {
        let body = format!("{{\"customerId\":\"c\",\"customerData\":{profile}}}");
        self.request(RequestBuilder::customer(&body).received_at(at))
            .await
    }

    /// Sends an update that is acknowledged.
    pub(crate) async fn store_update(&self, profile: impl Display, at: Timestamp) {
        let response = self.update(profile, at).await;
        assert_eq!(response.status, 200, "{response:?}");
    }

    /// Sends an update that is deferred, and returns its messages.
    pub(crate) async fn defer_update(&self, profile: impl Display, at: Timestamp) -> Vec<String> {
        self.set([Fault::Lost.always()]);
        let response = self.update(profile, at).await;
        assert_result(&response, "deferred");
        self.set([]);
        self.take_messages()
    }

    /// Writes a line of an import with this time.
    pub(crate) async fn import(&self, profile: Value, time: Timestamp) -> StoredPart {
        let body = json!({"customerId": "c", "customerData": profile}).to_string();
        let update = CustomerUpdate::parse(JsonText::parse(&body).unwrap()).unwrap();
        let account = "shop".parse().unwrap();
        let upsert = Upsert {
            account_id: &account,
            update: &update,
            mark: UpdateMark::new_imported(time),
            newer_field: NewerField::Keep,
            now: time.max(NOW),
        };
        let deadline = Deadline::after(Duration::from_mins(1));
        let table = customers_table(&self.operator);
        table.upsert(upsert, deadline).await.unwrap().part
    }

    /// Does `work` after `write` has met a newer item, while its write over that is on the way.
    pub(crate) async fn run_before_conditional_write<T>(
        &self,
        write: impl Future<Output = T>,
        work: impl Future<Output = ()>,
    ) -> T {
        let before = self.faulted();
        self.set([slow(100).where_body_has("attribute_exists").on_call(1)]);
        let work = async {
            sleep(Duration::from_millis(50)).await;
            assert_eq!(self.faulted(), before + 1, "a write over a newer item");
            work.await;
        };
        let (written, ()) = tokio::join!(write, work);
        self.set([]);
        written
    }

    /// Deletes the item of the customer, as an operator's erasure does.
    pub(crate) fn erase(&self) {
        self.call("DeleteItem", &json!({"Key": {"pk": {"S": "shop#c"}}}));
    }

    pub(crate) fn customer(&self) -> Item {
        self.customer_with_id("c")
    }

    pub(crate) fn customer_with_id(&self, id: &str) -> Item {
        let key = format!("shop#{id}");
        let items = self.items(CUSTOMERS);
        let is_it = |item: &Item| text(item, "pk") == Some(&key);
        items
            .into_iter()
            .find(is_it)
            .expect("the customer is stored")
    }

    /// Gives the customer's item these attributes, beside its own.
    pub(crate) fn set_attributes(&self, attributes: impl IntoIterator<Item = (String, Value)>) {
        let mut item = self.customer();
        item.extend(attributes);
        self.put_customer(&item);
    }

    /// Replaces the customer's item.
    pub(crate) fn put_customer(&self, item: &Item) {
        self.call("PutItem", &json!({"Item": item}));
    }

    /// Makes a call on the table of the customers past the functions and the faults.
    fn call(&self, operation: &str, body: &Value) {
        let mut body = body.clone();
        body["TableName"] = json!(CUSTOMERS);
        let response = self.aws.state().tables.call(operation, &body, &mut |_| {});
        assert_eq!(response.status, 200, "{response:?}");
    }
}

/// The update was acknowledged, with this result.
#[track_caller]
pub(crate) fn assert_result(response: &TestResponse, result: &str) {
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.json()["result"], result, "{response:?}");
}

/// The fence in this attribute.
pub(crate) fn fence(item: &Item, name: &str) -> u64 {
    number(item, name).parse().unwrap()
}
