//! The key snapshot: what the functions go by while the key table does not answer. A command that
//! changes a key writes it anew, whole, except `verify`, whose keys it leaves out.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use aws::cause::Cause;
use aws::deadline::Deadline;
use aws::s3::{Bucket, ENDPOINT_VARIABLE, S3Connection, S3Error, S3Object, WritePrecondition};
use aws::sdk_config::http_connector;
use aws::variables::Variables;
use model::timestamp::Timestamp;
use store::key_snapshot::{
    self, CONTENT_TYPE, KeySnapshot, KeySnapshotError, MAX_OBJECT_BYTES, OBJECT_KEY, SnapshotKey,
};

use super::key_table::{KeyTable, StoredKey, no_such_key};
use crate::check_result::CheckOutcome;
use crate::http::CONNECT_TIMEOUT;
use crate::output::note;
use crate::service_address::service_address;
use crate::stack::Stack;
use crate::stack::variable_names::KEY_SNAPSHOT_BUCKET;

/// How long a request to S3 may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How often the snapshot is read and written when other commands write it at the same time.
const ATTEMPTS: u32 = 20;

/// The longest pause before the next attempt.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// Whether the stack has a bucket for the snapshot.
pub(crate) fn has_bucket(stack: &Stack) -> bool {
    bucket_name(stack).is_some()
}

fn bucket_name(stack: &Stack) -> Option<&str> {
    if stack.is_local {
        return None;
    }
    stack.optional(KEY_SNAPSHOT_BUCKET)
}

/// The bucket of the snapshot, if the stack has one.
pub(super) async fn bucket(stack: &Stack) -> Result<Option<Bucket>> {
    let Some(name) = bucket_name(stack) else {
        return Ok(None);
    };
    let region = stack.config.region().context("No AWS region")?.to_string();
    let endpoint = service_address("s3", ENDPOINT_VARIABLE, &region).await?;
    let credentials = stack
        .config
        .credentials_provider()
        .context("No AWS credentials")?;
    let connection = S3Connection {
        endpoint,
        region,
        credentials,
        connector: http_connector(&Variables::from_process(), CONNECT_TIMEOUT)?,
    };
    Ok(Some(Bucket::new(name, connection)))
}

/// Writes the snapshot, where there is one, after a command that has changed a key.
pub(crate) async fn publish_change(key_table: &KeyTable<'_>) -> Result<()> {
    let Some(bucket) = bucket(key_table.stack).await? else {
        return Ok(());
    };
    let written = write_snapshot(&bucket, key_table).await;
    if let Err(error) = written {
        bail!(
            "The key table is written, and the key snapshot is not: {error:#}. While the key table does not answer, functions \
             go by the old snapshot: run `cargo intake keys publish`."
        );
    }
    Ok(())
}

/// Reads the table and writes the snapshot. Returns how many keys it has. A revocation that only
/// the old snapshot has is written to the table first.
pub(super) async fn write_snapshot(bucket: &Bucket, key_table: &KeyTable<'_>) -> Result<usize> {
    replace(bucket, async |before| {
        let before = before.and_then(|object| KeySnapshot::parse(object).ok());
        let revoked_at = |key: &StoredKey| before.as_ref()?.find(key.hash()?)?.revoked_at;
        let now = Timestamp::now();
        // Functions ignore a snapshot that is older than the one that they have. The clock of this
        // machine may be behind that of the operator who wrote the last one.
        let written_at = before.as_ref().map_or(now, |before| before.time.max(now));
        let mut all = key_table.all().await?;
        for key in all.iter_mut().filter(|key| key.entry.revoked_at.is_none()) {
            let Some(time) = revoked_at(key) else {
                continue;
            };
            let exists = key_table.revoke(key, time).await?;
            ensure!(exists, no_such_key(&key.entry.key_id));
            key.entry.revoked_at = Some(time);
            note(&format!(
                "Revoked {} in the key table: only the key snapshot had it.",
                key.entry.key_id
            ));
        }
        let all = snapshot_keys(&all, now);
        Ok(Replacement {
            object: key_snapshot::write(&all, written_at)?,
            result: all.len(),
        })
    })
    .await
}

/// Revokes a key in the snapshot alone, for the time in which the table does not answer.
pub(super) async fn revoke(bucket: &Bucket, id: &str) -> Result<()> {
    replace(bucket, async |before| {
        let before = before.context("there is no key snapshot")?;
        let object = key_snapshot::revoke(before, id, Timestamp::now())?
            .with_context(|| format!("the key snapshot has no key {id}"))?;
        Ok(Replacement { object, result: () })
    })
    .await
}

/// An object that replaces the snapshot.
struct Replacement<T> {
    object: Vec<u8>,
    /// What the caller wants to know once the object is written.
    result: T,
}

/// Replaces the object by what `make` makes of it, until no other command has written it in
/// between.
async fn replace<T>(
    bucket: &Bucket,
    make: impl AsyncFn(Option<&S3Object>) -> Result<Replacement<T>>,
) -> Result<T> {
    for _ in 0..ATTEMPTS {
        let deadline = || Deadline::after(TIMEOUT);
        // The object is read before the table, so that what is written is never older than what it
        // replaces.
        let before = match bucket.get(OBJECT_KEY, MAX_OBJECT_BYTES, deadline()).await {
            Ok(object) => Some(object),
            Err(S3Error::Missing) => None,
            Err(error) => return Err(explain(bucket, &error)),
        };
        let Replacement { object, result } = make(before.as_ref()).await?;
        let replaces = before
            .as_ref()
            .map_or(WritePrecondition::ObjectIsMissing, |object| {
                WritePrecondition::ObjectIsVersion(&object.etag)
            });
        let written = bucket
            .put(OBJECT_KEY, object, CONTENT_TYPE, replaces, deadline())
            .await;
        match written {
            Ok(()) => return Ok(result),
            Err(S3Error::Changed) => {
                let pause = MAX_PAUSE.mul_f64(fastrand::f64());
                tokio::time::sleep(pause).await;
            }
            Err(error) => return Err(explain(bucket, &error)),
        }
    }
    bail!("other commands keep writing it")
}

/// What a snapshot has of these keys.
fn snapshot_keys(keys: &[StoredKey], now: Timestamp) -> Vec<SnapshotKey> {
    keys.iter()
        .filter_map(|key| SnapshotKey::new(key.hash()?, &key.entry, now))
        .collect()
}

/// Reads the snapshot. Returns `None` in a stack that has none.
pub(super) async fn read(stack: &Stack) -> Result<Option<KeySnapshot>> {
    let Some(bucket) = bucket(stack).await? else {
        return Ok(None);
    };
    match get(&bucket).await {
        Ok(snapshot) => Ok(Some(snapshot)),
        Err(KeySnapshotError::S3(S3Error::Missing)) => Ok(None),
        Err(KeySnapshotError::S3(error)) => Err(explain(&bucket, &error)),
        Err(error) => Err(error.into()),
    }
}

async fn get(bucket: &Bucket) -> Result<KeySnapshot, KeySnapshotError> {
    let object = bucket
        .get(OBJECT_KEY, MAX_OBJECT_BYTES, Deadline::after(TIMEOUT))
        .await?;
    KeySnapshot::parse(&object)
}

/// Compares the snapshot with the table, as functions would read it. They cannot tell a missing
/// snapshot from one that they may not read: only here is it seen.
pub(crate) async fn compare(stack: &Stack) -> Result<CheckOutcome> {
    let Some(bucket) = bucket(stack).await? else {
        return Ok(CheckOutcome::skipped("this stack has no bucket for one"));
    };
    let differs = |fault: &str| {
        Ok(CheckOutcome::failed(format!(
            "{fault}: run `cargo intake keys publish`"
        )))
    };
    let snapshot = match get(&bucket).await {
        Ok(snapshot) => snapshot,
        Err(KeySnapshotError::S3(S3Error::Missing)) => return differs("there is none"),
        Err(KeySnapshotError::S3(error)) => return Err(explain(&bucket, &error)),
        Err(error) => return differs(&error.to_string()),
    };
    let now = Timestamp::now();
    let keys = KeyTable::new(stack)?.all().await?;
    let stored = snapshot_keys(&keys, now);
    // Whole keys are compared: a key that changed is in both, and differs.
    let table: HashSet<_> = stored.iter().collect();
    let snapshot: HashSet<_> = snapshot.keys_at(now).collect();
    let differing: HashSet<_> = table
        .symmetric_difference(&snapshot)
        .map(|key| key.id())
        .collect();
    match differing.len() {
        0 => Ok(CheckOutcome::held(format!(
            "{} key(s), as in the table",
            table.len()
        ))),
        count => differs(&format!("{count} key(s) differ from the table")),
    }
}

fn explain(bucket: &Bucket, error: &S3Error) -> Error {
    let advice = match error {
        S3Error::Refused { status: 403, .. } => {
            ": these credentials do not permit this. Use those of an operator"
        }
        S3Error::Missing => ": it does not exist",
        S3Error::Unavailable(Cause::ClockSkew) => {
            ": the clock of this machine differs from that of AWS by minutes. Correct it"
        }
        S3Error::Unavailable(Cause::InvalidCredentials) => {
            ": AWS rejected the credentials. Sign in again"
        }
        S3Error::Unavailable(_) => ": cannot reach S3, or it failed. Run the command again",
        S3Error::Changed | S3Error::Refused { .. } | S3Error::TooLarge | S3Error::RequestError => {
            ""
        }
    };
    anyhow!("bucket {}{advice} ({error})", bucket.name())
}
