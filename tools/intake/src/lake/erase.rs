//! `lake erase`: removes events from the objects of the lake, as the erasures of the tables remove items.
//!
//! Each object is replaced on the condition that it is still the one that was read: otherwise, of two
//! erasures at once, each could restore what the other has removed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use clap::{Args, Subcommand};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::timestamp::Timestamp;
use operator::NOTE_INTERVAL;
use operator::read_retries::RETRY_TIMEOUT;
use serde_json::{Map, Value, json};

use super::selection::{Remaining, SelectedEvents, Selection};
use super::{EVENTS, LakeArgs};
use crate::bucket::{Bucket, ConditionalWrite, RefusedObject, StoredObject, UnknownWrite};
use crate::confirm::{confirm, confirm_by_name};
use crate::erasure::until_erased;
use crate::keys::ensure_account_has_key;
use crate::output::{Format, note};
use crate::signals_of_type::SignalsOfType;
use crate::stack::Stack;
use crate::subject_id::subject_id;

/// How many objects are read at once.
const CONCURRENT_OBJECTS: usize = 8;

/// How often an object is read and written when others write it at the same time.
const ATTEMPTS: u32 = 20;

/// The longest pause before the next attempt.
const MAX_PAUSE: Duration = Duration::from_millis(500);

const AFTER_AN_HOUR: &str = "Run it an hour after the erasure in the tables, so that the streams and Firehose have delivered \
     everything. After an interruption, run it again: it erases what is left.";

#[derive(Debug, Subcommand)]
pub(crate) enum EraseLakeCommand {
    /// Erase the events of customers and emitters: signals, and changes of the profile
    #[command(
        after_help = format!("Examples:\n  cargo intake --stack intake-prod lake erase customer --account shop --id=customer-17 --dry-run\n  \
        cargo intake --stack intake-prod lake erase customer --account shop --id=customer-17 --id=customer-18\n  \
        cargo intake --stack intake-prod lake erase customer --account shop -- --all   # the customer with the id --all\n\n{AFTER_AN_HOUR}")
    )]
    Customer(EraseCustomerEvents),

    /// Erase the signals of one type that an account sent in a period
    #[command(
        after_help = format!("Example:\n  cargo intake --stack intake-prod lake erase signals --account shop --type card_entered --since 2026-11-20 \
        --until 2026-11-22\n\n{AFTER_AN_HOUR}")
    )]
    Signals(EraseSignalEvents),

    /// Erase all events of an account
    #[command(
        after_help = format!("Example:\n  cargo intake --stack intake-prod lake erase account shop\n\n{AFTER_AN_HOUR}")
    )]
    Account(EraseAccountEvents),
}

#[derive(Args, Debug)]
pub(crate) struct EraseCustomerEvents {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The customerId or the emitterId, as the client sent it; more than one are erased in one pass
    #[arg(
        long = "id",
        value_name = "ID",
        require_equals = true,
        value_parser = subject_id,
        required_unless_present = "ids"
    )]
    named_ids: Vec<String>,

    /// The same, after --
    #[arg(value_name = "ID", last = true, value_parser = subject_id)]
    ids: Vec<String>,

    #[command(flatten)]
    erasure: LakeErasureArgs,
}

#[derive(Args, Debug)]
pub(crate) struct EraseSignalEvents {
    #[command(flatten)]
    signals: SignalsOfType,

    #[command(flatten)]
    erasure: LakeErasureArgs,
}

#[derive(Args, Debug)]
pub(crate) struct EraseAccountEvents {
    /// The account
    #[arg(value_name = "ACCOUNT")]
    account: AccountId,

    #[command(flatten)]
    erasure: LakeErasureArgs,
}

#[derive(Args, Debug)]
struct LakeErasureArgs {
    #[command(flatten)]
    lake: LakeArgs,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Only count what would be erased
    #[arg(long)]
    dry_run: bool,
}

impl EraseLakeCommand {
    pub(super) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::Customer(EraseCustomerEvents {
                account,
                named_ids,
                ids,
                erasure,
            }) => {
                let ids = [named_ids, ids].concat();
                let events = SelectedEvents::Subjects(ids);
                let ask = |question: &str| confirm(question, erasure.yes);
                erasure
                    .run(stack, Selection { account, events }, ask, format)
                    .await
            }
            Self::Signals(EraseSignalEvents { signals, erasure }) => {
                signals.ensure_period()?;
                let SignalsOfType {
                    account,
                    signal_type,
                    since,
                    until,
                } = signals;
                let ask = |question: &str| confirm_by_name(question, &signal_type, erasure.yes);
                let events = SelectedEvents::Type {
                    signal_type: signal_type.clone(),
                    since,
                    until,
                };
                erasure
                    .run(stack, Selection { account, events }, ask, format)
                    .await
            }
            Self::Account(EraseAccountEvents { account, erasure }) => {
                let name = account.to_string();
                let ask = |question: &str| confirm_by_name(question, &name, erasure.yes);
                let events = SelectedEvents::All;
                erasure
                    .run(stack, Selection { account, events }, ask, format)
                    .await
            }
        }
    }
}

/// What was removed from the lake so far.
#[derive(Debug, Default)]
struct LakeCounts {
    events: usize,
    objects: usize,
    /// Lines that cannot be read, and objects that cannot be read or written.
    left: usize,
}

impl LakeErasureArgs {
    async fn run(
        &self,
        stack: &Stack,
        selection: Selection,
        confirm: impl FnOnce(&str) -> Result<()>,
        format: Format,
    ) -> Result<()> {
        let bucket = self.lake.find(stack).await?;
        let lake = &bucket.name;
        let target = selection.target();
        if !self.dry_run {
            confirm(&format!(
                "Erase {target} in the lake {lake}? This cannot be undone."
            ))?;
        }
        let selection = Arc::new(selection);
        let erased = until_erased(self.remove_all(&bucket, &selection)).await?;
        let LakeCounts {
            events,
            objects,
            left,
        } = erased;
        if events == 0 && left == 0 {
            let account = &selection.account;
            ensure_account_has_key(stack, account, "the lake has no such event of it").await?;
        }
        let counts = format!("{events} event(s) in {objects} object(s)");
        let mut json = selection.json();
        json.extend([
            ("bucket".to_owned(), json!(lake)),
            ("events".to_owned(), json!(events)),
            ("objects".to_owned(), json!(objects)),
        ]);
        let text = if self.dry_run {
            format!("Would erase {target} in the lake {lake}: {counts}.")
        } else {
            let erased_at = Timestamp::now();
            json.insert("erasedAt".to_owned(), json!(erased_at));
            format!("Erased {target} in the lake {lake}, at {erased_at}: {counts}.")
        };
        // A reader that closes standard output does not change the exit code.
        let printed = format.print(&text, &json);
        ensure!(
            left == 0,
            "{left} line(s) or object(s) of the lake cannot be read or written, and were not erased. Their objects are named \
             above."
        );
        printed
    }

    async fn remove_all(&self, bucket: &Bucket, selection: &Arc<Selection>) -> Result<LakeCounts> {
        let keys = bucket.keys(EVENTS).await?;
        let all = keys.len();
        note(&format!("Reading the {all} object(s) of the lake ..."));
        let work = keys
            .iter()
            .map(|key| self.remove_from_object(bucket, selection, key));
        let mut removals = stream::iter(work).buffer_unordered(CONCURRENT_OBJECTS);
        let mut counts = LakeCounts::default();
        let mut read = 0_usize;
        let mut noted_at = Instant::now();
        while let Some(removal) = removals.try_next().await? {
            read += 1;
            counts.events += removal.removed;
            counts.objects += usize::from(removal.removed > 0);
            counts.left += removal.left;
            if noted_at.elapsed() >= NOTE_INTERVAL {
                let events = counts.events;
                note(&format!(
                    "{read} of {all} objects read, {events} event(s) found."
                ));
                noted_at = Instant::now();
            }
        }
        Ok(counts)
    }

    /// Removes the events from one object, if it has any. An object that cannot be read or written is told, and
    /// stays.
    ///
    /// # Errors
    /// Other objects cannot be read or written either, such as without credentials.
    async fn remove_from_object(
        &self,
        bucket: &Bucket,
        selection: &Arc<Selection>,
        key: &str,
    ) -> Result<Removal> {
        let removal = self.try_to_remove(bucket, selection, key).await;
        removal.or_else(|error| match error.downcast_ref::<RefusedObject>() {
            // An attempt before the refused one may have written the object.
            Some(refused) if !error.is::<UnknownWrite>() => {
                note(&format!("{key} stays: {}", refused.reason));
                Ok(Removal::NONE_OF_OBJECT)
            }
            _ => Err(error),
        })
    }

    async fn try_to_remove(
        &self,
        bucket: &Bucket,
        selection: &Arc<Selection>,
        key: &str,
    ) -> Result<Removal> {
        // An attempt whose response was lost has removed them.
        let mut removed_before = 0;
        for attempt in 1..=ATTEMPTS {
            let Some(StoredObject { body, before }) = bucket.get(key, RETRY_TIMEOUT).await? else {
                return Ok(Removal::default());
            };
            let selection = Arc::clone(selection);
            let work = tokio::task::spawn_blocking(move || selection.remove_from(&body));
            let Remaining {
                body,
                removed,
                unreadable,
            } = match work.await.context("An object was not processed")? {
                Ok(remaining) => remaining,
                Err(error) => {
                    note(&format!("{key} cannot be read as gzip: {error}."));
                    return Ok(Removal::NONE_OF_OBJECT);
                }
            };
            let is_done = removed == 0
                || self.dry_run
                || replace(bucket, key, &before, body).await? == ConditionalWrite::Written;
            if is_done {
                if unreadable > 0 {
                    note(&format!("{key}: {unreadable} line(s) cannot be read."));
                }
                return Ok(Removal {
                    removed: removed.max(removed_before),
                    left: unreadable,
                });
            }
            removed_before = removed;
            let pause = MAX_PAUSE.mul_f64(fastrand::f64()) * attempt / ATTEMPTS;
            tokio::time::sleep(pause).await;
        }
        note(&format!(
            "{key} was not changed: other programs change it all the time."
        ));
        Ok(Removal::NONE_OF_OBJECT)
    }
}

/// Replaces an object, with its tags if S3 counts some. Tags that these credentials cannot read or write are
/// told, and are lost: the events must not stay because of them.
async fn replace(
    bucket: &Bucket,
    key: &str,
    before: &GetObjectOutput,
    body: Vec<u8>,
) -> Result<ConditionalWrite> {
    if before.tag_count().unwrap_or_default() == 0 {
        return bucket.replace(key, before, body, None).await;
    }
    let with_tags = match bucket.tags(key).await {
        Ok(tags) => bucket.replace(key, before, body.clone(), Some(tags)).await,
        Err(error) => Err(error),
    };
    let error = match with_tags {
        Err(error) if error.is::<RefusedObject>() => error,
        written => return written,
    };
    let written = bucket.replace(key, before, body, None).await?;
    if written == ConditionalWrite::Written {
        note(&format!("{key} has lost its tags: {error:#}"));
    }
    Ok(written)
}

/// What was removed from one object.
#[derive(Debug, Default)]
struct Removal {
    removed: usize,
    /// How many lines cannot be read, or 1 for an object that cannot be read or written.
    left: usize,
}

impl Removal {
    /// Nothing, because the object cannot be read or written.
    const NONE_OF_OBJECT: Self = Self {
        removed: 0,
        left: 1,
    };
}

impl Selection {
    /// What is removed, in words.
    fn target(&self) -> String {
        let account = &self.account;
        match &self.events {
            SelectedEvents::All => format!("all events of the account {account}"),
            SelectedEvents::Subjects(ids) => {
                let ids: Vec<String> = ids.iter().map(|id| format!("{id:?}")).collect();
                let ids = ids.join(", ");
                format!("the events of {ids} in the account {account}")
            }
            SelectedEvents::Type {
                signal_type,
                since,
                until,
            } => format!(
                "the signals that the account {account} sent of the type {signal_type:?}, from {since} and before {until},"
            ),
        }
    }

    fn json(&self) -> Map<String, Value> {
        let mut json = Map::from_iter([("accountId".to_owned(), json!(self.account))]);
        match &self.events {
            SelectedEvents::All => {}
            SelectedEvents::Subjects(ids) => {
                json.insert("ids".to_owned(), json!(ids));
            }
            SelectedEvents::Type {
                signal_type,
                since,
                until,
            } => {
                json.insert("type".to_owned(), json!(signal_type));
                json.insert("since".to_owned(), json!(since));
                json.insert("until".to_owned(), json!(until));
            }
        }
        json
    }
}
