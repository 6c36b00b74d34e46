//! The rule for customers: some order of its writes explains what each field holds.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{Report, Subject, Violation};
use crate::run_record::{ClientOutcome, LATE_CALLS, Micros, RecordedUpdate, RunRecord, Stored};

/// The write of one field by an update.
#[derive(Debug)]
struct Write<'a> {
    value: Option<&'a str>,
    update: &'a RecordedUpdate,
}

impl Write<'_> {
    /// When its client had the acknowledgement, so that it has taken effect; `None` without one: then
    /// it may take effect at any later time.
    fn acknowledged_at(&self) -> Option<Micros> {
        match self.update.outcome {
            ClientOutcome::Acknowledged(at) => Some(at),
            ClientOutcome::Unknown | ClientOutcome::Rejected => None,
        }
    }

    /// Whether this write of a field may be the last of all.
    fn may_be_last(&self, all: &[Self]) -> bool {
        let Some(acknowledged_at) = self.acknowledged_at() else {
            return true;
        };
        let acknowledged_at = self.latest_effect(acknowledged_at, all);
        // A write goes above the fence that the field has, so an earlier write by a clock that is
        // ahead counts, too.
        let clocks_before = all
            .iter()
            .map(|other| other.update)
            .filter(|other| other.sent <= acknowledged_at)
            .map(|other| other.latest_clock);
        let latest_clock = clocks_before.max().unwrap_or(acknowledged_at);
        let may_follow = |acknowledged: &RecordedUpdate| {
            let is_by_clock =
                self.update.is_deferred || self.update.is_repeated || acknowledged.is_deferred;
            let latest = if is_by_clock {
                latest_clock
            } else {
                acknowledged_at
            };
            acknowledged.sent <= latest
        };
        all.iter()
            .filter(|other| other.acknowledged_at().is_some())
            .all(|other| may_follow(other.update))
    }

    /// When a write that was acknowledged may have taken effect last. After an erasure, an attempt
    /// that is still on its way creates the customer again (docs/outages.md, What is not promised).
    fn latest_effect(&self, acknowledged_at: Micros, all: &[Self]) -> Micros {
        let late_calls = Micros::try_from(LATE_CALLS.as_micros()).expect("it is a few seconds");
        // A client may have sent it again while an attempt was still served.
        let last_attempt = if self.update.is_repeated {
            acknowledged_at.max(self.update.latest_clock)
        } else {
            acknowledged_at
        };
        let on_its_way = self.update.sent..=last_attempt + late_calls;
        all.iter()
            .filter(|other| other.update.is_erasure)
            .flat_map(|erasure| [Some(erasure.update.sent), erasure.acknowledged_at()])
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
    check_that_customers_were_sent(record, stored, report);
    for (field, writes) in &writes_by_field(record, stored) {
        let Field { customer, name } = *field;
        let subject = Subject::Customer(customer);
        if writes.is_empty() {
            let text = format!("{name} of customer {customer} was not sent");
            report.add(Violation::Phantom, subject, text);
            continue;
        }
        let fields = stored.customers.get(&customer);
        let value = fields
            .and_then(|fields| fields.get(name))
            .map(String::as_str);
        let is_untouched =
            value.is_none() && writes.iter().all(|write| write.acknowledged_at().is_none());
        let may_be_last = |write: &Write<'_>| write.value == value && write.may_be_last(writes);
        if !is_untouched && !writes.iter().any(may_be_last) {
            let text = format!("{name} of customer {customer} is {value:?} after {writes:?}");
            report.add(Violation::Stale, subject, text);
        }
    }
}

/// The writes of each field that was sent or is stored.
fn writes_by_field<'a>(record: &'a RunRecord, stored: &'a Stored) -> WritesByField<'a> {
    let mut writes = WritesByField::new();
    for update in &record.updates {
        for (name, value) in &update.fields {
            let field = Field {
                customer: update.customer,
                name,
            };
            let write = Write {
                value: value.as_deref(),
                update,
            };
            writes.entry(field).or_default().push(write);
        }
    }
    for (customer, fields) in &stored.customers {
        for name in fields.keys() {
            let field = Field {
                customer: *customer,
                name,
            };
            writes.entry(field).or_default();
        }
    }
    writes
}

fn check_that_customers_were_sent(record: &RunRecord, stored: &Stored, report: &mut Report) {
    let sent: BTreeSet<u32> = record
        .updates
        .iter()
        .map(|update| update.customer)
        .collect();
    for customer in stored.customers.keys() {
        if !sent.contains(customer) {
            let text = format!("customer {customer} was not sent");
            report.add(Violation::Phantom, Subject::Customer(*customer), text);
        }
    }
}
