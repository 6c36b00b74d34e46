//! Requests at a constant rate, by clients that never retry, and what came of them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use sandbox::runtime_api::{EventQueue, Invocation};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use crate::request_kind::RequestKind;

/// The customer of every tenth request, when there is a hot one.
const HOT_CUSTOMER: &str = "hot";

/// In the partition key of that customer, and in no other.
pub(crate) const HOT_CUSTOMER_KEY: &str = "#hot\"";

/// One request in this many is for the hot customer.
const HOT_SHARE: u64 = 10;

/// Signals of a batch, at most.
const MOST_SIGNALS: u64 = 5;

/// Longer than the timeout of an invocation and the start of a process.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(40);

/// The requests that are sent.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) kind: RequestKind,
    /// Requests a second.
    pub(crate) rate: u32,
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
    pub(crate) has_hot_customer: bool,
    /// When several requests are sent at once.
    pub(crate) volleys: Vec<Volley>,
}

/// Requests that are sent at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Volley {
    pub(crate) at: Instant,
    pub(crate) requests: u64,
    /// How many signals each of them has.
    pub(crate) signals: u64,
}

/// A request that was sent.
#[derive(Clone, Debug)]
pub(crate) struct SentRequest {
    /// Its customer, whom it has alone; none for the hot one.
    pub(crate) customer_id: Option<String>,
    /// How many items are stored of it.
    pub(crate) items: u64,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) outcome: RequestOutcome,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOutcome {
    /// Acknowledged, and stored at once.
    Stored,
    /// Acknowledged; the overflow queue has at least a part of it.
    Deferred,
    /// It got a 503.
    Unavailable,
    /// It got any other response, or none.
    Failed,
}

/// The requests that were sent.
#[derive(Clone, Debug)]
pub(crate) struct SentRequests {
    pub(crate) requests: Vec<SentRequest>,
    /// The longest time that a request was sent after its planned time.
    pub(crate) longest_delay: Duration,
}

/// A request that is to be sent.
struct PlannedRequest {
    at: Instant,
    customer_id: String,
    is_hot: bool,
    /// How many signals a batch has.
    signals: u64,
}

impl Traffic {
    /// Sends everything, and returns when all responses are there.
    ///
    /// # Errors
    /// A request has no outcome.
    pub(crate) async fn send(&self, events: &EventQueue, key: &str) -> Result<SentRequests> {
        let mut sending = JoinSet::new();
        let mut longest_delay = Duration::ZERO;
        for (number, planned) in self.planned().into_iter().enumerate() {
            sleep_until(planned.at.into()).await;
            longest_delay = longest_delay.max(planned.at.elapsed());
            let request = self
                .kind
                .request(number, &planned.customer_id, planned.signals);
            let items = self.kind.items(planned.signals);
            let event = request.key(key).event();
            sending.spawn(send(events.clone(), event, planned, items));
        }
        let mut requests = Vec::new();
        while let Some(request) = sending.join_next().await {
            requests.push(request.context("a request has no outcome")?);
        }
        Ok(SentRequests {
            requests,
            longest_delay,
        })
    }

    /// All requests in their order.
    fn planned(&self) -> Vec<PlannedRequest> {
        let interval = Duration::from_secs(1) / self.rate;
        let mut planned = Vec::new();
        let mut at = self.begin;
        for number in 0.. {
            if at >= self.end {
                break;
            }
            planned.push(self.steady(number, at));
            at += interval;
        }
        for (number, volley) in self.volleys.iter().enumerate() {
            for request in 0..volley.requests {
                planned.push(PlannedRequest {
                    at: volley.at,
                    customer_id: format!("volley-{number}-{request}"),
                    is_hot: false,
                    signals: volley.signals,
                });
            }
        }
        planned.sort_by_key(|request| request.at);
        planned
    }

    /// The `number`-th of the requests at a constant rate.
    fn steady(&self, number: u64, at: Instant) -> PlannedRequest {
        let is_hot = self.has_hot_customer && number.is_multiple_of(HOT_SHARE);
        let customer_id = if is_hot {
            HOT_CUSTOMER.to_owned()
        } else {
            format!("steady-{number}")
        };
        PlannedRequest {
            at,
            customer_id,
            is_hot,
            signals: number % MOST_SIGNALS + 1,
        }
    }
}

/// Sends the event of a request of which this many items are stored.
async fn send(
    events: EventQueue,
    event: String,
    planned: PlannedRequest,
    items: u64,
) -> SentRequest {
    let began = Instant::now();
    let responding = events.invoke(event.into());
    let outcome = match tokio::time::timeout(RESPONSE_TIMEOUT, responding).await {
        Ok(Some(invocation)) => outcome(&invocation),
        Ok(None) | Err(_) => RequestOutcome::Failed,
    };
    SentRequest {
        customer_id: (!planned.is_hot).then_some(planned.customer_id),
        items,
        began,
        ended: Instant::now(),
        outcome,
    }
}

fn outcome(invocation: &Invocation) -> RequestOutcome {
    let response = invocation.json();
    let body: Value = response
        .get("body")
        .and_then(Value::as_str)
        .and_then(|body| serde_json::from_str(body).ok())
        .unwrap_or_default();
    let deferred_signals = body.get("deferred").and_then(Value::as_u64).unwrap_or(0);
    let is_deferred = deferred_signals > 0
        || body
            .get("result")
            .is_some_and(|result| result == "deferred");
    match response.get("statusCode").and_then(Value::as_u64) {
        Some(200) if is_deferred => RequestOutcome::Deferred,
        Some(200) => RequestOutcome::Stored,
        Some(503) => RequestOutcome::Unavailable,
        _ => RequestOutcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome_of(status: u16, body: &Value) -> RequestOutcome {
        let response = json!({"statusCode": status, "body": body.to_string()});
        outcome(&Invocation {
            response: response.to_string().into(),
            duration: Duration::ZERO,
            process_number: None,
        })
    }

    #[test]
    fn outcome_of_a_request_is_what_its_response_says() {
        let cases = [
            (200, json!({"result": "updated"}), RequestOutcome::Stored),
            (200, json!({"result": "deferred"}), RequestOutcome::Deferred),
            (200, json!({"accepted": 3}), RequestOutcome::Stored),
            (
                200,
                json!({"accepted": 3, "deferred": 1}),
                RequestOutcome::Deferred,
            ),
            (503, json!({}), RequestOutcome::Unavailable),
            (400, json!({}), RequestOutcome::Failed),
        ];
        for (status, body, expected) in cases {
            assert_eq!(outcome_of(status, &body), expected, "{status} {body}");
        }
    }

    #[test]
    fn requests_are_sent_at_their_rate_and_a_tenth_of_them_for_the_hot_customer() {
        let begin = Instant::now();
        let end = begin + Duration::from_secs(3);
        let traffic = Traffic {
            kind: RequestKind::Batches,
            rate: 20,
            begin,
            end,
            has_hot_customer: true,
            volleys: vec![Volley {
                at: begin + Duration::from_millis(1),
                requests: 7,
                signals: 500,
            }],
        };
        let planned = traffic.planned();
        assert!(planned.is_sorted_by_key(|request| request.at));
        assert!(planned.iter().all(|request| request.at < end));
        assert_eq!(planned.len(), 60 + 7);
        assert_eq!(planned.iter().filter(|request| request.is_hot).count(), 6);
        assert_eq!(
            planned
                .iter()
                .filter(|request| request.signals == 500)
                .count(),
            7
        );
    }
}
