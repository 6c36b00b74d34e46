use super::*;

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
