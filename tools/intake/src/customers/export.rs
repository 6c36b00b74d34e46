//! `customers export`: everything that is stored of a customer or an emitter, as one JSON document.
//! Must not know which fields customers and signals have.

use std::io::{BufWriter, Stdout, Write as _};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use model::timestamp::Timestamp;
use operator::escape::to_json;
use operator::items::{get_item, json_object, partition_query, query_items};
use operator::rejected::{MatchingSignals, Wanted};
use store::attributes::Item;

use super::{Target, find_profile, profile_json};
use crate::erasure::{DoubtfulArgs, list_doubtful};
use crate::output::{Format, note};
use crate::stack::Stack;
use crate::stack::variables::{REJECTED_SIGNALS_TABLE, SIGNALS_TABLE};

/// The attributes of a signal that only the tables need.
const KEY: [&str; 2] = ["pk", "sk"];

const CANNOT_WRITE: &str = "Cannot write to standard output";

#[derive(Args, Debug)]
pub(crate) struct ExportCustomer {
    #[command(flatten)]
    target: Target,

    #[command(flatten)]
    doubtful: DoubtfulArgs,
}

impl ExportCustomer {
    /// Writes the document while the tables are read: a history may be longer than the memory.
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Target {
            account,
            subject_id,
        } = &self.target;
        let profile = find_profile(stack, &self.target).await?;
        let query = partition_query(
            &stack.dynamodb,
            stack.table_name(SIGNALS_TABLE)?,
            account.partition_key(subject_id),
        );
        let mut signals = Box::pin(query_items(&stack.dynamodb, query, note).peekable());
        let wanted = Wanted::Subject(subject_id);
        let mut rejected = stack
            .rejected_table()?
            .find_matching(account, wanted, None)
            .await?;
        let chosen = rejected.choose(&self.doubtful.ids)?;
        rejected.take(&chosen);
        let has_signals = signals.as_mut().peek().await.is_some();
        list_doubtful(&rejected.doubtful);
        ensure!(
            profile.is_some() || has_signals || !rejected.certain.is_empty(),
            "Nothing is stored of {subject_id:?} in the account {account}."
        );
        let mut document = Document::new(format);
        let exported_at = Timestamp::now();
        let quoted_id = to_json(&subject_id)?;
        let profile_json = to_json(&profile.as_ref().map(profile_json))?;
        document.write(&format!(
            r#"{{"exportedAt":"{exported_at}","accountId":"{account}","id":{quoted_id},"profile":{profile_json},"signals":"#
        ))?;
        let signal_count = document.write_array(signals).await?;
        document.write(",\"rejectedSignals\":")?;
        let keys = rejected.certain.iter().map(|id| id.key(account)).collect();
        let rejected_signals = Box::pin(read_rejected_signals(stack, keys)?);
        let rejected_count = document.write_array(rejected_signals).await?;
        document.write("}\n")?;
        document.flush()?;
        let profile_count = usize::from(profile.is_some());
        note(&format!(
            "Exported {subject_id:?} of the account {account}: {profile_count} profile(s), {signal_count} signal(s), {rejected_count} rejected signal(s)."
        ));
        ensure_nothing_left_out(&rejected)
    }
}

/// Fails when the document may lack a rejected signal.
fn ensure_nothing_left_out(rejected: &MatchingSignals) -> Result<()> {
    let mut left_out = Vec::new();
    let doubtful = rejected.doubtful.len();
    if doubtful > 0 {
        left_out.push(format!(
            "{doubtful} rejected signal(s) that may belong to it are not in the document. Look at their payloads in `cargo intake \
             rejected list --json`, and run the command again with --rejected ID for each that belongs to it."
        ));
    }
    if rejected.unreadable > 0 {
        left_out.push(format!(
            "{} item(s) of rejected signals cannot be read, and are not in the document: look at them in the table, as named above.",
            rejected.unreadable
        ));
    }
    ensure!(left_out.is_empty(), left_out.join(" "));
    Ok(())
}

/// The rejected signals with these keys, but for those that have expired since their keys were read.
fn read_rejected_signals(
    stack: &Stack,
    keys: Vec<Item>,
) -> Result<impl Stream<Item = Result<Item>>> {
    let table_name = stack.table_name(REJECTED_SIGNALS_TABLE)?;
    let items =
        stream::iter(keys).then(move |key| get_item(&stack.dynamodb, table_name, key, note));
    Ok(items.try_filter_map(async |item| Ok(item)))
}

/// A JSON document that is written part by part.
struct Document {
    writer: BufWriter<Stdout>,
    /// What precedes each element of an array.
    separator: &'static str,
}

impl Document {
    /// A document of one line for programs, with a line for each signal for people.
    fn new(format: Format) -> Self {
        let separator = match format {
            Format::Json => "",
            Format::Text => "\n",
        };
        Self {
            writer: BufWriter::new(std::io::stdout()),
            separator,
        }
    }

    /// Writes these items as an array. Returns how many there are.
    async fn write_array(
        &mut self,
        mut items: impl Stream<Item = Result<Item>> + Unpin,
    ) -> Result<usize> {
        let mut count = 0;
        while let Some(item) = items.try_next().await? {
            let before_element = if count == 0 { "[" } else { "," };
            let separator = self.separator;
            let json = to_json(&json_object(&item, &KEY))?;
            self.write(&format!("{before_element}{separator}{json}"))?;
            count += 1;
        }
        self.write(if count == 0 { "[]" } else { "]" })?;
        Ok(count)
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.writer.write_all(text.as_bytes()).context(CANNOT_WRITE)
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().context(CANNOT_WRITE)
    }
}
