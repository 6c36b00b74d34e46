//! The API keys of a run: in the key table and in the key snapshot. Some are revoked on the way.

use std::cell::RefCell;
use std::time::Duration;

use consistency::generated::account_id;
use model::api_key::{KEY_PREFIX, KeyHash};
use model::key_entry::KeyEntry;
use serde_json::{Value, json};
use store::key_snapshot::{self, OBJECT_KEY, SnapshotKey};

use crate::aws::Aws;
use crate::aws::dynamodb::{API_KEYS, Item};

/// Accounts of a run. Clients of one account share its customers.
pub const ACCOUNTS: u32 = 3;

/// Keys of each account. The last of them is revoked in some runs.
const KEYS_PER_ACCOUNT: u32 = 2;

/// How long a revocation may take when the key table always responds at once, and when it does not and
/// S3 does (docs/outages.md, The key snapshot).
const REVOKED_WITHIN: Duration = Duration::from_mins(1);
const REVOKED_WITHOUT_TABLE_WITHIN: Duration = Duration::from_mins(2);

/// How long clients go on to use a key that was revoked.
const USED_AFTER: Duration = Duration::from_mins(3);

/// All keys of a run.
pub struct Keys {
    keys: RefCell<Vec<Key>>,
}

struct Key {
    account: u32,
    secret: String,
    entry: KeyEntry,
    revoked_at: Option<Duration>,
}

/// A key that a client uses now.
pub struct UsedKey {
    pub secret: String,
    pub revoked_at: Option<Duration>,
}

impl Keys {
    /// Creates the keys, and publishes them.
    pub fn create(aws: &Aws, random: &mut fastrand::Rng) -> Self {
        let mut keys = Vec::new();
        for number in 0..ACCOUNTS * KEYS_PER_ACCOUNT {
            let account = number % ACCOUNTS;
            let entry = KeyEntry {
                key_id: format!("key_{number}"),
                account_id: account_id(account)
                    .parse()
                    .expect("an account has a valid name"),
                name: "simulated".to_owned(),
                created_at: aws.now(),
                expires_at: None,
                revoked_at: None,
                only: None,
            };
            keys.push(Key {
                account,
                secret: format!("{KEY_PREFIX}{:032x}", random.u128(..)),
                entry,
                revoked_at: None,
            });
        }
        let keys = Self {
            keys: RefCell::new(keys),
        };
        keys.publish(aws);
        keys
    }

    /// The key that a client uses at this time.
    pub fn key_of(&self, account: u32, client: u64, now: Duration) -> UsedKey {
        let keys = self.keys.borrow();
        let of_account: Vec<_> = keys.iter().filter(|key| key.account == account).collect();
        let first = usize::try_from(client).unwrap_or_default() / ACCOUNTS as usize;
        let in_turn = (first..)
            .take(of_account.len())
            .map(|turn| of_account[turn % of_account.len()]);
        let is_used = |key: &&Key| key.revoked_at.is_none_or(|at| now < at + USED_AFTER);
        let key = in_turn
            .into_iter()
            .find(is_used)
            .expect("one key of each account stays valid");
        UsedKey {
            secret: key.secret.clone(),
            revoked_at: key.revoked_at,
        }
    }

    /// Whether a request that was sent at this time, and is answered now, must be refused.
    pub fn must_refuse(used: &UsedKey, sent: Duration, aws: &Aws) -> bool {
        let within = if aws.state().key_table_has_failed {
            REVOKED_WITHOUT_TABLE_WITHIN
        } else {
            REVOKED_WITHIN
        };
        used.revoked_at.is_some_and(|at| sent >= at + within)
    }

    /// Whether a key was revoked.
    pub fn is_revoked(&self, secret: &str) -> bool {
        let keys = self.keys.borrow();
        let mut revoked = keys.iter().filter(|key| key.revoked_at.is_some());
        revoked.any(|key| key.secret == secret)
    }

    /// Revokes the last key of each account, in the table and in the snapshot.
    pub fn revoke_some(&self, aws: &Aws) {
        let last = ((KEYS_PER_ACCOUNT - 1) * ACCOUNTS) as usize;
        for key in self.keys.borrow_mut().iter_mut().skip(last) {
            key.revoked_at = Some(aws.elapsed());
            key.entry.revoked_at = Some(aws.now());
            aws.note("operator", || format!("revokes {};", key.entry.key_id));
        }
        self.publish(aws);
    }

    /// Writes all keys to the table and to the snapshot, past the faults.
    fn publish(&self, aws: &Aws) {
        let now = aws.now();
        let mut snapshot = Vec::new();
        for key in self.keys.borrow().iter() {
            let hash = KeyHash::from_key(&key.secret);
            store(aws, hash, &key.entry);
            snapshot.extend(SnapshotKey::new(hash, &key.entry, now));
        }
        let object = key_snapshot::write(&snapshot, now).expect("there are few keys");
        aws.state().objects.put(OBJECT_KEY, object, now);
    }
}

/// Writes a key to the table, past the faults.
pub fn store(aws: &Aws, hash: KeyHash, entry: &KeyEntry) {
    let body = json!({"TableName": API_KEYS, "Item": item(hash, entry)});
    let response = aws.state().tables.call("PutItem", &body, &mut |_| {});
    assert_eq!(
        response.status, 200,
        "a key is not stored: {:?}",
        response.body
    );
}

/// The item of a key, as docs/data-model.md has it.
fn item(hash: KeyHash, entry: &KeyEntry) -> Item {
    let entry = serde_json::to_value(entry).expect("an entry is JSON");
    let members = entry.as_object().into_iter().flatten();
    let mut item: Item = members
        .map(|(name, value)| {
            let attribute = match value {
                Value::Number(number) => json!({"N": number.to_string()}),
                text => json!({"S": text}),
            };
            (name.clone(), attribute)
        })
        .collect();
    item.insert("keyHash".to_owned(), json!({"S": hash.partition_key()}));
    item
}
