//! The checks of customers: which values the fields of a customer may end with.

use std::collections::HashMap;

use consistency::checker::{Violation, check};
use consistency::{ClientOutcome, Micros, RecordedUpdate, RunRecord, Stored};

use super::{assert_only, count};

/// A write of one field, by an update that was sent once.
#[derive(Clone, Copy, Debug)]
struct SentWrite {
    /// `None` removes the field.
    value: Option<&'static str>,
    sent: Micros,
    /// `None` when the client received no response.
    acknowledged: Option<Micros>,
}

/// Whether a field may have `value` after these writes.
fn may_be_stored(value: Option<&str>, writes: &[SentWrite]) -> bool {
    let update = |write: &SentWrite| RecordedUpdate {
        customer: 1,
        sent: write.sent,
        outcome: write
            .acknowledged
            .map_or(ClientOutcome::Unknown, ClientOutcome::Acknowledged),
        latest_clock: write.acknowledged.unwrap_or(write.sent),
        is_deferred: false,
        is_repeated: false,
        is_erasure: false,
        fields: vec![("city", write.value.map(ToOwned::to_owned))],
    };
    let record = RunRecord {
        updates: writes.iter().map(update).collect(),
        ..RunRecord::default()
    };
    let mut fields = HashMap::new();
    if let Some(value) = value {
        fields.insert("city".to_owned(), value.to_owned());
    }
    let stored = Stored {
        customers: [(1, fields)].into(),
        ..Stored::default()
    };
    let report = check(&record, &stored);
    assert_eq!(report.holds(), count(&report, Violation::Stale) == 0);
    report.holds()
}

const ULM: Option<&str> = Some("Ulm");
const BONN: Option<&str> = Some("Bonn");

const BONN_AFTERWARDS: SentWrite = SentWrite {
    value: BONN,
    sent: 30,
    acknowledged: Some(40),
};

#[test]
fn field_that_does_not_have_the_later_of_two_writes_is_stale() {
    let ulm = SentWrite {
        value: ULM,
        sent: 10,
        acknowledged: Some(20),
    };
    let writes = [ulm, BONN_AFTERWARDS];
    assert!(may_be_stored(BONN, &writes));
    assert!(!may_be_stored(ULM, &writes));
    assert!(!may_be_stored(None, &writes));
    assert!(!may_be_stored(Some("never written"), &writes));
}

#[test]
fn field_that_has_one_of_two_writes_at_the_same_time_is_not_stale() {
    let ulm_at_the_same_time = SentWrite {
        value: ULM,
        sent: 10,
        acknowledged: Some(35),
    };
    let removed_before = SentWrite {
        value: None,
        sent: 5,
        acknowledged: Some(8),
    };
    let writes = [ulm_at_the_same_time, BONN_AFTERWARDS, removed_before];
    assert!(may_be_stored(BONN, &writes));
    assert!(may_be_stored(ULM, &writes));
    assert!(!may_be_stored(None, &writes));
}

#[test]
fn write_without_a_response_may_take_effect_at_any_later_time_or_never() {
    let ulm_without_response = SentWrite {
        value: ULM,
        sent: 10,
        acknowledged: None,
    };
    let writes = [ulm_without_response, BONN_AFTERWARDS];
    assert!(may_be_stored(BONN, &writes));
    assert!(may_be_stored(ULM, &writes));
    assert!(!may_be_stored(None, &writes));

    let ulm_later = SentWrite {
        sent: 50,
        ..ulm_without_response
    };
    assert!(may_be_stored(BONN, &[BONN_AFTERWARDS, ulm_later]));

    assert!(may_be_stored(ULM, &[ulm_without_response]));
    assert!(may_be_stored(None, &[ulm_without_response]));
    assert!(!may_be_stored(BONN, &[ulm_without_response]));
}

/// A direct update of a field of customer 1 that was sent once, by a clock that is not ahead.
fn direct(field: &'static str, sent: Micros) -> RecordedUpdate {
    RecordedUpdate {
        customer: 1,
        sent,
        outcome: ClientOutcome::Acknowledged(sent + 10),
        latest_clock: sent + 10,
        is_deferred: false,
        is_repeated: false,
        is_erasure: false,
        fields: vec![(field, Some(sent.to_string()))],
    }
}

/// Whether the update that was sent at `sent` may be what the city of customer 1 ends with.
fn may_end_with(sent: Micros, updates: Vec<RecordedUpdate>) -> bool {
    let mut fields = HashMap::new();
    for (field, value) in updates.iter().flat_map(|update| &update.fields) {
        fields.insert((*field).to_owned(), value.clone().unwrap());
    }
    fields.insert("city".to_owned(), sent.to_string());
    let record = RunRecord {
        updates,
        ..RunRecord::default()
    };
    let stored = Stored {
        customers: [(1, fields)].into(),
        ..Stored::default()
    };
    check(&record, &stored).holds()
}

#[test]
fn deferred_or_repeated_write_may_win_over_a_later_one_when_its_clock_was_as_far_ahead() {
    let may_win = |update: RecordedUpdate| {
        let later = direct("city", 50);
        may_end_with(10, vec![update, later])
    };
    let direct_with_clock = |latest_clock| RecordedUpdate {
        latest_clock,
        ..direct("city", 10)
    };
    let deferred = |latest_clock| RecordedUpdate {
        is_deferred: true,
        ..direct_with_clock(latest_clock)
    };
    let repeated = |latest_clock| RecordedUpdate {
        is_repeated: true,
        ..direct_with_clock(latest_clock)
    };
    assert!(may_win(deferred(50)));
    assert!(may_win(repeated(50)));
    assert!(!may_win(deferred(49)), "the clock was not as far ahead");
    assert!(!may_win(repeated(49)), "the clock was not as far ahead");
    assert!(!may_win(direct_with_clock(50)), "both were direct");
}

/// Seed 7000483 of the simulator: of an update that was attempted twice, the second attempt came after
/// newer updates and an erasure.
#[test]
fn erased_customer_may_be_what_an_attempt_from_before_makes_of_it() {
    const SECOND: Micros = 1_000_000;
    let may_end_with_first = |first_sent, erased_at, created_at| {
        let erasure = RecordedUpdate {
            is_erasure: true,
            outcome: ClientOutcome::Acknowledged(erased_at),
            latest_clock: erased_at,
            fields: vec![("city", Some("erased".to_owned()))],
            ..direct("city", erased_at)
        };
        let updates = [first_sent, 20 * SECOND, created_at].map(|sent| direct("city", sent));
        may_end_with(first_sent, [updates.to_vec(), vec![erasure]].concat())
    };
    assert!(may_end_with_first(19 * SECOND, 23 * SECOND, 21 * SECOND));
    assert!(
        !may_end_with_first(19 * SECOND, 25 * SECOND, 21 * SECOND),
        "no call takes so long"
    );
    assert!(
        !may_end_with_first(19 * SECOND, 23 * SECOND, 24 * SECOND),
        "the customer was created anew"
    );
}

#[test]
fn clock_ahead_counts_for_later_writes_of_the_field_that_it_wrote_and_for_no_other() {
    let after_one_ahead = |field| {
        let ahead = RecordedUpdate {
            latest_clock: 1_000,
            ..direct(field, 10)
        };
        let deferred = RecordedUpdate {
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
    let update = RecordedUpdate {
        customer: 1,
        sent: 10,
        outcome: ClientOutcome::Unknown,
        latest_clock: 10,
        is_deferred: false,
        is_repeated: false,
        is_erasure: false,
        fields: vec![("city", None)],
    };
    let record = RunRecord {
        updates: vec![update],
        ..RunRecord::default()
    };
    let zip = [("zip".to_owned(), "89073".to_owned())].into();
    for (customer, fields) in [(5, HashMap::new()), (1, zip)] {
        let stored = Stored {
            customers: [(customer, fields)].into(),
            ..Stored::default()
        };
        assert_only(&check(&record, &stored), Violation::Phantom);
    }
}
