use std::time::{Duration, Instant};

use super::*;
use crate::client::dynamodb;
use crate::environment::{CONNECT_TIMEOUT, defaults};
use crate::patience::PatienceEnds;
use crate::rejected_signals::RejectedSignalRecord;

#[test]
fn calls_of_all_requests_share_their_number_and_their_bytes() {
    let in_flight = InFlight::new(16);
    let of_another_request = in_flight.clone();
    let calls: Vec<_> = (0..16).map_while(|_| in_flight.try_for(1)).collect();
    assert_eq!((calls.len(), of_another_request.try_for(1).is_none()), (16, true));
    drop(calls);
    let large = in_flight.try_for(10 * CONCURRENT_BYTES);
    assert!(large.is_some() && of_another_request.try_for(1).is_none());
}

#[tokio::test]
async fn put_without_items_is_no_probe_of_a_table_that_does_not_answer() {
    let config = defaults(CONNECT_TIMEOUT).unwrap().build();
    let table = BatchTable::new(dynamodb(&config), "t", 1);
    *table.health.next_probe.lock().unwrap() = Some(Instant::now());
    let patience = Patience { deadline: Deadline::after(Duration::from_secs(1)), ends: PatienceEnds::WhenUnanswered };
    table.put(Vec::<&RejectedSignalRecord<'_>>::new(), patience).await.unwrap();
    assert!(!table.health.access(patience).is_short(), "the next request is the probe");
}
