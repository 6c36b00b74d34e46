use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Response, Uri};
use serde_json::json;

use super::*;
use crate::api_key::SentKey;
use crate::outcome::Outcome;
use crate::sent::Sent;

fn add(history: &History, body: &[u8], response: &'static str) -> u64 {
    let uri = Uri::from_static("/api/event-flows/signal");
    let body = Some(Bytes::copy_from_slice(body));
    let sent = Sent { method: Method::POST, uri, headers: HeaderMap::new(), body };
    let outcome = Outcome::parse(200, response.as_bytes(), None);
    let answer = (Response::new(Bytes::from(response)), outcome);
    history.add(Exchange::new(sent, answer, Duration::ZERO, (None, SentKey::default()), &[])).n
}

#[test]
fn history_is_bounded_in_number_and_bytes() {
    let history = History::default();
    for _ in 0..MAX_EXCHANGES + 10 {
        add(&history, b"{}", "{}");
    }
    let kept = |history: &History| history.with(|state| (state.kept.len(), state.oldest(), state.last));
    assert_eq!(kept(&history), (MAX_EXCHANGES, 11, 510));
    add(&history, &vec![b' '; MAX_BODY_BYTES + 1], "{}");
    let exchange = &history.find(511).unwrap().exchange;
    assert_eq!((&exchange.sent.body, &exchange.summary(1)["requestBytes"]), (&None, &json!(MAX_BODY_BYTES + 1)));
    for _ in 0..10 {
        add(&history, &vec![b' '; MAX_BODY_BYTES], "{}");
    }
    assert_eq!(kept(&history), (7, 515, 521));
    history.clear();
    assert_eq!(kept(&history), (0, 522, 521));
}

#[tokio::test]
async fn waiting_reader_gets_the_next_exchange() {
    let history = Arc::new(History::default());
    let reads = Arc::clone(&history);
    let reader = tokio::spawn(async move {
        reads.wait(Duration::from_mins(1), |state| (!state.kept.is_empty(), state.kept.len())).await
    });
    tokio::task::yield_now().await;
    add(&history, b"{}", "{}");
    assert_eq!(reader.await.unwrap(), 1);
}

#[test]
fn counts_are_of_all_signals_until_they_are_cleared() {
    let history = History::default();
    let body = br#"{"signals":[{"eventType":"purchase"},{"stepNodeId":"start"},{"eventType":"purchase"}]}"#;
    let counted = r#""received":3,"accepted":2,"fieldErrors":[{"pointer":"/signals/2/x"}],"warnings":[{"pointer":"/signals/0/x"}]"#;
    add(&history, body, format!("{{{counted}}}").leak());
    add(&history, body, format!("{{{counted},\"replayed\":true}}").leak());
    add(&history, body, "{}");
    let tally = |counts: [u64; 5]| json!(Tally(counts));
    let counts = history.with(|state| json!(state.counts));
    let by_type = json!({"purchase": tally([1, 2, 0, 1, 2]), "start": tally([1, 1, 0, 0, 1])});
    let verdicts = json!({"stored": 2, "replayed": 3, "deferred": 0, "rejected": 1, "refused": 3});
    let mut expected = json!({"requests": 3, "warnings": 2, "byType": by_type, "otherTypes": 0, "contracts": {"ok": 0, "broken": 0, "none": 0}});
    expected.as_object_mut().unwrap().extend(verdicts.as_object().unwrap().clone());
    assert_eq!(counts, expected);
    history.clear();
    assert_eq!(history.with(|state| state.counts.signals.sum()), 0);
    assert_eq!(add(&history, b"", ""), 4);
}

#[test]
fn signals_of_many_or_long_types_are_counted_together() {
    let history = History::default();
    for n in 0..MAX_TYPES.0 + 5 {
        add(&history, format!(r#"{{"signals":[{{"eventType":"type-{n}"}}]}}"#).as_bytes(), r#"{"received":1}"#);
    }
    add(
        &history,
        format!(r#"{{"signals":[{{"eventType":"{}"}}]}}"#, "x".repeat(1_025)).as_bytes(),
        r#"{"received":1}"#,
    );
    let counts = history.with(|state| state.counts.clone());
    assert_eq!((counts.by_type.len(), counts.other_types, counts.signals.sum()), (1_000, 6, 1_006));
}
