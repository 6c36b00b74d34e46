//! The three functions in this process over an emulator of their own.

use std::collections::HashMap;
use std::time::Duration;

use aws::connectors::Connectors;
use aws::s3;
use aws::variables::Variables;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use customers::CustomersFunction;
use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE};
use emulator::{Emulator, Storage};
use model::api_key::ApiKey;
use model::identifier::RequestIdentifier;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use overflow::{OverflowFunction, SqsEvent, SqsMessage};
use service::context::RequestContext;
use service::runtime::http::serve;
use service::telemetry::log::Log;
use signals::SignalsFunction;
use store::api_keys::ApiKeysTable;
use store::customers::CustomersTable;
use store::idempotency::IdempotencyTable;
use store::key_snapshot::BUCKET_VARIABLE;
use store::overflow_messages::{DEAD_LETTER_QUEUE_VARIABLE, QUEUE_VARIABLE};
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;

use crate::clients::client_at;
use crate::fake_s3::{FakeS3, KEY_SNAPSHOT_BUCKET};
use crate::keys::{key_entry, store_key};
use crate::other_dynamodb::other_dynamodb;
use crate::request_builder::{RequestBuilder, TestResponse, read_event};
use crate::tables::{table_name, template};

/// A stored item: its attributes by their names.
pub type Item = HashMap<String, AttributeValue>;

/// Where the functions of a test find AWS's services.
struct Endpoints<'e> {
    /// The DynamoDB with the key table.
    keys: &'e str,
    /// The DynamoDB with the other tables.
    others: &'e str,
    sqs: &'e str,
    s3: &'e str,
}

impl Endpoints<'_> {
    /// The variables of the functions, whose signals are kept this long.
    fn variables(&self, retention: Option<Duration>) -> Variables {
        let days = retention.map_or(0, |retention| retention.as_secs() / (24 * 60 * 60));
        let days = days.to_string();
        let variables = [
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.others),
            ("AWS_ENDPOINT_URL_SQS", self.sqs),
            (s3::ENDPOINT_VARIABLE, self.s3),
            (ApiKeysTable::VARIABLE, table_name("ApiKeysTable")),
            (CustomersTable::VARIABLE, table_name("CustomersTable")),
            (IdempotencyTable::VARIABLE, table_name("IdempotencyTable")),
            (SignalsTable::VARIABLE, table_name("SignalsTable")),
            (
                RejectedSignalsTable::VARIABLE,
                table_name("RejectedSignalsTable"),
            ),
            (SignalsTable::RETENTION_VARIABLE, &days),
            (QUEUE_VARIABLE, OVERFLOW_QUEUE),
            (DEAD_LETTER_QUEUE_VARIABLE, DEAD_LETTER_QUEUE),
            (BUCKET_VARIABLE, KEY_SNAPSHOT_BUCKET),
        ];
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        variables.into_iter().map(owned).collect()
    }

    /// What makes the calls of a function with these variables.
    fn connectors(&self, variables: &Variables) -> Connectors {
        let connectors = Connectors::from_variables(variables).expect("the roots can be used");
        let dynamodb = KeyTableConnector {
            others: connectors.dynamodb,
            keys: self.keys.to_owned(),
        };
        Connectors {
            dynamodb: SharedHttpConnector::new(dynamodb),
            ..connectors
        }
    }
}

/// Makes the calls on the key table to one endpoint, and those on the other tables to their own.
#[derive(Debug)]
struct KeyTableConnector {
    others: SharedHttpConnector,
    keys: String,
}

impl HttpConnector for KeyTableConnector {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        // The body of a write may have megabytes, which a search would take long to read.
        let is_read = request
            .headers()
            .get("x-amz-target")
            .is_some_and(|target| target.ends_with(".GetItem"));
        let table = format!("\"TableName\":\"{}\"", table_name("ApiKeysTable"));
        let body = request.body().bytes().unwrap_or_default();
        if is_read && String::from_utf8_lossy(body).contains(&table) {
            request.set_uri(self.keys.as_str()).unwrap();
        }
        self.others.call(request)
    }
}

/// The functions, an emulator, and a client to look into it.
pub struct TestApp {
    /// The DynamoDB that the calls of the functions reach, at once or through a fault proxy.
    pub emulator: Emulator,
    /// Has the overflow queue and its dead-letter queue.
    pub sqs: FakeSqs,
    /// Has the key snapshot, once a test has published one.
    pub s3: FakeS3,
    /// Looks into the emulator, past the functions.
    pub client: Client,
    /// `POST /api/customers` and the ping.
    pub customers: CustomersFunction,
    /// `POST /api/event-flows/signal`.
    pub signals: SignalsFunction,
    /// The drain of the overflow queue.
    pub overflow: OverflowFunction,
    /// Where the functions' lines go: nowhere, unless a test sets another.
    pub log: Log,
}

impl TestApp {
    /// A stack with empty tables.
    pub fn start() -> Self {
        let emulator = Self::emulator();
        let endpoint = emulator.endpoint();
        Self::with_dynamodb(emulator, &endpoint, &endpoint, None)
    }

    /// A stack with empty tables, and a key of this account.
    pub async fn with_key(account: &str) -> (Self, String) {
        let app = Self::start();
        let key = app.key(account).await;
        (app, key)
    }

    /// An emulator with empty tables.
    pub fn emulator() -> Emulator {
        if let Some(other) = other_dynamodb(template()) {
            return other;
        }
        Emulator::start(template(), &Storage::Memory, 0).expect("the emulator starts")
    }

    /// A stack whose functions find the key table at one endpoint and the others at another.
    pub fn with_dynamodb(
        emulator: Emulator,
        keys: &str,
        others: &str,
        retention: Option<Duration>,
    ) -> Self {
        let sqs = FakeSqs::start_in_thread().expect("loopback has a free port");
        let s3 = FakeS3::start_in_thread().expect("loopback has a free port");
        let endpoints = Endpoints {
            keys,
            others,
            sqs: &sqs.endpoint(),
            s3: &s3.endpoint(),
        };
        let variables = endpoints.variables(retention);
        let connectors = &endpoints.connectors(&variables);
        Self {
            customers: CustomersFunction::new(&variables, connectors).unwrap(),
            signals: SignalsFunction::new(&variables, connectors, RequestIdentifier::random)
                .unwrap(),
            overflow: OverflowFunction::new(&variables, connectors).unwrap(),
            client: client_at(&emulator.endpoint()),
            emulator,
            sqs,
            s3,
            log: Log::new("local", |_| {}),
        }
    }

    /// A new key of this account.
    pub async fn key(&self, account: &str) -> String {
        self.key_with(account, |_| {}).await
    }

    /// A new key of this account whose entry was changed before it was written.
    pub async fn key_with(&self, account: &str, change: impl FnOnce(&mut KeyEntry)) -> String {
        let key = ApiKey::random().unwrap();
        let mut entry = key_entry(account);
        change(&mut entry);
        store_key(&self.emulator.endpoint(), &key, &entry).await;
        key.expose_secret().to_owned()
    }

    /// Sends a call to the function that has its path.
    pub async fn send(&self, call: RequestBuilder) -> TestResponse {
        let for_signals = call.is_for_signals();
        let (request, context) = call.into_parts(self.log.clone(), Timestamp::now());
        let response = if for_signals {
            let served = serve(&self.signals, &request, context).await;
            served.response
        } else {
            let served = serve(&self.customers, &request, context).await;
            served.response
        };
        TestResponse::new(response)
    }

    /// Delivers messages of the overflow queue to the drain at this time. Returns those that are to
    /// be delivered again.
    pub async fn drain(&self, messages: &[String], now: Timestamp) -> Vec<String> {
        let records = messages
            .iter()
            .enumerate()
            .map(|(id, body)| SqsMessage {
                message_id: id.to_string(),
                body: body.clone(),
            })
            .collect();
        let context = lambda_runtime::Context::default();
        let response = self
            .overflow
            .drain(SqsEvent { records }, &context, now, &self.log)
            .await;
        let mut failed = Vec::new();
        for failure in response.response.batch_item_failures {
            let index: usize = failure.item_identifier.parse().unwrap();
            failed.push(messages[index].clone());
        }
        failed
    }

    /// Gives these bytes to the customers function and then to the signals function, as Lambda's
    /// runtime delivers an event.
    pub async fn invoke(&self, event: &[u8]) -> [TestResponse; 2] {
        let request = read_event(event, uuid::Uuid::new_v4().to_string());
        let context = RequestContext::from_request(&request, Timestamp::now(), self.log.clone());
        let served_customers = serve(&self.customers, &request, context.clone()).await;
        let served_signals = serve(&self.signals, &request, context).await;
        [served_customers.response, served_signals.response].map(TestResponse::new)
    }

    /// All items of a table, by its logical id.
    pub async fn items(&self, logical_id: &str) -> Vec<Item> {
        let pages = self
            .client
            .scan()
            .table_name(table_name(logical_id))
            .consistent_read(true)
            .into_paginator()
            .items()
            .send();
        pages.collect::<Result<_, _>>().await.unwrap()
    }

    /// The history of a customer or an emitter, oldest first.
    pub async fn history(&self, account: &str, subject_id: &str) -> Vec<Item> {
        let query = self
            .client
            .query()
            .table_name(table_name("SignalsTable"))
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(
                ":pk",
                AttributeValue::S(format!("{account}#{subject_id}")),
            )
            .consistent_read(true);
        query
            .into_paginator()
            .items()
            .send()
            .collect::<Result<_, _>>()
            .await
            .unwrap()
    }

    /// The stored item of a customer.
    pub async fn customer(&self, account: &str, customer_id: &str) -> Option<Item> {
        let key = AttributeValue::S(format!("{account}#{customer_id}"));
        let get = self
            .client
            .get_item()
            .table_name(table_name("CustomersTable"))
            .key("pk", key)
            .consistent_read(true);
        get.send().await.unwrap().item
    }
}
