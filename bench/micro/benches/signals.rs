//! Parsing and encoding a batch of 1, 25, 100 and 500 signals, in time: to see quickly whether a change helps.
//!
//! Encoding is measured with all that the SDK does for a call, signing included, down to a connector that answers at
//! once: there is no way to the encoder but through it.

#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing to measure")]

use std::hint::black_box;
use std::time::Duration;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, HttpClient, Region, SharedHttpClient};
use aws_sdk_dynamodb::{Client, Config};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use bench::requests;
use criterion::{BenchmarkId, Criterion, Throughput};
use model::batch::Batch;
use model::deadline::Deadline;
use model::identifier::RequestIdentifier;
use model::json::JsonText;
use model::timestamp::Timestamp;
use store::batch_context::BatchContext;
use store::signals::SignalsTable;

const SIZES: [usize; 4] = [1, 25, 100, 500];

fn main() {
    // `cargo bench` hands its arguments to every benchmark; these are another one's.
    let mut criterion = Criterion::default().measurement_time(Duration::from_secs(3)).without_plots();
    parsing(&mut criterion);
    encoding(&mut criterion);
    criterion.final_summary();
}

fn parsing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse a batch");
    for size in SIZES {
        let body = requests::batch_body(size, None, 0);
        group.throughput(Throughput::Bytes(u64::try_from(body.len()).unwrap_or_default()));
        group.bench_with_input(BenchmarkId::from_parameter(size), &body, |bencher, body| {
            bencher.iter(|| Batch::parse(JsonText::parse(black_box(body)).expect("it is JSON")).expect("it is valid"));
        });
    }
    group.finish();
}

fn encoding(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let table = SignalsTable::new(client(), "SignalsTable", None);
    let account = "shop".parse().expect("an account");
    let request_identifier = RequestIdentifier::random();
    let context = BatchContext::without_request(&account, &request_identifier, Timestamp::from_millis(0));
    let mut group = criterion.benchmark_group("encode, sign and send a batch");
    for size in SIZES {
        let body = requests::batch_body(size, None, 0);
        let batch = Batch::parse(JsonText::parse(&body).expect("it is JSON")).expect("it is valid");
        group.throughput(Throughput::Elements(u64::try_from(size).unwrap_or_default()));
        group.bench_with_input(BenchmarkId::from_parameter(size), &batch, |bencher, batch| {
            bencher.iter(|| {
                let put = table.put(context, &batch.signals, Deadline::after(Duration::from_secs(10)));
                runtime.block_on(put).expect("it is stored")
            });
        });
    }
    group.finish();
}

fn client() -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .credentials_provider(Credentials::for_tests())
        .region(Region::from_static("eu-central-1"))
        .http_client(SharedHttpClient::new(AtOnce));
    Client::from_conf(config.build())
}

/// Acknowledges each call before it is sent.
#[derive(Clone, Debug)]
struct AtOnce;

impl HttpConnector for AtOnce {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let acknowledged = HttpResponse::new(200.try_into().expect("a status"), r#"{"UnprocessedItems":{}}"#.into());
        HttpConnectorFuture::ready(Ok(acknowledged))
    }
}

impl HttpClient for AtOnce {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
