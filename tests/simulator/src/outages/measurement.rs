//! One row: a condition of DynamoDB under a constant rate of requests.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use consistency::generated::account_id;
use model::limits::MAX_SIGNALS_PER_REQUEST;
use serde_json::json;
use tokio::task::spawn_local;
use tokio::time::sleep;

use super::RequestKind;
use super::conditions::Condition;
use crate::aws::Aws;
use crate::deliveries;
use crate::environment::FunctionKind;
use crate::keys::Keys;
use crate::lambda::{HttpRequest, Lambda, Lifetimes};
use crate::run::in_virtual_time;
use crate::trace::Trace;

/// How long requests are sent before the first fault, so that warm environments are there.
const BEFORE: Duration = Duration::from_secs(3);

/// How long requests are sent after the last fault.
const AFTER: Duration = Duration::from_secs(3);

/// Drains at once, and how long they have: what thousands of requests have left takes a while.
const DRAINS: usize = 20;
const DRAIN_LIMIT: Duration = Duration::from_hours(1);

/// The signals of a large batch.
const LARGE_BATCH: u64 = MAX_SIGNALS_PER_REQUEST as u64;

/// The seed of every row.
const SEED: u64 = 1;

/// What a row has.
#[derive(Debug, Default)]
pub(super) struct Measurement {
    /// Requests that were under way during a fault, and how many of them were deferred.
    pub(super) during_fault: usize,
    pub(super) deferred: usize,
    /// Requests with another response than a 200.
    pub(super) refused: usize,
    /// Acknowledged requests that are not stored after the drain.
    pub(super) lost: usize,
    /// Environments that were busy at once, at most, since the first fault.
    pub(super) environments: usize,
    /// Calls to DynamoDB while the fault lasted.
    pub(super) calls: u64,
}

/// A request that was sent.
struct Sent {
    customer_id: String,
    items: u64,
    busy: Range<Duration>,
    status: u16,
    is_deferred: bool,
}

impl Measurement {
    /// Measures a row.
    pub(super) fn take(kind: RequestKind, rate: u64, seconds: u64, condition: &Condition) -> Self {
        let whole = BEFORE..BEFORE + Duration::from_secs(seconds);
        in_virtual_time(SEED, measure(kind, rate, &whole, condition))
    }

    /// Whether nothing was lost and nothing refused and, without a fault, nothing deferred.
    pub(super) fn holds(&self, condition: &Condition) -> bool {
        self.lost == 0 && self.refused == 0 && (self.deferred == 0 || !condition.is_control())
    }
}

async fn measure(
    kind: RequestKind,
    rate: u64,
    whole: &Range<Duration>,
    condition: &Condition,
) -> Measurement {
    let windows = condition.windows(whole.clone());
    let mut random = fastrand::Rng::with_seed(SEED);
    let aws = Aws::new(condition.plan(&windows), random.u64(..), Trace::default());
    let keys = Keys::create(&aws, &mut random);
    let key = keys.key_of(0, 0, Duration::ZERO).secret;
    let lifetimes = Lifetimes {
        start: 0..1,
        events: u32::MAX - 1..u32::MAX,
        kills: 0.0,
        have_clocks: false,
    };
    let mut lambda = |kind| Lambda::new(aws.clone(), kind, lifetimes.clone(), random.fork());
    let function = lambda(match kind {
        RequestKind::Updates => FunctionKind::Customers,
        RequestKind::Batches | RequestKind::LargeBatches => FunctionKind::Signals,
    });
    let overflow = lambda(FunctionKind::Overflow);
    let sent = Rc::new(RefCell::new(Vec::new()));
    let end = whole.end + AFTER;
    let counting = spawn_local(calls_during(aws.clone(), whole.clone()));
    let mut sending = Vec::new();
    for number in 0.. {
        let at = Duration::from_micros(1_000_000 * number / rate);
        if at >= end {
            break;
        }
        let request = Request {
            number,
            customer_id: format!("c-{number}"),
            items: match kind {
                RequestKind::Updates => 1,
                RequestKind::Batches => number % 5 + 1,
                RequestKind::LargeBatches => LARGE_BATCH,
            },
        };
        let http_request = request.http_request(kind, &key);
        let (aws, function, sent) = (aws.clone(), function.clone(), sent.clone());
        sending.push(spawn_local(async move {
            sleep(at).await;
            let began = aws.elapsed();
            let invocation = function.request(http_request).await;
            let response = invocation.expect("an invocation does not panic").response;
            let response = response.expect("no environment is killed");
            let deferred = &response.body["deferred"];
            sent.borrow_mut().push(Sent {
                customer_id: request.customer_id,
                items: request.items,
                busy: began..aws.elapsed(),
                status: response.status,
                is_deferred: deferred.as_u64().unwrap_or_default() > 0
                    || response.body["result"] == "deferred",
            });
        }));
    }
    for request in sending {
        request.await.expect("a request does not panic");
    }
    aws.state().plan.end();
    drain_all(&aws, &overflow, &mut random).await;
    Measurement {
        calls: counting.await.expect("a count does not panic"),
        ..count(kind, &aws, &sent.borrow(), &windows)
    }
}

/// How many calls to DynamoDB are made in this time.
async fn calls_during(aws: Aws, time: Range<Duration>) -> u64 {
    sleep(time.start).await;
    let before = aws.state().table_calls;
    sleep(time.end.saturating_sub(time.start)).await;
    aws.state().table_calls - before
}

struct Request {
    number: u64,
    customer_id: String,
    items: u64,
}

impl Request {
    fn http_request(&self, kind: RequestKind, key: &str) -> HttpRequest {
        let customer_id = &self.customer_id;
        let (path, body) = match kind {
            RequestKind::Updates => (
                "/api/customers",
                json!({"customerId": customer_id, "customerData": {"city": customer_id}}),
            ),
            RequestKind::Batches | RequestKind::LargeBatches => {
                let signal = |product| {
                    let data = json!({"productId": product});
                    json!({"customerId": customer_id, "eventType": "product_viewed", "data": data})
                };
                let signals: Vec<_> = (0..self.items).map(signal).collect();
                let identifier = format!("00000000-0000-4000-8000-{:012x}", self.number);
                let body = json!({"requestIdentifier": identifier, "signals": signals});
                ("/api/event-flows/signal", body)
            }
        };
        HttpRequest {
            path,
            key: key.to_owned(),
            body: body.to_string(),
        }
    }
}

async fn drain_all(aws: &Aws, overflow: &Lambda, random: &mut fastrand::Rng) {
    let is_over = Rc::new(Cell::new(true));
    for drain in deliveries::start(DRAINS, aws, overflow, random, &is_over, DRAIN_LIMIT) {
        drain.await.expect("a drain does not panic");
    }
}

fn count(kind: RequestKind, aws: &Aws, sent: &[Sent], windows: &[Range<Duration>]) -> Measurement {
    let mut measurement = Measurement::default();
    let state = aws.state();
    let mut stored = std::collections::BTreeMap::new();
    for item in state.tables.items(kind.table()) {
        let key = item["pk"]["S"].as_str().unwrap_or_default();
        *stored.entry(key).or_insert(0) += 1;
    }
    for request in sent {
        let is_during = |window: &Range<Duration>| {
            request.busy.start < window.end && request.busy.end > window.start
        };
        let is_during_fault = windows.iter().any(is_during);
        measurement.during_fault += usize::from(is_during_fault);
        measurement.deferred += usize::from(request.is_deferred);
        measurement.refused += usize::from(request.status != 200);
        let key = format!("{}#{}", account_id(0), request.customer_id);
        let items = stored.get(key.as_str()).copied().unwrap_or(0);
        let is_lost = request.status == 200 && items != request.items;
        measurement.lost += usize::from(is_lost);
    }
    let first_fault = windows
        .first()
        .map_or(Duration::ZERO, |window| window.start);
    let busy = sent.iter().map(|request| request.busy.clone());
    measurement.environments = most_at_once(busy, first_fault);
    measurement
}

/// How many of these times there were at once, at most, since `from`.
fn most_at_once(times: impl Iterator<Item = Range<Duration>>, from: Duration) -> usize {
    let mut changes = Vec::new();
    for time in times.filter(|time| time.end > from) {
        changes.push((time.start.max(from), 1));
        changes.push((time.end, -1));
    }
    // At the same moment, what ends comes before what begins.
    changes.sort_unstable();
    let mut now = 0;
    let mut most = 0;
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_counted_from_the_first_fault_on() {
        let millis = Duration::from_millis;
        let times = [0..10, 0..10, 0..20, 10..30];
        let times = times.map(|time| millis(time.start)..millis(time.end));
        let most = |from| most_at_once(times.iter().cloned(), millis(from));
        assert_eq!([most(0), most(10), most(25), most(30)], [3, 2, 1, 0]);
    }
}
