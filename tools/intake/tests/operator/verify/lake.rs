//! `verify --delivery`, over a lake that holds what is stored.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::TestApp;
use testkit::fault_proxy::Plan;
use testkit::http_server::{HttpServer, Service};

use super::{Deployed, described, output, outputs, with_result};
use crate::operator::{Operator, Outcome};

/// CloudFormation, CloudWatch Logs and S3, with a bucket of two objects of today.
struct Aws {
    app: Arc<TestApp>,
    outputs: String,
    /// How many of the signals did not reach the lake.
    missing: usize,
    has_lake: bool,
}

impl Aws {
    /// The events of the stored signals, and one of another account, half of them in each object.
    async fn object(&self, name: &str) -> Vec<u8> {
        let items = self.app.items("SignalsTable").await;
        let event = |item: &HashMap<String, AttributeValue>| {
            let text = |name: &str| Some(item.get(name)?.as_s().ok()?.clone());
            let source = format!("/accounts/{}/signals", text("accountId")?);
            Some(json!({"id": text("sk"), "source": source, "time": text("receivedAt"), "data": {}}))
        };
        let mut events: Vec<Value> = items.iter().filter_map(event).collect();
        events.sort_by_key(|event| event["id"].to_string());
        events.truncate(events.len() - self.missing);
        events.push(json!({"id": "x", "source": "/accounts/shop/signals", "time": "2026-11-20T22:33:44.123Z"}));
        let (first, second) = events.split_at(events.len() / 2);
        let lines = if name.ends_with("a%20a.gz") { first } else { second };
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        for line in lines {
            writeln!(gzip, "{line}").unwrap();
        }
        gzip.finish().unwrap()
    }

    /// A page of the list, with one object.
    fn page(query: &str) -> String {
        let now = Timestamp::now();
        let day = store::rejected_signals::day(now);
        let prefix = format!("list-type=2&prefix=events%2Fdt%3D{day}%2F");
        let (name, is_truncated) = match query.strip_prefix(&prefix) {
            Some("") => ("a a.gz", true),
            Some(after) if after == format!("&start-after=events%2Fdt%3D{day}%2Fa%20a.gz") => ("b.gz", false),
            // The run began yesterday.
            _ => return "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>".to_owned(),
        };
        format!(
            "<ListBucketResult><IsTruncated>{is_truncated}</IsTruncated><Contents><Key>events/dt={day}/{name}</Key>\
             <LastModified>{now}</LastModified></Contents></ListBucketResult>"
        )
    }
}

impl Service for Aws {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        if request.headers().contains_key("x-amz-target") {
            return Response::new(Full::from(r#"{"events":[]}"#));
        }
        if request.method() == "POST" {
            let body = String::from_utf8_lossy(request.body()).into_owned();
            let lake = if self.has_lake { output("LakeBucketName", "lake") } else { String::new() };
            return described(if body.contains("StackName=s-delivery") { &lake } else { &self.outputs });
        }
        assert!(request.headers().contains_key("x-amz-content-sha256"), "{request:?}");
        match (request.uri().path(), request.uri().query()) {
            ("/lake/", Some(query)) => Response::new(Full::from(Self::page(query))),
            (path, None) if path.starts_with("/lake/events/dt%3D") => {
                Response::new(Full::from(self.object(path).await))
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The report, and how the command ended.
async fn verify(missing: usize, has_lake: bool, arguments: &[&str]) -> (Value, Outcome) {
    let deployed = Deployed::with(Plan::none()).await;
    let aws = Aws { app: Arc::clone(&deployed.app), outputs: outputs(&deployed), missing, has_lake };
    let aws = HttpServer::start(Arc::new(aws), None).await.unwrap();
    let operator = Operator::with_credentials(&deployed.app.emulator.endpoint())
        .variable("AWS_ENDPOINT_URL", &format!("http://{}", aws.address()));
    let delivery = ["--stack", "s", "verify", "--signals", "200", "--json", "--delivery", "s-delivery"];
    let run = operator.run(&[&delivery, arguments].concat());
    deployed.assert_empty().await;
    (run.json().remove(0), run)
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_finds_every_signal_in_the_lake_and_says_after_how_long() {
    let (report, run) = verify(0, true, &[]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(report["lake"]["signals"], report["signals"]);
    assert!(report["lake"]["p50Seconds"].as_u64() <= report["lake"]["maxSeconds"].as_u64(), "{report}");
    let held = with_result(&report, "held");
    assert!(held.iter().any(|(name, _)| name == "Every signal is in the lake"), "{held:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn signal_that_is_missing_in_the_lake_fails_verify_and_is_named() {
    let (report, run) = verify(1, true, &["--delivery-timeout", "0s"]).await;
    assert_eq!(run.code, Some(1), "{run:?}");
    let failed = with_result(&report, "failed");
    let [(name, detail)] = failed.as_slice() else { panic!("{failed:?}") };
    assert_eq!(name, "Every signal is in the lake");
    let expected = format!("1 of {} are missing after ", report["signals"]);
    assert!(detail.starts_with(&expected) && detail.contains(" s; the first is 20"), "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_without_a_lake_is_skipped() {
    let (report, run) = verify(0, false, &[]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let skipped = with_result(&report, "skipped");
    assert!(skipped.iter().any(|(_, reason)| reason == "the stack s-delivery has no lake"), "{skipped:?}");
}
