use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Response, Uri};

use super::*;
use crate::exchange::{Explanation, Sent};

fn add(history: &History, body: &[u8], response: &'static str) -> u64 {
    let uri = Uri::from_static("/api/event-flows/signal");
    let body = Some(Bytes::copy_from_slice(body));
    let sent = Sent { method: Method::POST, uri, headers: HeaderMap::new(), body };
    let response = Response::new(Bytes::from(response));
    history.add(Exchange { sent, response, duration: Duration::ZERO, why: Explanation::default() }).n
}

#[tokio::test]
async fn history_is_bounded_in_number_and_bytes() {
    let history = History::default();
    for _ in 0..MAX_EXCHANGES + 10 {
        add(&history, b"{}", "{}");
    }
    let (kept, last) = history.after(0, Duration::ZERO, |_| true).await;
    assert_eq!((kept.len(), last), (MAX_EXCHANGES, 510));
    add(&history, &vec![b' '; MAX_BODY_BYTES + 1], "{}");
    let (kept, _) = history.after(510, Duration::ZERO, |_| true).await;
    assert_eq!((&kept[0].exchange.sent.body, &kept[0].summary["requestBytes"]), (&None, &json!(MAX_BODY_BYTES + 1)));
    for _ in 0..10 {
        add(&history, &vec![b' '; MAX_BODY_BYTES], "{}");
    }
    let (kept, _) = history.after(0, Duration::ZERO, |_| true).await;
    assert_eq!(kept.len(), 7);
}

#[tokio::test]
async fn waiting_reader_gets_the_next_exchange() {
    let history = Arc::new(History::default());
    let reads = Arc::clone(&history);
    let reader = tokio::spawn(async move { reads.after(0, Duration::from_mins(1), |_| true).await.0.len() });
    tokio::task::yield_now().await;
    add(&history, b"{}", "{}");
    assert_eq!(reader.await.unwrap(), 1);
}

#[test]
fn counts_are_of_all_exchanges_until_they_are_cleared() {
    let history = History::default();
    let body = br#"{"signals":[{"eventType":"purchase"},{"stepNodeId":"start"},{"eventType":"purchase"}]}"#;
    add(&history, body, r#"{"received":3,"accepted":2,"rejected":1,"warnings":[{"pointer":"/signals/0/x"}]}"#);
    let by_type = json!({"purchase": 2, "start": 1});
    let counts = json!({"requests": 1, "accepted": 2, "rejected": 1, "warnings": 1, "byType": by_type});
    assert_eq!(history.counts(), counts);
    history.clear();
    assert_eq!(history.counts()["requests"], 0);
    assert_eq!(add(&history, b"", ""), 2);
}
