//! `signals tail`: over the table, over its stream, and over a stream whose shards end and whose iterators expire.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::types::{StreamSpecification, StreamViewType};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::http_server::{HttpServer, Service};
use testkit::{RequestBuilder, Tables, TestApp};

use crate::operator::Operator;
use crate::running::Running;

async fn send(app: &TestApp, key: &str, signals: Value) {
    let call = RequestBuilder::signals(json!({"signals": signals})).key(key).at(Timestamp::now());
    assert_eq!(app.send(call).await.status, 200);
}

fn event(customer_id: &str, event_type: &str) -> Value {
    json!({"customerId": customer_id, "eventType": event_type, "data": {"price": 1.5, "tags": ["a", null, true]}})
}

async fn enable_stream(app: &TestApp) {
    let stream = StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::NewImage);
    let update = app.client.update_table().table_name(Tables::name("SignalsTable"));
    update.stream_specification(stream.build().unwrap()).send().await.unwrap();
}

/// What is sent while the command runs, and what it lists of that.
async fn tail_lists_arrivals_of_the_account(app: &TestApp, operator: &Operator, local: &[&str]) {
    let (shop, other) = (app.key("shop").await, app.key("other").await);
    let tail = ["signals", "tail", "--account", "shop"];
    let all = Running::start(operator, &[&tail[..], &["--json"], local].concat());
    let some = Running::start(operator, &[&tail[..], &["--type", "start"], local].concat());
    for running in [&all, &some] {
        assert_eq!(running.note(), "Waiting for signals of the account shop. Ctrl-C ends it.");
    }
    send(app, &other, json!([event("ada", "elsewhere")])).await;
    let flow = "3fa85f64-5717-4562-b3fc-2c963f66afa6";
    let step = json!({"emitterId": "e", "stepNodeId": "start", "data": {}, "eventflowIdentifier": flow});
    send(app, &shop, json!([event("ada", "buy"), step])).await;
    let bought = all.json();
    assert_eq!((&bought["customerId"], &bought["data"]), (&json!("ada"), &event("", "")["data"]));
    assert!(bought.get("pk").is_none() && bought.get("accountId").is_none(), "{bought}");
    assert_eq!(all.json()["stepNodeId"], "start");
    send(app, &shop, json!([event("bob", "start")])).await;
    assert_eq!(all.json()["customerId"], "bob");

    assert!(some.line().starts_with("RECEIVED "));
    assert!(some.line().contains(&format!("  e           start       {flow}  {{}}")));
    assert!(some.line().contains("  bob         start  "));
    for running in [all, some] {
        assert_eq!(running.interrupt(), (Some(0), Vec::new(), Vec::new()));
    }
}

#[tokio::test]
async fn tail_of_the_local_table_lists_arrivals_of_the_account() {
    let app = TestApp::start();
    let operator = Operator::with_nothing();
    let mut variables = format!(
        "AWS_ENDPOINT_URL_DYNAMODB={}\nAWS_REGION=eu-central-1\nAWS_ACCESS_KEY_ID=local\nAWS_SECRET_ACCESS_KEY=local\n",
        app.emulator.endpoint()
    );
    for (variable, table) in crate::operator::VARIABLES {
        variables.extend([variable, "=", Tables::name(table), "\n"]);
    }
    operator.file("dev.env", &variables);
    tail_lists_arrivals_of_the_account(&app, &operator, &["--local=dev.env"]).await;
}

#[tokio::test]
async fn tail_of_the_stream_lists_arrivals_of_the_account() {
    let app = TestApp::start();
    let operator = Operator::of(&app).variable("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", &app.emulator.endpoint());
    let without = operator.run(&["signals", "tail", "--account", "shop"]).error_message();
    assert!(without.contains("has no stream"), "{without}");
    enable_stream(&app).await;
    tail_lists_arrivals_of_the_account(&app, &operator, &[]).await;
}

/// A stream whose first shard loses its iterator once, is throttled once, and ends; a second shard follows.
#[derive(Default)]
struct Stream {
    calls: Mutex<Vec<String>>,
    reads: Mutex<BTreeMap<String, usize>>,
}

impl Stream {
    fn describe(&self) -> Value {
        let has_ended = self.reads.lock().unwrap().get("A").is_some_and(|&reads| reads >= 4);
        let shard = |id: &str, end: Value| json!({"ShardId": id, "SequenceNumberRange": {"StartingSequenceNumber": "1", "EndingSequenceNumber": end}});
        let shards = if has_ended {
            vec![shard("0", json!("0")), shard("A", json!("2")), shard("B", Value::Null)]
        } else {
            vec![shard("0", json!("0")), shard("A", Value::Null)]
        };
        json!({"StreamDescription": {"StreamArn": "s", "StreamStatus": "ENABLED", "Shards": shards}})
    }

    fn records(&self, shard: &str) -> Result<Value, &'static str> {
        let mut reads = self.reads.lock().unwrap();
        let read = reads.entry(shard.to_owned()).or_default();
        *read += 1;
        let record = |sequence: &str, event_type: &str, kind: &str| {
            let image = json!({"pk": {"S": "shop#ada"}, "sk": {"S": sequence}, "accountId": {"S": "shop"}, "eventType": {"S": event_type}});
            json!({"eventName": kind, "dynamodb": {"SequenceNumber": sequence, "NewImage": image}})
        };
        match (shard, *read) {
            ("A", 1) => Ok(json!({"Records": [record("1", "first", "INSERT")], "NextShardIterator": "A"})),
            ("A", 2) => Err("ExpiredIteratorException"),
            ("A", 3) => Err("LimitExceededException"),
            ("A", 4) => Ok(json!({"Records": [record("2", "second", "INSERT"), record("3", "changed", "MODIFY")]})),
            ("B", 1) => Ok(json!({"Records": [record("4", "third", "INSERT")], "NextShardIterator": "B"})),
            ("B", _) => Ok(json!({"Records": [], "NextShardIterator": "B"})),
            _ => Err("InternalServerError"),
        }
    }
}

impl Service for Stream {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let target = request.headers()["x-amz-target"].to_str().unwrap().rsplit('.').next().unwrap().to_owned();
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let text = |name: &str| body[name].as_str().unwrap_or("-").to_owned();
        let answer = match target.as_str() {
            "DescribeStream" => Ok(self.describe()),
            "GetShardIterator" => {
                let call = [text("ShardId"), text("ShardIteratorType"), text("SequenceNumber")].join(" ");
                self.calls.lock().unwrap().push(call);
                Ok(json!({"ShardIterator": text("ShardId")}))
            }
            _ => self.records(&text("ShardIterator")),
        };
        let (status, body) = match answer {
            Ok(body) => (200, body),
            Err(code) => (400, json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{code}")})),
        };
        Response::builder().status(status).body(Full::new(Bytes::from(body.to_string()))).unwrap()
    }
}

#[tokio::test]
async fn tail_survives_an_expired_iterator_throttling_and_the_end_of_a_shard() {
    let app = TestApp::start();
    enable_stream(&app).await;
    app.key("shop").await;
    let stream = Arc::new(Stream::default());
    let server = HttpServer::start(Arc::clone(&stream), None).await.unwrap();
    let endpoint = format!("http://{}", server.address());
    let operator = Operator::of(&app).variable("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", &endpoint);
    let listed = tokio::task::spawn_blocking(move || {
        let tail = Running::start(&operator, &["signals", "tail", "--account", "shop", "--json"]);
        let listed = [tail.json(), tail.json(), tail.json()].map(|signal| signal["eventType"].clone());
        (listed, tail.interrupt().0)
    });
    let (listed, code) = listed.await.unwrap();
    assert_eq!((listed, code), (["first", "second", "third"].map(Value::from), Some(0)));
    assert_eq!(*stream.calls.lock().unwrap(), ["A LATEST -", "A AFTER_SEQUENCE_NUMBER 1", "B TRIM_HORIZON -"]);
}
