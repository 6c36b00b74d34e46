//! The key snapshot: what the functions go by while the key table does not respond. A command that
//! changes a key writes it anew, whole, except `verify`, whose keys it leaves out.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, Error, Result, bail, ensure};
use aws::s3::S3Object;
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use model::timestamp::Timestamp;
use operator::error::without_advice;
use store::key_snapshot::{
    self, CONTENT_TYPE, KeySnapshot, MAX_OBJECT_BYTES, OBJECT_KEY, SnapshotKey,
};

use super::key_table::{KeyTable, StoredKey, TableChange, no_such_key};
use crate::bucket::{Bucket, ConditionalWrite, StoredObject, UnknownWrite};
use crate::check_result::CheckOutcome;
use crate::interrupt::say_at_interrupt;
use crate::output::note;
use crate::stack::{ATTEMPT_TIMEOUT, Stack};

/// How often the snapshot is read and written when other commands write it at the same time.
const ATTEMPTS: u32 = 20;

/// The longest pause before the next attempt.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// The bucket of the snapshot.
///
/// # Errors
/// It is unknown.
pub(super) fn find_bucket(stack: &Stack) -> Result<Bucket> {
    let name = stack.key_snapshot_bucket()?;
    Ok(Bucket::new(stack, name, ATTEMPT_TIMEOUT))
}

/// Writes the snapshot after a command that has changed a key.
pub(crate) async fn publish_change(key_table: &KeyTable<'_>) -> Result<()> {
    let bucket = find_bucket(key_table.stack)?;
    if key_table.change() == TableChange::Written {
        say_at_interrupt(
            "The key snapshot may be older than the key table: `cargo intake keys publish` writes it.",
        );
    }
    let written = write_snapshot(&bucket, key_table).await;
    if let Err(error) = written {
        let table = match key_table.change() {
            TableChange::Written => "The key table is written",
            TableChange::Unknown => "It is unknown whether the key table is written",
            TableChange::None => "The key table is unchanged",
        };
        let added = key_table.added().map_or_else(String::new, |id| {
            format!(" (`cargo intake keys revoke {id}` revokes the new key)")
        });
        let snapshot = if error.is::<UnknownWrite>() {
            "may not be written"
        } else {
            "is not written"
        };
        bail!(
            "{table}{added}, and the key snapshot {snapshot}: {}. While the key table does not respond, functions use the old \
             snapshot. Run `cargo intake keys publish`.",
            without_advice(&error)
        );
    }
    Ok(())
}

/// Reads the table and writes the snapshot. Returns how many keys it has. A revocation that only
/// the old snapshot has is written to the table first.
pub(super) async fn write_snapshot(bucket: &Bucket, key_table: &KeyTable<'_>) -> Result<usize> {
    replace(bucket, async |before| {
        let before = before.and_then(parse_or_note);
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

/// Reads the snapshot that is replaced. Tells the operator when it cannot be read.
fn parse_or_note(object: &S3Object) -> Option<KeySnapshot> {
    match KeySnapshot::parse(object) {
        Ok(snapshot) => Some(snapshot),
        Err(error) => {
            note(&format!(
                "The old key snapshot cannot be read, and is replaced: {error}. If a key was revoked in it alone, revoke \
                 the key again."
            ));
            None
        }
    }
}

/// An error of a command, with that of the publication that followed it: the operator hears both.
pub(crate) fn with_unpublished(error: Error, published: Result<()>) -> Error {
    match published {
        Ok(()) => error,
        Err(unpublished) => unpublished.context(error),
    }
}

/// Revokes a key in the snapshot alone, for the time in which the table does not respond.
///
/// # Errors
/// The snapshot does not have the revocation or, with [`UnknownWrite`] as the context, may not have it.
pub(super) async fn revoke(bucket: &Bucket, id: &str) -> Result<()> {
    replace(bucket, async |before| {
        let before = before.context("there is no key snapshot")?;
        let object = key_snapshot::revoke(before, id, Timestamp::now())?
            .with_context(|| format!("the key snapshot has no key {id}"))?;
        Ok(Replacement { object, result: () })
    })
    .await
}

/// The object of the snapshot, as it was read.
struct ReadSnapshot {
    object: S3Object,
    /// What [`Bucket::replace`] needs.
    response: GetObjectOutput,
}

/// Reads the object. Returns `None` if there is none.
///
/// # Errors
/// S3 does not respond or refuses the call, or the object is larger than a function reads.
async fn read_object(bucket: &Bucket) -> Result<Option<ReadSnapshot>> {
    // The command tells at once that the snapshot is not written, and can be run again.
    let Some(StoredObject { body, before }) = bucket.get(OBJECT_KEY, Duration::ZERO).await? else {
        return Ok(None);
    };
    ensure!(
        body.len() <= MAX_OBJECT_BYTES,
        "bucket {}: the key snapshot is too large",
        bucket.name
    );
    let last_modified = before
        .last_modified()
        .and_then(|time| u64::try_from(time.secs()).ok())
        .with_context(|| format!("bucket {}: the key snapshot has no time", bucket.name))?;
    let object = S3Object {
        body,
        last_modified: Timestamp::from_millis(last_modified.saturating_mul(1_000)),
    };
    Ok(Some(ReadSnapshot {
        object,
        response: before,
    }))
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
        // The object is read before the table, so that what is written is never older than what it
        // replaces.
        let before = read_object(bucket).await?;
        let read = before.as_ref().map(|before| &before.object);
        let Replacement { object, result } = make(read).await?;
        let written = match before {
            Some(before) => {
                let tags = None;
                bucket
                    .replace(OBJECT_KEY, &before.response, object, tags)
                    .await?
            }
            None => bucket.create(OBJECT_KEY, CONTENT_TYPE, object).await?,
        };
        match written {
            ConditionalWrite::Written => return Ok(result),
            ConditionalWrite::Changed => {
                let pause = MAX_PAUSE.mul_f64(fastrand::f64());
                tokio::time::sleep(pause).await;
            }
        }
    }
    bail!("other commands write it at the same time")
}

/// What a snapshot has of these keys.
fn snapshot_keys(keys: &[StoredKey], now: Timestamp) -> Vec<SnapshotKey> {
    keys.iter()
        .filter_map(|key| SnapshotKey::new(key.hash()?, &key.entry, now))
        .collect()
}

/// Reads the snapshot. Returns `None` if there is none.
pub(super) async fn read(stack: &Stack) -> Result<Option<KeySnapshot>> {
    let bucket = find_bucket(stack)?;
    let object = read_object(&bucket).await?;
    let read = object.map(|read| KeySnapshot::parse(&read.object));
    Ok(read.transpose()?)
}

/// Compares the snapshot with the table, as functions would read it. They cannot tell a missing
/// snapshot from one that they may not read: only here is it seen.
pub(crate) async fn compare(stack: &Stack) -> Result<CheckOutcome> {
    let bucket = find_bucket(stack)?;
    let differs = |fault: &str| {
        Ok(CheckOutcome::failed(format!(
            "{fault}: run `cargo intake keys publish`"
        )))
    };
    let Some(object) = read_object(&bucket).await? else {
        return differs("there is none");
    };
    let snapshot = match KeySnapshot::parse(&object.object) {
        Ok(snapshot) => snapshot,
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
