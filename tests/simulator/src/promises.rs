//! What must hold at every moment of a run. What must hold at its end, the checker knows.

use consistency::checker::Violation;
use serde_json::Value;

use crate::aws::dynamodb::{CUSTOMERS, Change, IDEMPOTENCY, Item};

/// The attribute of an item's fence, and how those of its fields begin (docs/data-model.md, Customers).
const FENCE: &str = "fence";
const FENCE_PREFIX: &str = "fence:";

/// The attribute of the tombstone version.
const TOMBSTONE_VERSION: &str = "fence:fence";

/// Attributes that begin like the fence of a field: the generation and the tombstone version.
const NO_FENCES: [&str; 2] = ["fence:pk", TOMBSTONE_VERSION];

/// The promises that were broken so far.
#[derive(Debug, Default)]
pub struct Promises {
    broken: Vec<BrokenPromise>,
}

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// No fence of a customer goes down.
    NewerUpdateStays,
    /// A write of a part of an update changes no customer who was erased since it was made.
    ErasedStays,
    /// No idempotency record is replaced.
    RecordStays,
    /// A client gets the response that it has to get.
    Response,
    /// A request ends in time.
    RequestTime,
    /// A function makes no more calls at once than it may.
    CallsAtOnce,
    /// The log has no value, and no error that nothing explains.
    Log,
    /// The queue is drained after an outage, and no message becomes a dead letter.
    Drained,
    /// What is stored is what clients were told, but for this.
    Stored(Violation),
}

/// A promise that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPromise {
    pub promise: Promise,
    /// What is wrong, in one line.
    pub text: String,
    /// What its story is about: a text that its lines have in them, or the name of an environment or a
    /// client. Empty: the whole run.
    pub about: String,
}

impl Promises {
    /// What was broken, in the order of the run.
    pub fn broken(&self) -> &[BrokenPromise] {
        &self.broken
    }

    /// Notes that a promise is broken.
    pub fn note(&mut self, promise: Promise, text: String, about: String) {
        self.broken.push(BrokenPromise {
            promise,
            text,
            about,
        });
    }

    /// Checks a write: no fence of a customer goes down, and no idempotency record is replaced.
    pub(crate) fn check_write(&mut self, change: &Change<'_>) {
        let (Some(before), Some(after)) = (change.before, change.after) else {
            return;
        };
        let key = before
            .get("pk")
            .map(|key| key["S"].as_str().unwrap_or_default());
        let key = key.unwrap_or_default();
        match change.table {
            CUSTOMERS => {
                for name in before.keys() {
                    let is_fence = name == FENCE || name.starts_with(FENCE_PREFIX);
                    if is_fence
                        && !NO_FENCES.contains(&name.as_str())
                        && goes_down(name, before, after)
                    {
                        let text = format!(
                            "a write of {key} lowers {name}: an older update replaces a newer one"
                        );
                        self.note(Promise::NewerUpdateStays, text, key.to_owned());
                    }
                }
            }
            IDEMPOTENCY if before != after => {
                let text = format!("the idempotency record {key} is replaced within its 24 hours");
                self.note(Promise::RecordStays, text, key.to_owned());
            }
            _ => {}
        }
    }
}

/// Whether the fence of this name is lower after a write. That of a field that was removed long ago is deleted,
/// and the tombstone version stands for it.
fn goes_down(name: &str, before: &Item, after: &Item) -> bool {
    let fence = |item: &Item, name: &str| -> Option<u64> {
        let number = item.get(name).map(|value: &Value| &value["N"])?;
        number.as_str()?.parse().ok()
    };
    let after = fence(after, name).or_else(|| fence(after, TOMBSTONE_VERSION));
    after < fence(before, name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn broken_by(table: &str, before: &Value, after: &Value) -> usize {
        let mut promises = Promises::default();
        promises.check_write(&Change {
            table,
            before: before.as_object(),
            after: after.as_object(),
        });
        promises.broken().len()
    }

    #[test]
    fn fence_that_goes_down_or_away_breaks_a_promise() {
        let customer = |fence: u64, of_city: u64| {
            json!({
                "pk": {"S": "shop#c"},
                "fence": {"N": fence.to_string()},
                "fence:city": {"N": of_city.to_string()},
                "fence:pk": {"N": (100 - fence).to_string()},
            })
        };
        let without_city = json!({"pk": {"S": "shop#c"}, "fence": {"N": "9"}});
        let with_tombstone_version =
            json!({"pk": {"S": "shop#c"}, "fence": {"N": "9"}, "fence:fence": {"N": "6"}});
        let before = customer(7, 5);
        assert_eq!(broken_by(CUSTOMERS, &before, &customer(8, 6)), 0);
        assert_eq!(broken_by(CUSTOMERS, &before, &customer(8, 4)), 1);
        assert_eq!(broken_by(CUSTOMERS, &before, &customer(6, 4)), 2);
        assert_eq!(broken_by(CUSTOMERS, &before, &without_city), 1);
        assert_eq!(broken_by(CUSTOMERS, &before, &with_tombstone_version), 0);
        assert_eq!(broken_by(CUSTOMERS, &before, &Value::Null), 0, "an erasure");
    }

    #[test]
    fn idempotency_record_that_is_replaced_breaks_a_promise() {
        let [first, second] =
            ["a", "b"].map(|hash| json!({"pk": {"S": "k"}, "bodyHash": {"S": hash}}));
        assert_eq!(broken_by(IDEMPOTENCY, &first, &second), 1);
        assert_eq!(broken_by(IDEMPOTENCY, &first, &first), 0);
        assert_eq!(broken_by(IDEMPOTENCY, &Value::Null, &first), 0);
    }
}
