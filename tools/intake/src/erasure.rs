//! What `customers erase`, `signals erase` and `accounts erase` have in common: the order of their
//! steps, and which items are in their scope. Must not know how a command is written on the command line.
//!
//! 1. The messages of the overflow queue and its dead-letter queue are counted: what is in them would
//!    be stored after the erasure, so the command ends unless there are none.
//! 2. What is stored is counted, and doubtful rejected signals are listed. A dry run ends here.
//! 3. The operator confirms. `accounts erase` then revokes the keys.
//! 4. The command waits until the requests have ended that functions received before.
//! 5. The messages are counted until there are none, because such a request may have been deferred, and SQS
//!    may count it late (`queued`). If there are some for too long, the command ends, and nothing is deleted.
//! 6. What is stored by then is deleted.
//! 7. The command prints a line for the operator's record of erasures: a restore of a table brings back
//!    what was erased before.
//!
//! An erasure keeps no record of its progress: what is deleted is not found again, so a second run
//! deletes what is left.

mod queued;
mod scope;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;
use operator::rejected::{RejectedSignalId, refuse_ambiguous};
use serde_json::{Map, Value, json};
use store::retry::MAX_REQUEST_DURATION;

use self::queued::QueueCheck;
use self::scope::ErasureCounts;
pub(crate) use self::scope::ErasureScope;
use crate::confirm::ask_for_line;
use crate::interrupt::until_interrupted;
use crate::keys::ensure_account_has_key;
use crate::output::{Format, note};
use crate::stack::Stack;

/// The options of every erasure.
#[derive(Args, Debug)]
pub(crate) struct ErasureArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,

    /// Only count what would be erased
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Erase although messages are in the overflow queue or in its dead-letter queue
    #[arg(long)]
    pub(crate) anyway: bool,
}

/// The option of an erasure and an export that search payloads.
#[derive(Args, Debug)]
pub(crate) struct DoubtfulArgs {
    /// Include this rejected signal, which the command has listed: its payload does not say for certain
    /// whose it is
    #[arg(long = "rejected", value_name = "ID")]
    pub(crate) ids: Vec<String>,
}

/// An erasure of what the tables of a stack have.
pub(crate) struct Erasure<'a> {
    stack: &'a Stack,
    account: &'a AccountId,
    scope: ErasureScope<'a>,
    options: &'a ErasureArgs,
    /// The doubtful rejected signals that the operator has named on the command line, in either form of
    /// their ids.
    names: Vec<String>,
}

/// What an erasure found, or what it erased.
#[derive(Debug)]
pub(crate) struct ErasureResult {
    pub(crate) counts: ErasureCounts,
    /// How many messages were queued before the deletion: only with `--anyway` there may be any.
    pub(crate) queued: u64,
    /// The doubtful rejected signals that stay.
    pub(crate) doubtful: Vec<RejectedSignalId>,
    /// The doubtful rejected signals that the operator has named, and that were found.
    chosen: Vec<RejectedSignalId>,
    /// How many items of rejected signals could not be read, and may belong to what is erased.
    unreadable: usize,
}

/// What an erasure waits for before it deletes.
pub(crate) struct Wait {
    pub(crate) until: Timestamp,
    /// What may be stored until then, as a sentence for the operator.
    pub(crate) reason: String,
}

impl Wait {
    /// Waits for requests that a function received before this time.
    pub(crate) fn for_requests_before(time: Timestamp, time_in_words: &str) -> Self {
        Self {
            until: time.plus(MAX_REQUEST_DURATION),
            reason: format!(
                "a request that a function received before{time_in_words} may store something until then."
            ),
        }
    }
}

impl<'a> Erasure<'a> {
    pub(crate) fn new(
        stack: &'a Stack,
        account: &'a AccountId,
        scope: ErasureScope<'a>,
        options: &'a ErasureArgs,
        names: &[String],
    ) -> Self {
        Self {
            stack,
            account,
            scope,
            options,
            names: names.to_vec(),
        }
    }

    /// Does all steps, for an erasure that has nothing else to do between them. `confirm` asks the
    /// question; after it, `wait` says what to wait for.
    pub(crate) async fn run(
        self,
        confirm: impl FnOnce(&str) -> Result<()>,
        wait: impl FnOnce() -> Wait,
        format: Format,
    ) -> Result<()> {
        let mut found = self.look().await?;
        if self.options.dry_run {
            return self.print_found(&found, format);
        }
        let asked_about = self.ask_for_doubtful(&mut found)?;
        confirm(&self.question(&found, ""))?;
        let erased = until_erased(self.wait_and_delete(wait(), &found.chosen)).await?;
        self.print_erased(&erased, &asked_about, format, "", Map::new())
    }

    /// Counts the messages of the queues and what is stored, and lists the doubtful rejected signals: the
    /// first two steps.
    ///
    /// # Errors
    /// Messages are queued, nothing was found of an account without a key, the operator has named a rejected
    /// signal that was not found or by a name that fits several, or a call failed.
    pub(crate) async fn look(&self) -> Result<ErasureResult> {
        if !self.options.dry_run {
            let queues = QueueCheck::find(self.stack, self.options.anyway)?;
            queues.refuse_if_any().await?;
        }
        note(&format!("Counting {} ...", self.target()));
        let found = self.count().await?;
        if found.counts.is_zero() {
            if found.doubtful.is_empty() && !matches!(self.scope, ErasureScope::Account) {
                ensure_account_has_key(self.stack, self.account, "nothing of it was found").await?;
            }
            note(&format!("Found nothing: {}.", self.target()));
        }
        list_doubtful(&found.doubtful);
        Ok(found)
    }

    /// The question before the erasure, with what else the command does, as the end of its sentence.
    pub(crate) fn question(&self, found: &ErasureResult, more: &str) -> String {
        let counts = &found.counts;
        let target = self.target();
        format!("Erase {counts}: {target}{more}? This cannot be undone.")
    }

    /// At a terminal, asks the operator which of the doubtful rejected signals are to be erased, too, and moves these
    /// to the chosen ones. Returns all that the operator was asked about.
    fn ask_for_doubtful(&self, found: &mut ErasureResult) -> Result<Vec<RejectedSignalId>> {
        if found.doubtful.is_empty() || !self.names.is_empty() {
            return Ok(Vec::new());
        }
        let question = "Type the ids of those to erase, too, or nothing to leave them:";
        let Some(answer) = ask_for_line(question, self.options.yes)? else {
            return Ok(Vec::new());
        };
        let asked_about = found.doubtful.clone();
        let names: Vec<_> = answer.split_whitespace().map(str::to_owned).collect();
        for name in &names {
            let is_listed = |id: &RejectedSignalId| id.is_one_of(std::slice::from_ref(name));
            ensure!(
                found.doubtful.iter().any(is_listed),
                "{name} is not in the list above."
            );
        }
        refuse_ambiguous(&names, &found.doubtful)?;
        let doubtful = std::mem::take(&mut found.doubtful);
        let (chosen, left): (Vec<_>, Vec<_>) =
            doubtful.into_iter().partition(|id| id.is_one_of(&names));
        found.counts.add_rejected_signals(chosen.len());
        found.doubtful = left;
        found.chosen = chosen;
        Ok(asked_about)
    }

    /// Waits for the requests in progress and for what they have queued, and deletes, also the `chosen` of the doubtful
    /// rejected signals: steps 4 to 6.
    ///
    /// # Errors
    /// Messages were queued for too long: nothing is deleted. Or a call failed: a part may be deleted.
    pub(crate) async fn wait_and_delete(
        &self,
        wait: Wait,
        chosen: &[RejectedSignalId],
    ) -> Result<ErasureResult> {
        wait_for_functions(wait).await;
        let check = QueueCheck::find(self.stack, self.options.anyway)?;
        let messages = check.wait_until_none().await;
        let queued = messages.context("Nothing is deleted")?;
        let erased = self.delete(chosen).await?;
        Ok(ErasureResult { queued, ..erased })
    }

    /// What is erased, in words.
    pub(crate) fn target(&self) -> String {
        let account = self.account;
        match self.scope {
            ErasureScope::Account => format!("everything that is stored of the account {account}"),
            ErasureScope::Subject(id) => {
                format!("what is stored of {id:?} in the account {account}")
            }
            ErasureScope::Type {
                signal_type,
                since,
                until,
            } => format!(
                "what the account {account} sent of the type {signal_type:?}, from {since} and before {until}"
            ),
        }
    }

    /// Prints what a dry run has found.
    pub(crate) fn print_found(&self, found: &ErasureResult, format: Format) -> Result<()> {
        let text = format!("Would erase {}: {}.", self.target(), found.counts);
        format.print(&text, &self.json(found, Map::new()))
    }

    /// Prints the line for the operator's record: what was erased, with what else the command did, as
    /// the end of the sentence and as members of the JSON. The operator was `asked_about` these rejected signals.
    ///
    /// # Errors
    /// Standard output is closed, doubtful rejected signals stay without the operator having been asked, an
    /// item could not be read, or messages were queued.
    pub(crate) fn print_erased(
        &self,
        erased: &ErasureResult,
        asked_about: &[RejectedSignalId],
        format: Format,
        more_text: &str,
        more_json: Map<String, Value>,
    ) -> Result<()> {
        let erased_at = Timestamp::now();
        let target = self.target();
        let counts = &erased.counts;
        let text = format!("Erased {target}, at {erased_at}: {counts}{more_text}.");
        let mut json = Map::from_iter([("erasedAt".to_owned(), json!(erased_at))]);
        json.extend(self.json(erased, more_json));
        // A reader that closes standard output does not change the exit code.
        let printed = format.print(&text, &json);
        list_doubtful(&erased.doubtful);
        let is_unanswered = |id: &&RejectedSignalId| !asked_about.contains(id);
        let unanswered = erased.doubtful.iter().filter(is_unanswered).count();
        let mut left = Vec::new();
        if unanswered > 0 {
            left.push(format!(
                "{unanswered} rejected signal(s) may belong to it, and were not erased. Look at their payloads in `cargo \
                 intake rejected list --json`, and run the command again with --rejected ID for each that is to be erased."
            ));
        }
        if erased.unreadable > 0 {
            left.push(format!(
                "{} item(s) of rejected signals cannot be read, and were not erased: look at them in the table, as named above.",
                erased.unreadable
            ));
        }
        if erased.queued > 0 {
            left.push(format!(
                "{} message(s) in the queues may restore erased data. Run the command again when `cargo intake overflow \
                 status` counts none.",
                erased.queued
            ));
        }
        ensure!(left.is_empty(), left.join(" "));
        printed
    }

    fn json(&self, result: &ErasureResult, more: Map<String, Value>) -> Map<String, Value> {
        let mut json = Map::from_iter([("accountId".to_owned(), json!(self.account))]);
        let mut add = |name: &str, value: Value| json.insert(name.to_owned(), value);
        match self.scope {
            ErasureScope::Account => {}
            ErasureScope::Subject(id) => {
                add("id", json!(id));
                add("doubtfulRejectedSignals", json!(result.doubtful));
            }
            ErasureScope::Type {
                signal_type,
                since,
                until,
            } => {
                add("type", json!(signal_type));
                add("since", json!(since));
                add("until", json!(until));
                add("doubtfulRejectedSignals", json!(result.doubtful));
            }
        }
        json.extend(result.counts.json());
        json.extend(more);
        json
    }
}

/// Names rejected signals that an operator has to look at.
pub(crate) fn list_doubtful(doubtful: &[RejectedSignalId]) {
    if doubtful.is_empty() {
        return;
    }
    note(
        "These rejected signals may belong to it: their payloads do not say for certain whose they are.",
    );
    for id in doubtful {
        note(&format!("  {}", id.short()));
    }
}

/// Does the work that deletes, until the operator interrupts it. It is called after the confirmation:
/// until then, Ctrl-C ends the process.
///
/// # Errors
/// The work failed or was interrupted: a part of it may be done.
pub(crate) async fn until_erased<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    until_interrupted(Box::pin(work))
        .await?
        .context("Interrupted. To erase what is left, run the command again.")
}

/// Waits for functions that may still store something, and tells the operator the reason.
async fn wait_for_functions(wait: Wait) {
    let time = wait.until.duration_since(Timestamp::now());
    if time.is_zero() {
        return;
    }
    let seconds = time
        .as_millis()
        .div_ceil(Duration::from_secs(1).as_millis());
    note(&format!("Waiting {seconds} s: {}", wait.reason));
    tokio::time::sleep(time).await;
}
