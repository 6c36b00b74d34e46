//! The rule for customers: some order of its writes explains what each field holds.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{ClientOutcome, LATE_CALLS, Micros, RecordedUpdate, RunRecord, Stored};
use crate::report::{Report, Subject, Violation};

/// A write of one field.
#[derive(Debug)]
struct Write<'a> {
    value: Option<&'a str>,
    sent: Micros,
    /// When its client had the acknowledgement, so that it has taken effect; `None` without one: then
    /// it may take effect at any later time.
    acknowledged_at: Option<Micros>,
    latest_clock: Micros,
    is_deferred: bool,
    is_repeated: bool,
    is_erasure: bool,
}

impl<'a> Write<'a> {
    /// The write of a field to `value` by this update.
    fn new(update: &RecordedUpdate, value: Option<&'a str>) -> Self {
        let acknowledged_at = match update.outcome {
            ClientOutcome::Acknowledged(at) => Some(at),
            ClientOutcome::Unknown | ClientOutcome::Rejected => None,
        };
        Self {
            value,
            sent: update.sent,
            acknowledged_at,
            latest_clock: update.latest_clock,
            is_deferred: update.is_deferred,
            is_repeated: update.is_repeated,
            is_erasure: update.is_erasure,
        }
    }

    /// Whether this write of a field may be the last of all.
    fn may_be_last(&self, all: &[Self]) -> bool {
        let Some(acknowledged_at) = self.acknowledged_at else {
            return true;
        };
        let acknowledged_at = self.latest_effect(acknowledged_at, all);
        // A write goes above the fence that the field has, so an earlier write by a clock that is
        // ahead counts, too.
        let clocks_before = all
            .iter()
            .filter(|other| other.sent <= acknowledged_at)
            .map(|other| other.latest_clock);
        let latest_clock = clocks_before.max().unwrap_or(acknowledged_at);
        let may_follow = |acknowledged: &Self| {
            let is_by_clock = self.is_deferred || self.is_repeated || acknowledged.is_deferred;
            let latest = if is_by_clock {
                latest_clock
            } else {
                acknowledged_at
            };
            acknowledged.sent <= latest
        };
        all.iter()
            .filter(|other| other.acknowledged_at.is_some())
            .all(may_follow)
    }

    /// When a write that was acknowledged may have taken effect last. After an erasure, an attempt
    /// that is still on its way creates the customer again (docs/outages.md, What is not promised).
    fn latest_effect(&self, acknowledged_at: Micros, all: &[Self]) -> Micros {
        let late_calls = Micros::try_from(LATE_CALLS.as_micros()).expect("it is a few seconds");
        let on_its_way = self.sent..=acknowledged_at + late_calls;
        all.iter()
            .filter(|other| other.is_erasure)
            .flat_map(|erasure| [Some(erasure.sent), erasure.acknowledged_at])
            .flatten()
            .filter(|erased_at| on_its_way.contains(erased_at))
            .fold(acknowledged_at, Micros::max)
    }
}

/// A field of a customer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Field<'a> {
    customer: u32,
    name: &'a str,
}

type WritesByField<'a> = BTreeMap<Field<'a>, Vec<Write<'a>>>;

pub(super) fn check_fields(record: &RunRecord, stored: &Stored, report: &mut Report) {
    let writes = writes_by_field(record);
    check_that_fields_were_sent(record, stored, &writes, report);
    for (field, writes) in &writes {
        report.fields += 1;
        let fields = stored.customers.get(&field.customer);
        let value = fields
            .and_then(|fields| fields.get(field.name))
            .map(String::as_str);
        let is_untouched =
            value.is_none() && writes.iter().all(|write| write.acknowledged_at.is_none());
        let may_be_last = |write: &Write<'_>| write.value == value && write.may_be_last(writes);
        if !is_untouched && !writes.iter().any(may_be_last) {
            let Field { customer, name } = field;
            report.add(Violation::Stale, Subject::Customer(field.customer), || {
                format!("{name} of customer {customer} is {value:?} after {writes:?}")
            });
        }
    }
}

/// The writes of each field.
fn writes_by_field(record: &RunRecord) -> WritesByField<'_> {
    let mut writes = WritesByField::new();
    for update in &record.updates {
        for (name, value) in &update.fields {
            let field = Field {
                customer: update.customer,
                name,
            };
            let write = Write::new(update, value.as_deref());
            writes.entry(field).or_default().push(write);
        }
    }
    writes
}

fn check_that_fields_were_sent(
    record: &RunRecord,
    stored: &Stored,
    writes: &WritesByField<'_>,
    report: &mut Report,
) {
    let customers: BTreeSet<u32> = record
        .updates
        .iter()
        .map(|update| update.customer)
        .collect();
    for (customer, fields) in &stored.customers {
        if !customers.contains(customer) {
            report.add(Violation::Phantom, Subject::Customer(*customer), || {
                format!("customer {customer} was not sent")
            });
        }
        for name in fields.keys() {
            let field = Field {
                customer: *customer,
                name,
            };
            if !writes.contains_key(&field) {
                report.add(Violation::Phantom, Subject::Customer(*customer), || {
                    format!("{name} of customer {customer} was not sent")
                });
            }
        }
    }
}
