//! A process of one handler of the delivery with its target and the failure bucket, and records of its
//! streams.

use std::collections::BTreeMap;
use std::time::Duration;

use harness::build_functions;
use harness::fake_s3::FakeS3;
use harness::fake_targets::{FakeTargets, Target};
use harness::function_process::{FunctionProcess, ProcessOptions};
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub(crate) const BUCKET: &str = "intake-failures";

/// The variables of the handler of the bus, beside a lake.
pub(crate) const BUS: &[(&str, &str)] = &[
    ("EVENT_BUS_NAME", "company"),
    ("LAKE_DATAREF", "urn:intake:lake"),
];

/// The variables of the handler of the bus, without a lake.
pub(crate) const BUS_WITHOUT_LAKE: &[(&str, &str)] =
    &[("EVENT_BUS_NAME", "company"), ("LAKE_DATAREF", "")];

/// The variables of the handler of the lake.
pub(crate) const LAKE: &[(&str, &str)] = &[("DELIVERY_STREAM_NAME", "intake-lake")];

/// A handler, for tests of both.
#[derive(Clone, Copy)]
pub(crate) struct TestedHandler {
    pub(crate) variables: &'static [(&'static str, &'static str)],
    pub(crate) target: Target,
    /// The name of the target in the log.
    pub(crate) name: &'static str,
    /// A code with which the target refuses a whole call for good.
    pub(crate) refusal: &'static str,
}

pub(crate) const HANDLERS: [TestedHandler; 2] = [
    TestedHandler {
        variables: BUS,
        target: Target::Bus,
        name: "bus",
        refusal: "ValidationException",
    },
    TestedHandler {
        variables: LAKE,
        target: Target::Lake,
        name: "lake",
        refusal: "InvalidArgumentException",
    },
];

/// The timeout of an invocation: shorter than in delivery/template.yaml, because some tests wait for
/// it.
pub(crate) const INVOCATION_TIMEOUT: Duration = Duration::from_secs(10);

/// A process of the function.
pub(crate) struct Delivery {
    pub(crate) process: FunctionProcess,
    pub(crate) targets: FakeTargets,
    pub(crate) s3: FakeS3,
    pub(crate) log: mpsc::UnboundedReceiver<String>,
}

impl Delivery {
    pub(crate) async fn start(variables: &[(&str, &str)]) -> Self {
        Self::start_with_timeout(variables, INVOCATION_TIMEOUT).await
    }

    /// A process whose invocations have this timeout, of which the function leaves one second.
    pub(crate) async fn start_with_timeout(
        variables: &[(&str, &str)],
        invocation_timeout: Duration,
    ) -> Self {
        let targets = FakeTargets::start().await.unwrap();
        let s3 = FakeS3::start().await.unwrap();
        let (options, log) = options(&targets, &s3, variables);
        let options = ProcessOptions {
            invocation_timeout,
            ..options
        };
        let mut process = FunctionProcess::start(&options).await.unwrap();
        process.idle().await.unwrap();
        Self {
            process,
            targets,
            s3,
            log,
        }
    }

    /// The response to these records.
    pub(crate) async fn deliver(&self, records: &[Value]) -> Value {
        self.process
            .invoke(json!({"Records": records}).to_string())
            .await
            .unwrap()
            .json()
    }

    /// The sequence number of the first undelivered record.
    pub(crate) async fn first_undelivered(&self, records: &[Value]) -> Option<String> {
        let response = self.deliver(records).await;
        let failures = response["batchItemFailures"].as_array().unwrap();
        assert!(failures.len() <= 1, "{response}");
        failures
            .first()
            .map(|failure| failure["itemIdentifier"].as_str().unwrap().to_owned())
    }

    /// The events that the bus took.
    pub(crate) fn on_the_bus(&self) -> Vec<Value> {
        let detail =
            |entry: &Value| serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
        self.targets.take_entries().iter().map(detail).collect()
    }

    /// The events that the lake took, as text.
    pub(crate) fn lines_of_the_lake(&self) -> Vec<String> {
        let records = self.targets.take_records();
        assert!(records.iter().all(|record| record.ends_with('\n')));
        records
            .iter()
            .flat_map(|record| record.lines())
            .map(ToOwned::to_owned)
            .collect()
    }

    /// The ids of the events that the target took.
    pub(crate) fn delivered(&self) -> Vec<String> {
        ids(&delivered(&self.targets))
    }

    /// The objects of the failure bucket by their keys.
    pub(crate) fn kept(&self) -> BTreeMap<String, Value> {
        let mut kept = BTreeMap::new();
        for path in self.s3.paths(&format!("/{BUCKET}/")) {
            let object = self.s3.object(&path).unwrap();
            let key = path.trim_start_matches(&format!("/{BUCKET}/")).to_owned();
            kept.insert(key, serde_json::from_slice(&object.body).unwrap());
        }
        kept
    }

    /// The next line of the log.
    pub(crate) async fn line(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_mins(1), self.log.recv())
            .await
            .unwrap()
            .unwrap();
        serde_json::from_str(&line).unwrap_or(Value::String(line))
    }
}

/// The events that the target took: those on the bus, or those of the lake.
pub(crate) fn delivered(targets: &FakeTargets) -> Vec<Value> {
    let details = targets.take_entries().into_iter();
    let details = details.map(|entry| entry["Detail"].as_str().unwrap().to_owned());
    let records = targets.take_records();
    let lines = records.iter().flat_map(|record| record.lines());
    details
        .chain(lines.map(ToOwned::to_owned))
        .map(|event| serde_json::from_str(&event).unwrap())
        .collect()
}

pub(crate) fn options(
    targets: &FakeTargets,
    s3: &FakeS3,
    variables: &[(&str, &str)],
) -> (ProcessOptions, mpsc::UnboundedReceiver<String>) {
    let program = build_functions().unwrap().join("deliver");
    let (sender, log) = mpsc::unbounded_channel();
    let mut options = ProcessOptions {
        log: Some(sender),
        ..ProcessOptions::new(program, "http://127.0.0.1:1", INVOCATION_TIMEOUT)
    };
    let endpoint = targets.endpoint();
    let common = [
        // The SDK prefers each service's own variable to this one.
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ENDPOINT_URL_EVENTBRIDGE", endpoint.as_str()),
        ("AWS_ENDPOINT_URL_FIREHOSE", endpoint.as_str()),
        ("AWS_ENDPOINT_URL_S3", &s3.endpoint()),
        ("FAILURE_BUCKET_NAME", BUCKET),
    ];
    let variables = common.into_iter().chain(variables.iter().copied());
    options
        .variables
        .extend(variables.map(|(name, value)| (name.to_owned(), value.into())));
    (options, log)
}

/// The id of the event of the signal with this number.
pub(crate) fn id(number: usize) -> String {
    format!("2026-11-20T22:33:44.123Z#6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#{number:04}")
}

/// The record of a signal with this number. It is the number after `s` of its sequence number.
pub(crate) fn signal(number: usize, data: &Value) -> Value {
    let image = json!({
        "pk": {"S": "acme#c"}, "sk": {"S": id(number)}, "accountId": {"S": "acme"}, "customerId": {"S": "c"},
        "eventType": {"S": "purchase"}, "data": {"M": data}, "receivedAt": {"S": "2026-11-20T22:33:44.123Z"},
        "requestIdentifier": {"S": "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11"}, "expiresAt": {"N": "1802990024"},
    });
    json!({
        "eventID": format!("{number:032x}"), "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
        "awsRegion": "eu-central-1", "eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/Signals/stream/1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_795_214_025, "Keys": {"pk": image["pk"], "sk": image["sk"]}, "NewImage": image,
            "SequenceNumber": format!("s{number}"), "SizeBytes": 300, "StreamViewType": "NEW_IMAGE",
        },
    })
}

/// Records of signals with these numbers.
pub(crate) fn signals(numbers: impl IntoIterator<Item = usize>) -> Vec<Value> {
    numbers
        .into_iter()
        .map(|number| signal(number, &json!({})))
        .collect()
}

/// The item of the customer `c`.
pub(crate) fn customer(updated_at: &str, city: &str) -> Value {
    json!({
        "pk": {"S": "acme#c"}, "accountId": {"S": "acme"}, "customerId": {"S": "c"},
        "city": {"S": city}, "createdAt": {"S": "2026-11-20T22:33:44.123Z"},
        "updatedAt": {"S": updated_at},
    })
}

/// The record of a change of the customer `c` with this id.
pub(crate) fn change_of_customer(
    id: &str,
    name: &str,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Value {
    json!({"eventID": id, "eventName": name, "dynamodb": {
        "Keys": {"pk": {"S": "acme#c"}}, "SequenceNumber": id,
        "ApproximateCreationDateTime": 1_795_214_024, "OldImage": old, "NewImage": new,
    }})
}

/// The ids of events.
pub(crate) fn ids(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .map(|event| event["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The ids of events in lines.
pub(crate) fn ids_of_lines(lines: &[String]) -> Vec<String> {
    ids(&lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect::<Vec<_>>())
}

/// The ids of the events of signals with these numbers.
pub(crate) fn ids_of(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(id).collect()
}

/// The key in the failure bucket of the record of the signal with this number.
pub(crate) fn kept_key(number: usize) -> String {
    format!("unreadable/2026/11/20/{number:032x}.json")
}
