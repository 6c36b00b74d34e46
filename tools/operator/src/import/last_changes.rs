//! The last change of each field of a customer among the lines of a file with the same time. Must not
//! know how a customer is stored.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use model::customer::CustomerUpdate;
use model::timestamp::Timestamp;

/// Which lines of a file change the same field of a customer at the same time: only the last of them is
/// to be stored. Their fences are equal, so each further run of the import would store all of their
/// values one after the other.
///
/// It keeps hashes: 10 to 21 bytes for each different customer and time, and 19 to 39 for each field
/// that a further line with the same customer and time changes.
#[derive(Default)]
pub(super) struct LastChanges {
    hasher: RandomState,
    /// The customers and times so far.
    seen: HashSet<u64>,
    /// The last line that changes a field, if the customer and the time came before.
    lines: HashMap<u64, u64>,
}

impl LastChanges {
    /// Adds the update of a line. Lines are added in the order of the file.
    pub(super) fn add(&mut self, line: u64, updated_at: Timestamp, update: &CustomerUpdate<'_>) {
        let id = update.customer_id();
        let is_new = self.seen.insert(self.hasher.hash_one((updated_at, id)));
        if is_new {
            return;
        }
        for change in update.changes() {
            let name = change.name.as_ref();
            let field = self.hasher.hash_one((updated_at, id, name));
            self.lines.insert(field, line);
        }
    }

    /// Drops each change of an update that a later line also makes. Returns whether there was one.
    pub(super) fn drop_superseded(
        &self,
        line: u64,
        updated_at: Timestamp,
        update: &mut CustomerUpdate<'_>,
    ) -> bool {
        let before = update.changes().len();
        let id = update.customer_id().to_owned();
        update.retain_changes(|name| {
            let field = self.hasher.hash_one((updated_at, id.as_str(), name));
            let last = self.lines.get(&field);
            last.is_none_or(|last| *last <= line)
        });
        update.changes().len() < before
    }

    /// Whether a line before this one has its customer and time, and was stored without the fields that the
    /// update still changes.
    pub(super) fn is_later_line(
        &self,
        line: u64,
        updated_at: Timestamp,
        update: &CustomerUpdate<'_>,
    ) -> bool {
        let id = update.customer_id();
        update.changes().iter().any(|change| {
            let name = change.name.as_ref();
            let field = self.hasher.hash_one((updated_at, id, name));
            self.lines.get(&field) == Some(&line)
        })
    }
}

#[cfg(test)]
mod tests {
    use model::json::JsonText;

    use super::*;

    fn update(body: &str) -> CustomerUpdate<'_> {
        CustomerUpdate::parse(JsonText::parse(body).unwrap()).unwrap()
    }

    #[test]
    fn change_is_superseded_by_a_later_line_with_its_customer_time_and_field() {
        let early = Timestamp::from_millis(1_795_214_024_123);
        let late = Timestamp::from_millis(1_795_214_024_124);
        let both = r#"{"customerId":"ada","customerData":{"city":"Rome","zip":"1"}}"#;
        let city = r#"{"customerId":"ada","customerData":{"city":null}}"#;
        let of_bob = r#"{"customerId":"bob","customerData":{"city":"Ulm"}}"#;
        let lines = [
            (early, both),
            (early, of_bob),
            (late, both),
            (early, city),
            (early, city),
        ];
        let numbered = || (1..).zip(lines);
        let mut last_changes = LastChanges::default();
        for (number, (time, body)) in numbered() {
            last_changes.add(number, time, &update(body));
        }
        let left: Vec<_> = numbered()
            .map(|(number, (time, body))| {
                let mut update = update(body);
                let is_superseded = last_changes.drop_superseded(number, time, &mut update);
                let is_later = last_changes.is_later_line(number, time, &update);
                (is_superseded, update.changes().len(), is_later)
            })
            .collect();
        let expected = [
            (true, 1, false),
            (false, 1, false),
            (false, 2, false),
            (true, 0, false),
            (false, 1, true),
        ];
        assert_eq!(left, expected);
    }
}
