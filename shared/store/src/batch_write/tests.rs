use std::time::Duration;

use super::*;
use crate::client::dynamodb;
use crate::environment::{CONNECT_TIMEOUT, defaults};
use crate::rejected_signals::RejectedSignalItem;

#[test]
fn calls_of_all_requests_share_their_number_and_their_bytes() {
    let in_flight = InFlight::new(20);
    let of_another_request = in_flight.clone();
    let calls: Vec<_> = (0..20).map_while(|_| in_flight.try_for(1)).collect();
    assert_eq!((calls.len(), of_another_request.try_for(1).is_none()), (20, true));
    drop(calls);
    let large = in_flight.try_for(10 * CONCURRENT_BYTES);
    assert!(large.is_some() && of_another_request.try_for(1).is_none());
}

#[tokio::test]
async fn request_without_items_does_not_use_up_the_probe_of_an_open_breaker() {
    let config = defaults(CONNECT_TIMEOUT).unwrap().build();
    let table = BatchTable::new(dynamodb(&config), "t", 1);
    table.breaker.open(Duration::from_secs(5));
    let limit = TimeLimit { deadline: Deadline::after(Duration::from_secs(1)), can_defer: true };
    table.store(Vec::<&RejectedSignalItem<'_>>::new(), limit).await.unwrap();
    assert!(!table.breaker.access(limit).is_open(), "the next request is the probe");
}
