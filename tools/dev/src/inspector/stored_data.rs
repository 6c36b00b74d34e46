//! What is stored, read from the emulator in this process, because a command of the operator takes
//! longer to start than this takes to respond. What a client wrote is shown as it is stored, with
//! every digit. Must not know how the inspector is called.

mod attributes;

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use emulator::template::Table;
use emulator::{Emulator, Template};
use model::account::AccountId;
use model::customer::attributes::is_fence;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use self::attributes::{JsonMembers, attributes, text};

/// How many signals of a customer are shown: the newest ones.
const MAX_SIGNALS: usize = 50;

/// How many rejected signals are shown: the newest ones.
const MAX_REJECTED: usize = 100;

/// The tables of the stack.
pub(crate) struct StoredData {
    emulator: Arc<Emulator>,
    names: TableNames,
    tables: Vec<Table>,
}

/// The names of the tables that the inspector reads.
struct TableNames {
    customers: String,
    signals: String,
    rejected_signals: String,
    api_keys: String,
}

impl StoredData {
    /// # Errors
    /// The template lacks a table.
    pub(crate) fn new(emulator: Arc<Emulator>, template: &Template) -> Result<Self> {
        let name = |table| template.table(table).map(|table| table.name.clone());
        let names = TableNames {
            customers: name("CustomersTable")?,
            signals: name("SignalsTable")?,
            rejected_signals: name("RejectedSignalsTable")?,
            api_keys: name("ApiKeysTable")?,
        };
        Ok(Self {
            emulator,
            names,
            tables: template.tables.clone(),
        })
    }

    /// The accounts that have a key.
    pub(crate) fn accounts(&self) -> Result<BTreeSet<String>> {
        let mut accounts = BTreeSet::new();
        self.emulator.for_each_item(&self.names.api_keys, |item| {
            accounts.insert(text(item, "accountId").to_owned());
        })?;
        Ok(accounts)
    }

    /// Deletes everything but the keys, or everything of one account but its keys.
    pub(crate) fn clear(&self, account: Option<&AccountId>) -> Result<()> {
        let with_data = |table: &&Table| table.name != self.names.api_keys;
        for table in self.tables.iter().filter(with_data) {
            match account {
                // Every partition key begins with the account.
                Some(account) => {
                    let prefix = account.partition_key("");
                    self.emulator.delete_partitions(table, &prefix)?;
                }
                None => self.emulator.clear(table)?,
            }
        }
        Ok(())
    }

    /// The profile and the newest signals of a customer, or the signals of an emitter, which has no
    /// profile, in JSON.
    pub(crate) fn customer(&self, account: &AccountId, id: &str) -> Result<String> {
        let partition = account.partition_key(id);
        let newest = self
            .emulator
            .last_of(&self.names.customers, &partition, 1)?;
        let profile = newest.first().map(profile).transpose()?;
        let profile = serde_json::to_string(&profile)?;
        let signals = &self.names.signals;
        let items = self.emulator.last_of(signals, &partition, MAX_SIGNALS)?;
        let signals: Vec<_> = items.iter().map(stored_signal).collect::<Result<_>>()?;
        let signals = serde_json::to_string(&signals)?;
        Ok(format!("{{\"profile\":{profile},\"signals\":{signals}}}"))
    }

    /// The newest rejected signals, oldest first, in JSON: `rejected` has entries as `intake rejected
    /// list --json` has them.
    pub(crate) fn rejected(&self, account: &AccountId) -> Result<String> {
        let newest = self.emulator.newest(
            &self.names.rejected_signals,
            &account.partition_key(""),
            "receivedAt",
            MAX_REJECTED,
        )?;
        let entry = |item: &Value| {
            let (_, partition) = text(item, "pk").split_once('#').unwrap_or_default();
            rejected_entry(&format!("{partition}#{}", text(item, "sk")), item)
        };
        let entries: Vec<_> = newest.iter().map(entry).collect::<Result<_>>()?;
        let entries = serde_json::to_string(&entries)?;
        Ok(format!("{{\"rejected\":{entries}}}"))
    }
}

/// The profile in an item of the table of customers.
fn profile(item: &Value) -> Result<JsonMembers> {
    attributes(item, |name| name != "pk" && !is_fence(name))
}

/// The signal in an item, with its index in the request, which only the key has.
fn stored_signal(item: &Value) -> Result<JsonMembers> {
    let is_hidden = |name: &str| ["pk", "sk", "accountId"].contains(&name);
    let mut signal = attributes(item, |name| !is_hidden(name))?;
    let index = text(item, "sk").rsplit('#').next();
    let index = index.and_then(|index| index.parse::<u64>().ok());
    signal.insert("index".to_owned(), to_raw_value(&index)?);
    Ok(signal)
}

fn rejected_entry(id: &str, item: &Value) -> Result<JsonMembers> {
    let is_hidden = |name: &str| ["pk", "sk", "accountId", "expiresAt"].contains(&name);
    let mut entry = attributes(item, |name| !is_hidden(name))?;
    entry.insert("id".to_owned(), to_raw_value(id)?);
    entry
        .entry("truncated".to_owned())
        .or_insert(to_raw_value(&false)?);
    // A signal whose subject could not be read has none.
    entry
        .entry("subjectId".to_owned())
        .or_insert(to_raw_value(&())?);
    // A payload that is JSON is shown as JSON, another one as text.
    if let Ok(payload) = RawValue::from_string(text(item, "payload").to_owned()) {
        entry.insert("payload".to_owned(), payload);
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{attributes, rejected_entry};

    #[test]
    fn attributes_keep_their_digits_and_a_payload_that_is_no_json_is_text() {
        let digits = "12345678901234567890123456789012345678";
        let item = json!({"pk": {"S": "x"}, "n": {"N": digits}, "m": {"M": {"a": {"L": [{"NULL": true}, {"BOOL": true}]}}}});
        let written =
            serde_json::to_string(&attributes(&item, |name| name != "pk").unwrap()).unwrap();
        assert_eq!(
            written,
            format!(r#"{{"m":{{"a":[null,true]}},"n":{digits}}}"#)
        );

        let entry =
            |payload: &str| rejected_entry("i", &json!({"payload": {"S": payload}})).unwrap();
        assert_eq!(
            serde_json::to_string(&entry("{\"a\":1.10}")).unwrap(),
            r#"{"id":"i","payload":{"a":1.10},"subjectId":null,"truncated":false}"#
        );
        assert_eq!(
            serde_json::to_string(&entry("{")).unwrap(),
            r#"{"id":"i","payload":"{","subjectId":null,"truncated":false}"#
        );
    }
}
