//! The checks of signals: which are lost, stored twice, altered, not sent or out of order.

use consistency::checker::{Report, Violation, check};
use consistency::{
    ClientOutcome, Micros, RecordedRequest, RunRecord, SentSignal, Stored, StoredRejectedSignal,
    StoredSignal,
};

use super::{assert_consistent, assert_only, count};

/// The requestIdentifier that the client named for request 7.
const NAMED: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

/// The requestIdentifier that the function generated for each other request.
const GENERATED: &str = "0c3b5a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

fn millis(millis: u64) -> Micros {
    millis * 1_000
}

fn sent_at(request: u64) -> Micros {
    millis(match request {
        7 => 10,
        8 => 12,
        9 => 13,
        _ => 30,
    })
}

fn content(request: u64, index: u64) -> String {
    format!("{request} {index}")
}

/// A signal of this customer in a request, which the response does not reject.
fn accepted(subject: u32, request: u64, index: u64) -> SentSignal {
    SentSignal {
        subject,
        is_rejected: false,
        content: content(request, index),
    }
}

/// A signal of this customer in a request, which the response rejects.
fn rejected(subject: u32, request: u64, index: u64) -> SentSignal {
    SentSignal {
        is_rejected: true,
        ..accepted(subject, request, index)
    }
}

fn request(number: u64, outcome: ClientOutcome, signals: Vec<SentSignal>) -> RecordedRequest {
    let sent = sent_at(number);
    let latest_clock = match outcome {
        ClientOutcome::Acknowledged(at) => at,
        ClientOutcome::Rejected | ClientOutcome::Unknown => sent,
    };
    RecordedRequest {
        sent,
        outcome,
        identifier: None,
        latest_clock,
        signals,
    }
}

/// Request 7 has three signals, the second of them rejected, and a requestIdentifier. Request 8 has
/// two without a response, the second of them rejected. Request 9 was rejected whole. Request 10 was sent after request 7
/// was acknowledged.
fn run_record() -> RunRecord {
    let seventh = RecordedRequest {
        identifier: Some(NAMED.to_owned()),
        ..request(
            7,
            ClientOutcome::Acknowledged(millis(20)),
            vec![accepted(1, 7, 0), rejected(1, 7, 1), accepted(1, 7, 2)],
        )
    };
    let eighth = request(
        8,
        ClientOutcome::Unknown,
        vec![accepted(1, 8, 0), rejected(1, 8, 1)],
    );
    let ninth = request(9, ClientOutcome::Rejected, vec![rejected(2, 9, 0)]);
    let tenth = request(
        10,
        ClientOutcome::Acknowledged(millis(40)),
        vec![accepted(1, 10, 0), accepted(2, 10, 1)],
    );
    RunRecord {
        requests: [(7, seventh), (8, eighth), (9, ninth), (10, tenth)].into(),
        ..RunRecord::default()
    }
}

/// What is stored after [`run_record`] where nothing went wrong and request 8 is not stored.
fn consistent_items() -> Stored {
    Stored {
        signals: vec![item(1, 7, 0), item(1, 7, 2), item(1, 10, 0), item(2, 10, 1)],
        rejected: vec![kept(7, 1), kept(9, 0)],
        ..Stored::default()
    }
}

/// The item of a signal of this customer in a request.
fn item(subject: u32, request: u64, index: u64) -> StoredSignal {
    let identifier = if request == 7 { NAMED } else { GENERATED };
    StoredSignal {
        subject: Some(subject),
        request,
        index,
        content: content(request, index),
        identifier: identifier.to_owned(),
        received_at: sent_at(request),
        contradiction: None,
    }
}

/// The item of a rejected signal.
fn kept(request: u64, index: u64) -> StoredRejectedSignal {
    StoredRejectedSignal {
        request,
        index,
        content: content(request, index),
    }
}

/// The report on [`run_record`] after this change of what is stored.
fn report_on(change: impl FnOnce(&mut Stored)) -> Report {
    let mut stored = consistent_items();
    change(&mut stored);
    check(&run_record(), &stored)
}

#[test]
fn consistent_history_has_no_violation() {
    assert_consistent(&report_on(|_| {}));
    let with_eighth = report_on(|stored| stored.signals.insert(1, item(1, 8, 0)));
    assert_consistent(&with_eighth);
}

#[test]
fn missing_acknowledged_signal_is_lost() {
    let report = report_on(|stored| {
        stored.signals.remove(1);
    });
    assert_only(&report, Violation::Lost);
}

#[test]
fn signal_stored_twice_is_a_duplicate_acknowledged_or_not() {
    let report = report_on(|stored| {
        stored
            .signals
            .extend([item(2, 10, 1), item(1, 8, 0), item(1, 8, 0)]);
    });
    assert_eq!(count(&report, Violation::Duplicate), 2, "{report}");
}

#[test]
fn signal_not_sent_misplaced_or_rejected_is_a_phantom() {
    let of_unknown_customer = StoredSignal {
        subject: None,
        ..item(0, 99, 0)
    };
    for phantom in [
        item(3, 99, 0),
        item(3, 10, 2),
        of_unknown_customer,
        item(3, 8, 0),
        item(2, 9, 0),
    ] {
        let report = report_on(|stored| stored.signals.push(phantom));
        assert_only(&report, Violation::Phantom);
    }
    for (place, rejected) in [(1, item(1, 7, 1)), (2, item(1, 8, 1))] {
        let report = report_on(|stored| stored.signals.insert(place, rejected));
        assert_only(&report, Violation::Phantom);
    }
}

#[test]
fn signals_in_another_order_are_out_of_order() {
    for order in [[1, 0, 2, 3], [2, 0, 1, 3]] {
        let report = report_on(|stored| {
            stored.signals = order.map(|place| stored.signals[place].clone()).to_vec();
            stored.rejected.clear();
        });
        assert!(
            count(&report, Violation::OutOfOrder) > 0,
            "{order:?}: {report}"
        );
        assert_eq!(count(&report, Violation::Lost), 0, "{order:?}: {report}");
    }
    // Request 8, which has no response, may stand anywhere.
    let with_eighth_between = report_on(|stored| {
        let first = [item(1, 10, 0), item(1, 8, 0), item(1, 7, 0), item(1, 7, 2)];
        stored.signals.splice(..3, first);
    });
    assert_eq!(count(&with_eighth_between, Violation::OutOfOrder), 2);
}

#[test]
fn signals_of_two_requests_are_in_order_when_clocks_that_differ_may_explain_it() {
    let mut record = run_record();
    let mut stored = consistent_items();
    stored.signals.swap(1, 2);
    stored.signals.swap(0, 1);
    assert!(count(&check(&record, &stored), Violation::OutOfOrder) > 0);
    for request in record.requests.values_mut() {
        request.latest_clock += millis(11);
    }
    assert_consistent(&check(&record, &stored));
}

#[test]
fn item_that_differs_from_what_was_sent_is_wrong() {
    let report_after =
        |change: fn(&mut StoredSignal)| report_on(|stored| change(&mut stored.signals[0]));
    let content = report_after(|item| item.content = content(7, 2));
    assert_only(&content, Violation::Wrong);
    let contradiction = report_after(|item| item.contradiction = Some("a key of another time"));
    assert_only(&contradiction, Violation::Wrong);
    let identifier = wrong_of_seventh(|item| item.identifier = GENERATED.to_owned());
    assert_eq!(identifier, 2);
}

/// How many items are wrong when both signals of request 7 are changed.
fn wrong_of_seventh(change: impl FnMut(&mut StoredSignal)) -> usize {
    let report = report_on(|stored| stored.signals.iter_mut().take(2).for_each(change));
    count(&report, Violation::Wrong)
}

#[test]
fn item_received_before_or_after_its_request_is_wrong() {
    // It was sent at 10 ms, and times are stored in milliseconds.
    let wrong = [8, 9, 20, 21].map(|time| wrong_of_seventh(|item| item.received_at = millis(time)));
    assert_eq!(wrong, [2, 0, 0, 2]);
}

#[test]
fn signals_of_one_request_with_two_times_or_identifiers_are_wrong() {
    let time = report_on(|stored| stored.signals[0].received_at = millis(11));
    assert_only(&time, Violation::Wrong);
    let identifier = report_on(|stored| stored.signals[2].identifier = NAMED.to_owned());
    assert_only(&identifier, Violation::Wrong);
}

#[test]
fn rejected_signal_that_is_not_kept_is_a_violation_unless_its_loss_is_logged() {
    for unkept in 0..2 {
        let mut record = run_record();
        let mut stored = consistent_items();
        stored.rejected.remove(unkept);
        assert_only(&check(&record, &stored), Violation::Unkept);
        record.unkept = 1;
        assert_consistent(&check(&record, &stored));
    }
}

#[test]
fn rejected_signal_kept_twice_is_a_duplicate_and_one_altered_or_not_sent_is_a_phantom() {
    let report_with = |added: StoredRejectedSignal| report_on(|stored| stored.rejected.push(added));
    assert_only(&report_with(kept(7, 1)), Violation::Duplicate);
    assert_only(&report_with(kept(7, 0)), Violation::Phantom);
    let altered = StoredRejectedSignal {
        content: content(7, 2),
        ..kept(9, 0)
    };
    assert_only(&report_with(altered), Violation::Phantom);
}
