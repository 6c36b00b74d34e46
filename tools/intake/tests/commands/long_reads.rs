//! Reads of whole tables wait while DynamoDB throttles them, and take what it gives.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use harness::fault_proxy::{Fault, Plan};
use harness::http_server::{HttpServer, Service, response};
use harness::{RequestBuilder, TestApp};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::{Value, json};

use crate::support::fake_aws::key_item;
use crate::support::fault::operator_behind_proxy;
use crate::support::operator::{CommandOutput, Operator};
use crate::support::requests::send;
use crate::support::running_command::RunningCommand;

#[tokio::test(flavor = "multi_thread")]
async fn scan_survives_throttling_and_says_that_it_waits() {
    let app = TestApp::start();
    Operator::new(&app).create_key("web");
    let throttled = Fault::THROTTLED.always().for_operation("Scan");
    let faulted = operator_behind_proxy(&app, throttled).await;
    let running = RunningCommand::start(&faulted.operator, &["keys", "list", "--json"]);
    let waiting = running.note();
    assert!(
        waiting.contains(": AWS throttles the calls. Retrying for up to "),
        "{waiting}"
    );
    faulted.proxy.set(Plan::none());
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout.len(), 1);
}

/// Runs a command whose first calls of this operation are throttled: more than the SDK makes attempts.
async fn run_while_throttled(
    app: &TestApp,
    operation: &'static str,
    arguments: &[&str],
) -> CommandOutput {
    let throttled = Fault::THROTTLED.on_calls(1..5).for_operation(operation);
    let faulted = operator_behind_proxy(app, throttled).await;
    let output = faulted.operator.run(arguments).success();
    assert_eq!(faulted.proxy.counts().faulted, 4, "{output:?}");
    output
}

#[tokio::test(flavor = "multi_thread")]
async fn query_survives_throttling() {
    let app = TestApp::start();
    let list = ["signals", "list", "--account", "shop", "ada"];
    run_while_throttled(&app, "Query", &list).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_of_one_item_waits_while_dynamodb_throttles_it() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let customer = json!({"customerId": "1001", "customerData": {}});
    send(&app, &key, RequestBuilder::customer(customer)).await;
    let show = ["customers", "show", "--account", "shop", "1001", "--json"];
    let shown = run_while_throttled(&app, "GetItem", &show).await;
    assert_eq!(shown.json().len(), 1);
}

/// The read units of a page of 1 MiB, consistently read ("Read/write capacity" in the DynamoDB developer
/// guide).
const PAGE_UNITS: f64 = 256.0;

/// What a partition reads in a second.
const UNITS_PER_SECOND: f64 = 3_000.0;

/// The pages of each of the eight segments.
const PAGES: u64 = 6;

/// A table of one partition, which has saved nothing for a burst.
struct Partition {
    units: f64,
    filled_at: Instant,
    /// How often each page was read, by segment and page.
    read: BTreeMap<(u64, u64), u32>,
    throttled: u32,
}

struct ThrottledTable(Mutex<Partition>);

impl Partition {
    fn scan(&mut self, call: &Value) -> Option<Value> {
        let now = Instant::now();
        let refill = (now - self.filled_at).as_secs_f64() * UNITS_PER_SECOND;
        self.units = (self.units + refill).min(UNITS_PER_SECOND);
        self.filled_at = now;
        if self.units < PAGE_UNITS {
            self.throttled += 1;
            return None;
        }
        self.units -= PAGE_UNITS;
        let segment = call["Segment"].as_u64().unwrap();
        let start = call["ExclusiveStartKey"]["keyHash"]["S"].as_str();
        let page = start.map_or(0, |start| start.parse().unwrap());
        *self.read.entry((segment, page)).or_default() += 1;
        let next = page + 1;
        let mut body = json!({"Items": [key_item(90)], "Count": 1, "ScannedCount": 1});
        if next < PAGES {
            body["LastEvaluatedKey"] = json!({"keyHash": {"S": next.to_string()}});
        }
        Some(body)
    }
}

impl Service for ThrottledTable {
    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let call = serde_json::from_slice(request.body()).unwrap();
        let page = self.0.lock().unwrap().scan(&call);
        if let Some(page) = page {
            response(200, &[], page.to_string())
        } else {
            let error = json!({"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"});
            response(400, &[], error.to_string())
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn table_is_read_as_fast_as_its_partition_gives_and_no_page_twice() {
    let partition = Partition {
        units: UNITS_PER_SECOND,
        filled_at: Instant::now(),
        read: BTreeMap::new(),
        throttled: 0,
    };
    let table = HttpServer::start(ThrottledTable(Mutex::new(partition)), None)
        .await
        .unwrap();
    let operator = Operator::with_credentials(&table.endpoint()).variable("API_KEYS_TABLE", "t");
    let began = Instant::now();
    let listed = operator.run(&["keys", "list", "--json"]).success();
    let took = began.elapsed().as_secs_f64();
    let pages = 8 * PAGES;
    assert_eq!(listed.json().len() as u64, pages);
    let partition = table.service.0.lock().unwrap();
    assert!(
        partition.read.values().all(|times| *times == 1),
        "{:?}",
        partition.read
    );
    assert!(partition.throttled > 0);
    let at_least = (f64::from(u32::try_from(pages).unwrap()) * PAGE_UNITS - UNITS_PER_SECOND)
        / UNITS_PER_SECOND;
    eprintln!(
        "{pages} pages in {took:.1} s, at least {at_least:.1} s; {} throttled",
        partition.throttled
    );
    assert!(
        took < 2.0 * at_least + 3.0,
        "{took} s for at least {at_least} s"
    );
}
