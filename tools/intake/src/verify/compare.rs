//! Compares what is stored with what was sent. Must not know how items are read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;
use model::timestamp::Timestamp;
use serde_json::Value;
use store::attributes::Item;

use super::report::CheckContext;
use super::requests::updated_fields;
use super::sender::SentBatch;
use super::stored::{self, StoredItems};
use crate::output::note;
use crate::stack::Stack;
use operator::items::{json_object, text};

/// How long deferred signals may take to be stored.
const DRAIN_TIMEOUT: Duration = Duration::from_mins(2);

/// How often the tables are read while deferred signals are not stored yet.
const READ_INTERVAL: Duration = Duration::from_secs(3);

/// What the service adds to a signal.
const ADDED: [&str; 6] = [
    "pk",
    "sk",
    "accountId",
    "receivedAt",
    "requestIdentifier",
    "expiresAt",
];

/// Reads everything back and adds the checks. Returns how many signals are stored.
pub(super) async fn compare(context: &CheckContext<'_>, stack: &Stack) -> Result<usize> {
    let began = Instant::now();
    let retention = stack.retention()?;
    let deferred = context.sender.deferred.get();
    loop {
        let stored = stored::read(stack, context).await?;
        let faults = signal_faults(&context.sender.batches.borrow(), &stored.signals, retention);
        let is_stale = stored.profile != Some(updated_fields());
        let is_incomplete = !faults.lost.is_empty() || is_stale;
        if deferred > 0 && is_incomplete && began.elapsed() < DRAIN_TIMEOUT {
            note("Waiting for what was deferred to be stored ...");
            tokio::time::sleep(READ_INTERVAL).await;
            continue;
        }
        add_checks(context, &stored, &faults);
        return Ok(stored.signals.len());
    }
}

/// Adds the checks of what is stored.
fn add_checks(context: &CheckContext<'_>, stored: &StoredItems, faults: &SignalFaults) {
    let seen = format!(
        "{} signals, {} deferred",
        stored.signals.len(),
        context.sender.deferred.get()
    );
    let add = |promise, name, faults: &[String]| {
        context
            .checks
            .add_faults(promise, name, faults, seen.clone());
    };
    add(
        "Signals",
        "Every acknowledged signal is stored",
        &faults.lost,
    );
    add("Retries", "No signal is stored twice", &faults.twice);
    add("Signals", "Each item holds what was sent", &faults.wrong);
    add(
        "Signals",
        "Rejected signals are stored as they were sent",
        &unkept(context, stored),
    );
    let mut stale_profiles = Vec::new();
    if stored.profile != Some(updated_fields()) {
        stale_profiles.push(format!("the fields are {:?}", stored.profile));
    }
    add(
        "Customers",
        "Each customer has its last update",
        &stale_profiles,
    );
}

/// What is wrong with the stored signals.
#[derive(Debug, Default)]
struct SignalFaults {
    /// Signals that were acknowledged and are not stored.
    lost: Vec<String>,
    /// Signals that are stored twice.
    twice: Vec<String>,
    /// Items that are not as they have to be.
    wrong: Vec<String>,
}

/// The place of a signal among those that were sent.
#[derive(PartialEq, Eq, Hash)]
struct PlaceInRequest<'a> {
    /// The requestIdentifier of its batch.
    identifier: &'a str,
    index: usize,
}

impl fmt::Display for PlaceInRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identifier, index } = self;
        write!(
            f,
            "signal {index} of the request with requestIdentifier {identifier}"
        )
    }
}

/// The index of a signal in its batch, which is the end of its sort key.
fn index_in_batch(sort_key: &str) -> usize {
    let index = sort_key.rsplit('#').next();
    index
        .and_then(|index| index.parse().ok())
        .unwrap_or(usize::MAX)
}

fn signal_faults(
    batches: &BTreeMap<String, SentBatch>,
    stored: &[Item],
    retention: Option<Duration>,
) -> SignalFaults {
    let mut faults = SignalFaults::default();
    let mut copies: HashMap<PlaceInRequest<'_>, usize> = HashMap::new();
    for item in stored {
        let identifier = text(item, "requestIdentifier").unwrap_or_default();
        let key = text(item, "sk").unwrap_or_default();
        let index = index_in_batch(key);
        let sent = batches
            .get(identifier)
            .and_then(|batch| batch.signals.get(..batch.valid)?.get(index));
        let holds_what_was_sent = sent.is_some() && content(item).ok().as_ref() == sent;
        if !holds_what_was_sent || !expires_after(item, retention) {
            faults.wrong.push(format!("the item with the key {key}"));
        }
        let place = PlaceInRequest { identifier, index };
        *copies.entry(place).or_default() += 1;
    }
    for (identifier, batch) in batches {
        for index in 0..batch.valid {
            let place = PlaceInRequest { identifier, index };
            match copies.get(&place) {
                None if batch.is_acknowledged => faults.lost.push(place.to_string()),
                None | Some(1) => {}
                Some(_) => faults.twice.push(place.to_string()),
            }
        }
    }
    faults
}

/// The signal in an item, as a client sends it.
fn content(item: &Item) -> serde_json::Result<Value> {
    serde_json::to_value(json_object(item, &ADDED))
}

fn expires_after(item: &Item, retention: Option<Duration>) -> bool {
    let received_at = text(item, "receivedAt").and_then(|at| at.parse::<Timestamp>().ok());
    let expected = received_at
        .zip(retention)
        .map(|(at, retention)| at.plus(retention).seconds().to_string());
    item.get("expiresAt").and_then(|at| at.as_n().ok()) == expected.as_ref()
}

/// Invalid signals of acknowledged batches that are not kept as they were sent.
fn unkept(context: &CheckContext<'_>, stored: &StoredItems) -> Vec<String> {
    let kept: HashSet<&str> = stored
        .rejected
        .iter()
        .filter_map(|item| text(item, "payload"))
        .collect();
    let batches = context.sender.batches.borrow();
    let acknowledged = batches.values().filter(|batch| batch.is_acknowledged);
    let invalid = acknowledged.flat_map(|batch| batch.signals.iter().skip(batch.valid));
    invalid
        .map(Value::to_string)
        .filter(|signal| !kept.contains(signal.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;
    use serde_json::json;

    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct FaultCounts {
        lost: usize,
        twice: usize,
        wrong: usize,
    }

    /// Not by serde: elsewhere in the workspace, a feature of `serde_json` makes numbers another
    /// type.
    fn attribute(value: &Value) -> AttributeValue {
        match value {
            Value::Null => AttributeValue::Null(true),
            Value::Bool(truth) => AttributeValue::Bool(*truth),
            Value::Number(number) => AttributeValue::N(number.to_string()),
            Value::String(text) => AttributeValue::S(text.clone()),
            Value::Array(elements) => AttributeValue::L(elements.iter().map(attribute).collect()),
            Value::Object(_) => AttributeValue::M(item_of(value)),
        }
    }

    fn item_of(object: &Value) -> Item {
        object
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), attribute(value)))
            .collect()
    }

    #[test]
    fn signal_that_is_missing_or_stored_twice_or_otherwise_is_a_fault() {
        let batch = SentBatch {
            is_acknowledged: true,
            ..SentBatch::new(1, 1)
        };
        let identifier = batch.identifier.clone();
        let item = |index: usize, changes: Value| {
            let at = "1970-01-01T00:00:00.000Z";
            let key = format!("{identifier}#{index:04}");
            let added = json!({"sk": key, "receivedAt": at, "requestIdentifier": identifier, "expiresAt": 60});
            [&batch.signals[index], &added, &changes]
                .into_iter()
                .flat_map(item_of)
                .collect()
        };
        let sent: Item = item(0, json!({}));
        let other_type = item(0, json!({"eventType": "other"}));
        let other_expiry = item(0, json!({"expiresAt": 61}));
        let never_sent = item(1, json!({}));
        let batches = BTreeMap::from([(identifier.clone(), batch)]);
        let faults = |stored: &[Item]| {
            let faults = signal_faults(&batches, stored, Some(Duration::from_mins(1)));
            FaultCounts {
                lost: faults.lost.len(),
                twice: faults.twice.len(),
                wrong: faults.wrong.len(),
            }
        };
        let none = FaultCounts::default();
        let one_lost = FaultCounts { lost: 1, ..none };
        let one_twice = FaultCounts { twice: 1, ..none };
        let one_wrong = FaultCounts { wrong: 1, ..none };
        assert_eq!(faults(std::slice::from_ref(&sent)), none);
        assert_eq!(faults(&[]), one_lost);
        assert_eq!(faults(&[sent.clone(), sent.clone()]), one_twice);
        assert_eq!(faults(&[other_type]), one_wrong);
        assert_eq!(faults(&[other_expiry]), one_wrong);
        assert_eq!(faults(&[sent, never_sent]), one_wrong);
    }
}
