use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Response, Uri};

use super::*;
use crate::exchange::api_key::SentKey;
use crate::exchange::counts::MAX_TYPES;
use crate::exchange::given_response::GivenResponse;
use crate::exchange::sent_request::SentRequest;

fn add(exchanges: &RecentExchanges, body: &[u8], response: &'static str) -> u64 {
    exchanges
        .add(exchange(body, response, SentKey::default()))
        .n
}

fn exchange(body: &[u8], response: &'static str, key: SentKey) -> Exchange {
    let uri = Uri::from_static("/api/event-flows/signal");
    let body = SentBody::Whole(Bytes::copy_from_slice(body));
    let sent = SentRequest {
        method: Method::POST,
        uri,
        headers: HeaderMap::new(),
        body,
    };
    let given = GivenResponse {
        response: Response::new(Bytes::from(response)),
        reason: None,
        batch: None,
    };
    Exchange::new(sent, given, Duration::ZERO, key)
}

#[test]
fn recent_exchanges_are_bounded_in_number_and_bytes() {
    let exchanges = RecentExchanges::default();
    for _ in 0..MAX_EXCHANGES + 10 {
        add(&exchanges, b"{}", "{}");
    }
    let assert_kept = |kept: usize, oldest: u64, last: u64| {
        let found = exchanges.after(0);
        assert_eq!(found.kept.len(), kept);
        assert_eq!(found.oldest, oldest);
        assert_eq!(found.last, last);
    };
    assert_kept(MAX_EXCHANGES, 11, 510);
    add(&exchanges, &vec![b' '; MAX_BODY_BYTES + 1], "{}");
    let exchange = &exchanges.find(511).unwrap().exchange;
    assert_eq!(exchange.sent.body, SentBody::NotKept);
    assert_eq!(
        exchange.summary(1).facts.request_bytes,
        Some(MAX_BODY_BYTES + 1)
    );
    for _ in 0..40 {
        add(&exchanges, &vec![b' '; MAX_BODY_BYTES], "{}");
    }
    assert_kept(31, 521, 551);
    exchanges.clear();
    assert_kept(0, 552, 551);
}

#[test]
fn signals_of_many_or_long_types_are_counted_together() {
    let exchanges = RecentExchanges::default();
    for n in 0..MAX_TYPES + 5 {
        add(
            &exchanges,
            format!(r#"{{"signals":[{{"eventType":"type-{n}"}}]}}"#).as_bytes(),
            r#"{"received":1}"#,
        );
    }
    add(
        &exchanges,
        format!(r#"{{"signals":[{{"eventType":"{}"}}]}}"#, "x".repeat(1_025)).as_bytes(),
        r#"{"received":1}"#,
    );
    let counts = exchanges.with(|log| log.counts(None));
    assert_eq!(counts.by_type.len(), 1_000);
    assert_eq!(counts.other_types, 6);
    assert_eq!(counts.signals.sum(), 1_006);
}

#[test]
fn exchanges_of_an_account_are_forgotten_and_those_of_others_stay() {
    let exchanges = RecentExchanges::default();
    let send = |account: &str| {
        let body = br#"{"signals":[{"eventType":"viewed"}]}"#;
        let key = SentKey {
            account: Some(account.to_owned()),
            ..SentKey::default()
        };
        exchanges.add(exchange(body, r#"{"received":1}"#, key)).n
    };
    for account in ["a", "b", "a"] {
        send(account);
    }
    exchanges.clear_account("a");
    let found = exchanges.after(0);
    let kept: Vec<_> = found.kept.iter().map(|kept| kept.n).collect();
    assert_eq!(kept, [2]);
    let sums = |account| exchanges.with(|log| log.counts(account).signals.sum());
    assert_eq!([sums(Some("a")), sums(Some("b")), sums(None)], [0, 1, 1]);
    assert_eq!(send("a"), 4);
    assert_eq!(found.clears, 1);
}
