//! The operator's access to the table ApiKeys: by the id of a key, where the functions know only
//! its hash. Must not know how the key snapshot is written.

use std::cell::{Cell, RefCell};

use anyhow::{Result, anyhow};
use aws::deadline::{Deadline, run_until};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::api_keys::PARTITION_KEY;
use store::attributes::{Item, from_item, to_item};

use crate::interrupt::say_at_interrupt;
use crate::output::note;
use crate::stack::Stack;
use crate::stack::variables::API_KEYS_TABLE;
use crate::write_attempts::WriteAttempts;
use operator::WRITE_TIMEOUT;
use operator::error::{call_error, store_error};
use operator::items::{get_item, scan_table, text};

/// What is known of the writes of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableChange {
    /// DynamoDB has written nothing.
    None,
    /// A write had no response: DynamoDB may have done it.
    Unknown,
    /// DynamoDB has acknowledged a write, or was read after it.
    Written,
}

/// A key in the table.
#[derive(Debug)]
pub(crate) struct StoredKey {
    hash: String,
    pub(crate) entry: KeyEntry,
}

pub(crate) struct KeyTable<'a> {
    pub(crate) stack: &'a Stack,
    table_name: &'a str,
    change: Cell<TableChange>,
    /// The id of the key that the command has added.
    added: RefCell<Option<String>>,
}

impl<'a> KeyTable<'a> {
    pub(crate) fn new(stack: &'a Stack) -> Result<Self> {
        Ok(Self {
            stack,
            table_name: stack.table_name(API_KEYS_TABLE)?,
            change: Cell::new(TableChange::None),
            added: RefCell::default(),
        })
    }

    pub(super) fn change(&self) -> TableChange {
        self.change.get()
    }

    /// The id of the key that the command has added, if it has added one.
    pub(super) fn added(&self) -> Option<String> {
        self.added.borrow().clone()
    }

    /// Records that an earlier run has written what the command was to write.
    pub(super) fn was_written_before(&self) {
        self.change.set(TableChange::Written);
    }

    /// Adds a key. Returns `false` if another key has this hash: an attempt of this call, whose response was
    /// lost, is told by the id in the item.
    ///
    /// # Errors
    /// DynamoDB refused the key, or it is unknown whether it is stored. The error says which.
    pub(super) async fn add(&self, hash: &KeyHash, entry: &KeyEntry) -> Result<bool> {
        let mut item = to_item(entry).map_err(|error| store_error(self.table_name, &error))?;
        item.insert(
            PARTITION_KEY.to_owned(),
            AttributeValue::S(hash.partition_key()),
        );
        let attempts = WriteAttempts::default();
        let put = self
            .stack
            .dynamodb
            .put_item()
            .table_name(self.table_name)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(keyHash)")
            .return_values_on_condition_check_failure(AllOld)
            .customize()
            .interceptor(attempts.clone())
            .send();
        let before = self.begin_write();
        let unknown = unknown_outcome(&entry.key_id);
        say_at_interrupt(unknown.as_str());
        // The attempts of a call may take longer together.
        let response = run_until(Deadline::after(WRITE_TIMEOUT), put).await;
        let error = match response {
            Ok(Ok(_)) => return Ok(self.has_added(entry)),
            Ok(Err(error)) => {
                if let Some(PutItemError::ConditionalCheckFailedException(refused)) =
                    error.as_service_error()
                {
                    let stored = refused.item.clone().and_then(StoredKey::from_item);
                    return Ok(self.is_own(entry, stored.as_ref(), before));
                }
                call_error(self.table_name, error)
            }
            Err(late) => store_error(self.table_name, &late.into()),
        };
        if !attempts.may_have_written() {
            self.undo_write(before);
            return Err(anyhow!("{error:#} Nothing was written."));
        }
        match self.find_by_hash(hash).await {
            Ok(Some(stored)) => Ok(self.is_own(entry, Some(&stored), before)),
            Ok(None) | Err(_) => Err(anyhow!("{error:#} {unknown}")),
        }
    }

    /// Whether the stored key is the one that the command adds: then an earlier attempt has added it.
    fn is_own(&self, entry: &KeyEntry, stored: Option<&StoredKey>, before: TableChange) -> bool {
        if stored.is_some_and(|stored| stored.entry.key_id == entry.key_id) {
            return self.has_added(entry);
        }
        self.undo_write(before);
        false
    }

    /// Records that a write is on its way: one that fails may have taken effect. Returns what was known before.
    fn begin_write(&self) -> TableChange {
        self.change.replace(TableChange::Unknown)
    }

    /// Records that DynamoDB has not done the write.
    fn undo_write(&self, before: TableChange) {
        self.change.set(before);
    }

    /// Records that the table has this key.
    fn has_added(&self, entry: &KeyEntry) -> bool {
        let id = &entry.key_id;
        say_at_interrupt(format!(
            "The key {id} is stored: `cargo intake keys revoke {id}` revokes it."
        ));
        self.change.set(TableChange::Written);
        self.added.replace(Some(entry.key_id.clone()));
        true
    }

    /// Reads the key with this hash, consistently.
    async fn find_by_hash(&self, hash: &KeyHash) -> Result<Option<StoredKey>> {
        let partition = AttributeValue::S(hash.partition_key());
        let key = Item::from([(PARTITION_KEY.to_owned(), partition)]);
        let item = get_item(&self.stack.dynamodb, self.table_name, key, note).await?;
        Ok(item.and_then(StoredKey::from_item))
    }

    /// All keys, the newest last. The table's key is the hash, so this scans it.
    pub(crate) async fn all(&self) -> Result<Vec<StoredKey>> {
        let mut keys = Vec::new();
        let consistent = |scan: ScanFluentBuilder| scan.consistent_read(true);
        scan_table(
            &self.stack.dynamodb,
            self.table_name,
            note,
            consistent,
            async |page| {
                for item in page.items.unwrap_or_default() {
                    match StoredKey::from_item(item) {
                        Some(key) => keys.push(key),
                        None => note(&format!(
                            "Skipped an item of {} that is not an API key.",
                            self.table_name
                        )),
                    }
                }
                Ok(())
            },
        )
        .await?;
        keys.sort_by(|a, b| {
            let by_time = a.entry.created_at.cmp(&b.entry.created_at);
            by_time.then_with(|| a.entry.key_id.cmp(&b.entry.key_id))
        });
        Ok(keys)
    }

    /// Revokes a key, unless it is already revoked. Returns `false` if the key has been deleted.
    pub(crate) async fn revoke(&self, key: &StoredKey, now: Timestamp) -> Result<bool> {
        // Without the condition, the update of a key that was just deleted would create a partial
        // entry.
        let condition = "attribute_exists(keyHash)";
        let set = "SET revokedAt = if_not_exists(revokedAt, :time)";
        let time = AttributeValue::S(now.to_string());
        self.update(key, condition, set, time).await
    }

    /// Sets the time at which a key expires. When the key is revoked or deleted or expires sooner,
    /// it writes nothing and returns `false`.
    pub(super) async fn expire(&self, key: &StoredKey, end: Timestamp) -> Result<bool> {
        // The key was read a while ago: another command may have revoked it since, or given it a
        // sooner end.
        let condition = "attribute_exists(keyHash) AND attribute_not_exists(revokedAt) AND \
            (attribute_not_exists(expiresAt) OR expiresAt >= :time)";
        let time = AttributeValue::N(end.seconds().to_string());
        self.update(key, condition, "SET expiresAt = :time", time)
            .await
    }

    /// Changes the entry of a key. Returns `false` if the entry does not meet the condition.
    async fn update(
        &self,
        key: &StoredKey,
        condition: &str,
        set: &str,
        time: AttributeValue,
    ) -> Result<bool> {
        let before = self.begin_write();
        let attempts = WriteAttempts::default();
        let updated = self
            .stack
            .dynamodb
            .update_item()
            .table_name(self.table_name)
            .key(PARTITION_KEY, AttributeValue::S(key.hash.clone()))
            .condition_expression(condition)
            .update_expression(set)
            .expression_attribute_values(":time", time)
            .customize()
            .interceptor(attempts.clone())
            .send()
            .await;
        let Err(error) = updated else {
            self.change.set(TableChange::Written);
            return Ok(true);
        };
        // Each condition also holds after an attempt of this call that took effect.
        let is_refused = matches!(
            error.as_service_error(),
            Some(UpdateItemError::ConditionalCheckFailedException(_))
        );
        if is_refused {
            self.undo_write(before);
            return Ok(false);
        }
        let error = call_error(self.table_name, error);
        if attempts.may_have_written() {
            return Err(anyhow!(
                "{error:#} It is unknown whether the key table has the change."
            ));
        }
        self.undo_write(before);
        Err(error)
    }

    /// Deletes the entry of a key of `cargo intake verify`. It requires no publication, because
    /// the key snapshot leaves such keys out.
    pub(super) async fn delete(&self, key: &StoredKey) -> Result<()> {
        self.stack
            .dynamodb
            .delete_item()
            .table_name(self.table_name)
            .key(PARTITION_KEY, AttributeValue::S(key.hash.clone()))
            .send()
            .await
            .map_err(|error| call_error(self.table_name, error))?;
        Ok(())
    }
}

impl StoredKey {
    pub(super) fn new(hash: KeyHash, entry: KeyEntry) -> Self {
        Self {
            hash: hash.partition_key(),
            entry,
        }
    }

    /// The hash of the key. `None` if the item has another partition key, so that it is no API key.
    pub(super) fn hash(&self) -> Option<KeyHash> {
        self.hash.parse().ok()
    }

    fn from_item(item: Item) -> Option<Self> {
        Some(Self {
            hash: text(&item, PARTITION_KEY)?.to_owned(),
            entry: from_item(item).ok()?,
        })
    }
}

/// What the operator hears of a key whose write has no response.
fn unknown_outcome(id: &str) -> String {
    format!(
        "It is unknown whether the key {id} is stored. If `cargo intake keys list` shows it, it is valid: \
         `cargo intake keys revoke {id}` revokes it."
    )
}

pub(crate) fn no_such_key(id: &str) -> String {
    format!("The key {id} does not exist. `cargo intake keys list` lists the keys.")
}
