//! The consistency checker reports each violation of a broken history.

use std::collections::HashMap;

use history::consistency::checker::{Report, Violation, check};
use history::consistency::{
    Fingerprint, History, KeptSignal, Micros, Outcome, Request, Sent, Stored, StoredSignal, Update,
};

const NAMED: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";
const GENERATED: &str = "0c3b5a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

/// Request 7 has three signals, the second of them rejected, and a requestIdentifier. Request 8 has
/// one that may be stored or not. Request 9 was rejected whole. Request 10 was sent after request 7
/// was acknowledged.
fn signals() -> (History, Stored) {
    let request = |number, outcome, identifier: Option<&str>, signals: &[(u32, bool)]| {
        let sent = |(index, (who, refused)): (usize, &(u32, bool))| Sent {
            who: *who,
            refused: *refused,
            content: content(number, index as u64),
        };
        let signals = signals.iter().enumerate().map(sent).collect();
        (
            number,
            Request {
                sent: sent_at(number),
                outcome,
                identifier: identifier.map(ToOwned::to_owned),
                latest_clock: match outcome {
                    Outcome::Acknowledged(at) => at,
                    Outcome::Refused | Outcome::Unknown => sent_at(number),
                },
                signals,
            },
        )
    };
    let acknowledged = |at| Outcome::Acknowledged(millis(at));
    let requests = [
        request(
            7,
            acknowledged(20),
            Some(NAMED),
            &[(1, false), (1, true), (1, false)],
        ),
        request(8, Outcome::Unknown, None, &[(1, false)]),
        request(9, Outcome::Refused, None, &[(2, true)]),
        request(10, acknowledged(40), None, &[(1, false), (2, false)]),
    ];
    let signals = vec![at(1, 7, 0), at(1, 7, 2), at(1, 10, 0), at(2, 10, 1)];
    let rejected = vec![kept(7, 1), kept(9, 0)];
    (
        History {
            requests: requests.into(),
            ..History::default()
        },
        Stored {
            signals,
            rejected,
            ..Stored::default()
        },
    )
}

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

fn content(request: u64, index: u64) -> Fingerprint {
    Fingerprint::of(&format!("{request} {index}"))
}

fn at(who: u32, request: u64, index: u64) -> StoredSignal {
    StoredSignal {
        who: Some(who),
        request,
        index,
        content: content(request, index),
        identifier: if request == 7 { NAMED } else { GENERATED }.to_owned(),
        received_at: sent_at(request),
        contradiction: None,
    }
}

fn kept(request: u64, index: u64) -> KeptSignal {
    KeptSignal {
        request,
        index,
        content: content(request, index),
    }
}

#[track_caller]
fn assert_only(report: &Report, violation: Violation, times: u64) {
    use Violation::{Duplicate, Lost, OutOfOrder, Phantom, Stale, Unkept, Wrong};
    for each in [Lost, Duplicate, Wrong, Phantom, OutOfOrder, Unkept, Stale] {
        assert_eq!(
            report.count(each),
            if each == violation { times } else { 0 },
            "{each:?}: {report}"
        );
    }
    assert_eq!(report.holds(), times == 0);
}

/// The report on what is stored, changed like this.
fn report_on(change: impl FnOnce(&mut Stored)) -> Report {
    let (history, mut stored) = signals();
    change(&mut stored);
    check(&history, &stored)
}

#[test]
fn consistent_history_has_no_violation() {
    let report = report_on(|_| {});
    assert_only(&report, Violation::Lost, 0);
    assert_eq!(
        (report.acknowledged, report.refused, report.unknown),
        (4, 2, 1)
    );
    assert_only(
        &report_on(|stored| stored.signals.insert(1, at(1, 8, 0))),
        Violation::Lost,
        0,
    );
}

#[test]
fn missing_acknowledged_signal_is_lost() {
    assert_only(
        &report_on(|stored| drop(stored.signals.remove(1))),
        Violation::Lost,
        1,
    );
}

#[test]
fn signal_stored_twice_is_a_duplicate_acknowledged_or_not() {
    let report = report_on(|stored| {
        stored
            .signals
            .extend([at(2, 10, 1), at(1, 8, 0), at(1, 8, 0)]);
    });
    assert_eq!(report.count(Violation::Duplicate), 2, "{report}");
}

#[test]
fn signal_not_sent_misplaced_or_rejected_is_a_phantom() {
    for phantom in [
        at(3, 99, 0),
        at(3, 10, 2),
        StoredSignal {
            who: None,
            ..at(0, 99, 0)
        },
        at(3, 8, 0),
        at(2, 9, 0),
    ] {
        assert_only(
            &report_on(|stored| stored.signals.push(phantom)),
            Violation::Phantom,
            1,
        );
    }
    assert_only(
        &report_on(|stored| stored.signals.insert(1, at(1, 7, 1))),
        Violation::Phantom,
        1,
    );
}

#[test]
fn signals_in_another_order_are_out_of_order() {
    let (history, stored) = signals();
    for order in [[1, 0, 2, 3], [2, 0, 1, 3]] {
        let signals = order.map(|place| stored.signals[place].clone()).to_vec();
        let report = check(
            &history,
            &Stored {
                signals,
                ..Stored::default()
            },
        );
        assert!(
            report.count(Violation::OutOfOrder) > 0 && report.count(Violation::Lost) == 0,
            "{order:?}: {report}"
        );
    }
}

#[test]
fn order_of_requests_is_that_of_the_clocks_which_may_differ() {
    let (mut history, mut stored) = signals();
    stored.signals.swap(1, 2);
    stored.signals.swap(0, 1);
    assert!(check(&history, &stored).count(Violation::OutOfOrder) > 0);
    for request in history.requests.values_mut() {
        request.latest_clock += millis(11);
    }
    assert_only(&check(&history, &stored), Violation::Lost, 0);
}

#[test]
fn item_that_differs_from_what_was_sent_is_wrong() {
    let other = |change: fn(&mut StoredSignal)| report_on(|stored| change(&mut stored.signals[0]));
    assert_only(
        &other(|found| found.content = content(7, 2)),
        Violation::Wrong,
        1,
    );
    assert_only(
        &other(|found| found.identifier = GENERATED.to_owned()),
        Violation::Wrong,
        1,
    );
    assert_only(
        &other(|found| found.contradiction = Some("a key of another time")),
        Violation::Wrong,
        1,
    );
    assert_only(
        &other(|found| found.received_at = millis(21)),
        Violation::Wrong,
        1,
    );
    assert_only(
        &other(|found| found.received_at = millis(8)),
        Violation::Wrong,
        1,
    );
    assert_only(
        &other(|found| found.received_at = millis(20)),
        Violation::Wrong,
        0,
    );
}

#[test]
fn rejected_signal_is_kept_once_as_it_was_sent_or_its_loss_is_logged() {
    let (mut history, mut stored) = signals();
    stored.rejected.truncate(1);
    assert_only(&check(&history, &stored), Violation::Unkept, 1);
    history.unkept = 1;
    assert_only(&check(&history, &stored), Violation::Unkept, 0);
    let altered = KeptSignal {
        content: content(7, 2),
        ..kept(9, 0)
    };
    for (added, violation) in [
        (kept(7, 1), Violation::Duplicate),
        (kept(7, 0), Violation::Phantom),
        (altered, Violation::Phantom),
    ] {
        assert_only(
            &report_on(|stored| stored.rejected.push(added)),
            violation,
            1,
        );
    }
}

/// Whether `value` is consistent with these writes of one field: value, time sent, time
/// acknowledged.
fn is_consistent(value: Option<&str>, writes: &[(Option<&str>, Micros, Option<Micros>)]) -> bool {
    let update = |(value, sent, acknowledged): &(Option<&str>, Micros, Option<Micros>)| Update {
        customer: 1,
        sent: *sent,
        outcome: acknowledged.map_or(Outcome::Unknown, Outcome::Acknowledged),
        latest_clock: acknowledged.unwrap_or(*sent),
        is_deferred: false,
        is_repeated: false,
        fields: vec![("city", value.map(ToOwned::to_owned))],
    };
    let history = History {
        updates: writes.iter().map(update).collect(),
        ..History::default()
    };
    let fields: HashMap<_, _> = value
        .map(|value| ("city".to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    let report = check(
        &history,
        &Stored {
            customers: [(1, fields)].into(),
            ..Stored::default()
        },
    );
    assert_eq!(report.holds(), report.count(Violation::Stale) == 0);
    report.holds()
}

#[test]
fn field_that_no_order_of_its_writes_explains_is_stale() {
    let (ulm, bonn) = (Some("Ulm"), Some("Bonn"));
    let one_by_one = [(ulm, 10, Some(20)), (bonn, 30, Some(40))];
    let at_the_same_time = [
        (ulm, 10, Some(35)),
        (bonn, 30, Some(40)),
        (None, 5, Some(8)),
    ];
    let unacknowledged = [(ulm, 10, None), (bonn, 30, Some(40))];
    for (writes, consistent, stale) in [
        (
            &one_by_one[..],
            &[bonn][..],
            &[ulm, None, Some("never written")][..],
        ),
        (&at_the_same_time, &[bonn, ulm], &[None]),
        (&unacknowledged, &[bonn, ulm], &[None]),
        (&unacknowledged[..1], &[ulm, None], &[bonn]),
    ] {
        assert!(
            consistent.iter().all(|value| is_consistent(*value, writes)),
            "{writes:?}"
        );
        assert!(
            !stale.iter().any(|value| is_consistent(*value, writes)),
            "{writes:?}"
        );
    }
}

/// A direct update of a field of customer 1 that was sent once, by a clock that is not ahead.
fn direct(field: &'static str, sent: Micros) -> Update {
    Update {
        customer: 1,
        sent,
        outcome: Outcome::Acknowledged(sent + 10),
        latest_clock: sent + 10,
        is_deferred: false,
        is_repeated: false,
        fields: vec![(field, Some(sent.to_string()))],
    }
}

/// Whether the update that was sent at `sent` may be what the city of customer 1 ends with.
fn may_end_with(sent: Micros, updates: Vec<Update>) -> bool {
    let others = updates.iter().flat_map(|update| &update.fields);
    let mut fields: HashMap<_, _> = others
        .map(|(field, value)| ((*field).to_owned(), value.clone().unwrap()))
        .collect();
    fields.insert("city".to_owned(), sent.to_string());
    let history = History {
        updates,
        ..History::default()
    };
    let stored = Stored {
        customers: [(1, fields)].into(),
        ..Stored::default()
    };
    check(&history, &stored).holds()
}

#[test]
fn clocks_may_order_a_deferred_or_repeated_write_and_others_of_its_field() {
    let by_clock = |is_deferred, is_repeated, latest_clock| {
        let first = Update {
            latest_clock,
            is_deferred,
            is_repeated,
            ..direct("city", 10)
        };
        may_end_with(10, vec![first, direct("city", 50)])
    };
    assert!(by_clock(true, false, 50));
    assert!(by_clock(false, true, 50));
    assert!(!by_clock(true, false, 49), "the clock was not as far ahead");
    assert!(!by_clock(false, true, 49), "the clock was not as far ahead");
    assert!(!by_clock(false, false, 50), "both were direct");
}

#[test]
fn clock_ahead_counts_for_later_writes_of_the_field_that_it_wrote_and_for_no_other() {
    let after_one_ahead = |field| {
        let ahead = Update {
            latest_clock: 1_000,
            ..direct(field, 10)
        };
        let deferred = Update {
            is_deferred: true,
            ..direct("city", 90)
        };
        may_end_with(50, vec![ahead, direct("city", 50), deferred])
    };
    assert!(after_one_ahead("city"));
    assert!(!after_one_ahead("zip"));
}

#[test]
fn customer_or_field_that_was_not_sent_is_a_phantom() {
    let update = Update {
        customer: 1,
        sent: 10,
        outcome: Outcome::Unknown,
        latest_clock: 10,
        is_deferred: false,
        is_repeated: false,
        fields: vec![("city", None)],
    };
    let history = History {
        updates: vec![update],
        ..History::default()
    };
    let zip = [("zip".to_owned(), "89073".to_owned())].into();
    for found in [(5, HashMap::new()), (1, zip)] {
        let stored = Stored {
            customers: [found].into(),
            ..Stored::default()
        };
        assert_only(&check(&history, &stored), Violation::Phantom, 1);
    }
}
