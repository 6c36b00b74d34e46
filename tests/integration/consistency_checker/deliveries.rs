//! The checker of the delivery reports each violation of a broken delivery.

use consistency::{Fingerprint, StoredSignal};
use history::delivery_checker::{DeliveredSignal, Report, Violation, check, key_of};
use testkit::fake_targets::Target;

use super::{at, sent_at};

/// Signals that are stored, in the order of the stream: three of customer 1, and one of customer 2 between them.
fn stored() -> Vec<StoredSignal> {
    vec![at(1, 7, 0), at(2, 10, 1), at(1, 7, 2), at(1, 10, 0)]
}

/// What both targets take of [`stored`] in two batches: the third signal is a reference on the bus, and the first batch ends
/// with a failure of the third signal, which comes again with the second batch.
fn delivered() -> Vec<DeliveredSignal> {
    let places = [(1, 0), (1, 1), (1, 2), (2, 2), (2, 3)];
    let signals = |target| places.map(|(batch, place)| taken(target, batch, place));
    let mut delivered = [signals(Target::Lake), signals(Target::Bus)].concat();
    for reference in delivered.iter_mut().filter(|signal| signal.target == Target::Bus && signal.position == Some(2)) {
        reference.content = None;
    }
    delivered
}

/// The stored signal at this place of the stream, as a target took it.
fn taken(target: Target, batch: u64, place: u32) -> DeliveredSignal {
    let StoredSignal { who, received_at, identifier, index, content, .. } = stored().remove(place as usize);
    let key = key_of(who, received_at, &identifier, index);
    DeliveredSignal { target, batch, position: Some(place), who, key, content: Some(content) }
}

#[track_caller]
fn assert_only(report: &Report, violation: Violation, times: u64) {
    use Violation::{AlteredDelivery, OutOfOrderDelivery, PhantomDelivery, Undelivered};
    for each in [Undelivered, PhantomDelivery, AlteredDelivery, OutOfOrderDelivery] {
        assert_eq!(report.count(each), if each == violation { times } else { 0 }, "{each:?}: {report}");
    }
    assert_eq!(report.holds(), times == 0);
}

/// The report on what both targets took, changed like this.
fn report_on(change: impl FnOnce(&mut Vec<DeliveredSignal>)) -> Report {
    let mut delivered = delivered();
    change(&mut delivered);
    check(&stored(), delivered)
}

#[test]
fn delivery_with_repetitions_and_references_has_no_violation() {
    let report = report_on(|_| {});
    assert_only(&report, Violation::Undelivered, 0);
    assert_eq!((report.stored, report.taken, report.references), (4, [5, 5], 2));
}

#[test]
fn stored_signal_that_a_target_never_took_is_undelivered() {
    for target in [Target::Bus, Target::Lake] {
        let is_missing = |signal: &DeliveredSignal| signal.target == target && signal.position == Some(2);
        let report = report_on(|delivered| delivered.retain(|signal| !is_missing(signal)));
        assert_only(&report, Violation::Undelivered, 1);
        assert!(report.to_string().contains(&format!("to the {target:?}")), "{report}");
    }
    assert_only(&report_on(Vec::clear), Violation::Undelivered, 8);
}

#[test]
fn delivered_signal_that_is_not_stored_is_a_phantom() {
    let key = |who, received_at, index| key_of(who, received_at, &at(1, 7, 0).identifier, index);
    let phantoms = [
        key(Some(1), sent_at(7), 1),
        key(Some(2), sent_at(7), 0),
        key(None, sent_at(7), 0),
        key(Some(1), sent_at(8), 0),
        key_of(Some(1), sent_at(7), &at(1, 10, 0).identifier, 0),
    ];
    for key in phantoms {
        let phantom = DeliveredSignal { key, ..taken(Target::Lake, 3, 0) };
        assert_only(&report_on(|delivered| delivered.push(phantom)), Violation::PhantomDelivery, 1);
    }
}

#[test]
fn delivered_signal_that_differs_from_the_stored_one_is_altered() {
    let altered = DeliveredSignal { content: Some(Fingerprint::of("other")), ..taken(Target::Bus, 3, 0) };
    let without_data = DeliveredSignal { content: None, ..taken(Target::Lake, 3, 0) };
    for signal in [altered, without_data] {
        assert_only(&report_on(|delivered| delivered.push(signal)), Violation::AlteredDelivery, 1);
    }
}

#[test]
fn signals_in_another_order_than_the_stream_are_out_of_order() {
    for (batch, places, times) in [(3, [3, 2, 0], 2), (3, [0, 3, 2], 1), (3, [2, 0, 3], 1)] {
        let disorder = places.map(|place| taken(Target::Lake, batch, place));
        assert_only(&report_on(|delivered| delivered.extend(disorder)), Violation::OutOfOrderDelivery, times);
    }
}

#[test]
fn order_is_that_of_one_subject_in_one_batch_at_one_target() {
    let in_order = [
        // A call that failed after it was taken is made again.
        vec![
            taken(Target::Lake, 3, 0),
            taken(Target::Lake, 3, 2),
            taken(Target::Lake, 3, 0),
            taken(Target::Lake, 3, 2),
        ],
        vec![taken(Target::Lake, 3, 3), taken(Target::Bus, 3, 0)],
        vec![taken(Target::Lake, 4, 3), taken(Target::Lake, 5, 0)],
        vec![taken(Target::Lake, 3, 2), taken(Target::Lake, 3, 1)],
    ];
    for signals in in_order {
        assert_only(&report_on(|delivered| delivered.extend(signals)), Violation::OutOfOrderDelivery, 0);
    }
}
