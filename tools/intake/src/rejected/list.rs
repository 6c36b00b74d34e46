//! What was rejected, for people and for programs.

use serde::Serialize;
use serde_json::value::RawValue;
use shared::model::account::AccountId;

use super::List;
use super::id::RejectId;
use super::reject::{Reject, StoredFault};
use super::table::Rejects;
use crate::error::Error;
use crate::moment::readable;
use crate::output::{Output, Table, json, note};

pub(super) async fn list(rejects: &Rejects<'_>, list: &List, output: Output) -> Result<(), Error> {
    let mut table = Table::with_heading(["ID", "RECEIVED", "WHO", "CODE", "REASON"]);
    let mut listed = 0_usize;
    rejects
        .since(&list.account, list.since, async |mut found: Vec<Reject>| {
            found.retain(|reject| list.code.as_ref().is_none_or(|code| reject.has_code(code)));
            listed = listed.saturating_add(found.len());
            match output {
                Output::Programs => found.iter().try_for_each(|reject| json(&Shown::of(reject))),
                Output::People => {
                    for reject in &found {
                        add(&mut table, reject);
                    }
                    table.print()
                }
            }
        })
        .await?;
    if listed == 0 {
        note(&format!("Nothing was rejected in the account {} since {} UTC.", list.account, readable(list.since)));
    }
    Ok(())
}

/// The first fault stands for all: `rejected show` has the others.
fn add(table: &mut Table, reject: &Reject) {
    let first = reject.faults.first();
    let (code, message) = first.map_or(("", ""), |fault| (&fault.code, &fault.message));
    let who = reject.who.as_deref().unwrap_or("-");
    table.row([&reject.id.to_string(), &readable(reject.received_at), who, code, message]);
}

pub(super) async fn show(
    rejects: &Rejects<'_>,
    account: &AccountId,
    id: &RejectId,
    output: Output,
) -> Result<(), Error> {
    let Some(reject) = rejects.find(account, id).await? else {
        return Err(Error::new(format!(
            "The account {account} has no rejected signal {id}: it was replayed, erased or has expired, or is another's."
        )));
    };
    if output.is_for_programs() {
        return json(&Shown::of(&reject));
    }
    let mut table = Table::of_members();
    table.row(["id", &reject.id.to_string()]);
    table.row(["received", &readable(reject.received_at)]);
    table.row(["request", reject.request_identifier.as_sent()]);
    table.row(["index", &reject.index.to_string()]);
    table.row(["key", &reject.key_id]);
    table.row(["who", reject.who.as_deref().unwrap_or("-")]);
    for fault in &reject.faults {
        table.row([&fault.code, &fault.message]);
    }
    table.row([if reject.truncated { "payload (cut off)" } else { "payload" }, &reject.payload]);
    table.print()
}

/// A line of `rejected list --json`, and of the file that `rejected replay --from` reads.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    id: String,
    received_at: String,
    request_identifier: &'a str,
    index: usize,
    key_id: &'a str,
    who: Option<&'a str>,
    faults: &'a [StoredFault],
    truncated: bool,
    payload: Box<RawValue>,
}

impl<'a> Shown<'a> {
    fn of(reject: &'a Reject) -> Self {
        Self {
            id: reject.id.to_string(),
            received_at: reject.received_at.to_string(),
            request_identifier: reject.request_identifier.as_sent(),
            index: reject.index,
            key_id: &reject.key_id,
            who: reject.who.as_deref(),
            faults: &reject.faults,
            truncated: reject.truncated,
            payload: reject.payload_line(),
        }
    }
}
