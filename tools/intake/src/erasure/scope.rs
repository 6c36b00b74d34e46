//! The scope of an erasure: which items of which tables it counts and deletes. Must not know when.

use std::fmt;
use std::time::Instant;

use anyhow::Result;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::TryStreamExt as _;
use model::timestamp::Timestamp;
use operator::NOTE_INTERVAL;
use operator::items::{
    batch_delete, item_key, partition_prefix, partition_query, query_items, scan_table,
};
use operator::rejected::{MatchingSignals, RejectedSignalId, Wanted};
use serde_json::{Map, Value, json};
use store::attributes::Item;

use super::{Erasure, ErasureResult};
use crate::output::note;
use crate::stack::variables::{
    CUSTOMERS_TABLE, IDEMPOTENCY_TABLE, REJECTED_SIGNALS_TABLE, SIGNALS_TABLE,
};

/// How many keys of one partition are read before they are counted or deleted: a history may be longer
/// than the memory.
const KEYS_AT_ONCE: usize = 1_000;

/// What an erasure erases of an account.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ErasureScope<'a> {
    /// Everything.
    Account,
    /// A customer or an emitter: the profile, the signals and the rejected signals.
    Subject(&'a str),
    /// The signals and rejected signals of an eventType or a stepNodeId that arrived from `since` on and
    /// before `until`.
    Type {
        signal_type: &'a str,
        since: Timestamp,
        until: Timestamp,
    },
}

/// A table that has items of accounts.
#[derive(Debug)]
struct ErasedTable {
    /// The variable that names it.
    variable: &'static str,
    key_names: &'static [&'static str],
    /// What its items are called, in a sentence and in JSON.
    noun: &'static str,
    member: &'static str,
}

const PROFILES: ErasedTable = ErasedTable {
    variable: CUSTOMERS_TABLE,
    key_names: &["pk"],
    noun: "profile",
    member: "profiles",
};

const SIGNALS: ErasedTable = ErasedTable {
    variable: SIGNALS_TABLE,
    key_names: &["pk", "sk"],
    noun: "signal",
    member: "signals",
};

const REJECTED_SIGNALS: ErasedTable = ErasedTable {
    variable: REJECTED_SIGNALS_TABLE,
    key_names: &["pk", "sk"],
    noun: "rejected signal",
    member: "rejectedSignals",
};

const IDEMPOTENCY_RECORDS: ErasedTable = ErasedTable {
    variable: IDEMPOTENCY_TABLE,
    key_names: &["pk"],
    noun: "idempotency record",
    member: "idempotencyRecords",
};

impl ErasureScope<'_> {
    /// The tables, in the order of a sentence. They are deleted in the opposite order: while a profile
    /// is there, an operator sees that the erasure is incomplete.
    fn tables(self) -> &'static [ErasedTable] {
        match self {
            Self::Account => &[PROFILES, SIGNALS, REJECTED_SIGNALS, IDEMPOTENCY_RECORDS],
            Self::Subject(_) => &[PROFILES, SIGNALS, REJECTED_SIGNALS],
            Self::Type { .. } => &[SIGNALS, REJECTED_SIGNALS],
        }
    }
}

/// How many items of a table were found or erased.
#[derive(Debug)]
struct TableCount {
    table: &'static ErasedTable,
    items: usize,
}

/// How many items an erasure found or erased, table by table.
#[derive(Debug)]
pub(crate) struct ErasureCounts(Vec<TableCount>);

impl ErasureCounts {
    pub(crate) fn is_zero(&self) -> bool {
        self.0.iter().all(|count| count.items == 0)
    }

    /// Counts rejected signals that the operator has named since.
    pub(super) fn add_rejected_signals(&mut self, number: usize) {
        for count in &mut self.0 {
            if count.table.member == REJECTED_SIGNALS.member {
                count.items += number;
            }
        }
    }

    pub(super) fn json(&self) -> Map<String, Value> {
        let member = |count: &TableCount| (count.table.member.to_owned(), json!(count.items));
        self.0.iter().map(member).collect()
    }
}

impl fmt::Display for ErasureCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, TableCount { table, items }) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{items} {}(s)", table.noun)?;
        }
        Ok(())
    }
}

impl Erasure<'_> {
    pub(super) async fn count(&self) -> Result<ErasureResult> {
        let choose = |found: &MatchingSignals| found.choose(&self.names);
        self.visit(choose, async |_: &str, _: &[Item]| Ok(())).await
    }

    pub(super) async fn delete(&self, chosen: &[RejectedSignalId]) -> Result<ErasureResult> {
        let mut deleted = 0;
        let mut noted_at = Instant::now();
        let choose = |_: &MatchingSignals| Ok(chosen.to_vec());
        self.visit(choose, async |table_name: &str, keys: &[Item]| {
            batch_delete(&self.stack.dynamodb, table_name, keys).await?;
            deleted += keys.len();
            if noted_at.elapsed() >= NOTE_INTERVAL {
                note(&format!("{deleted} items erased so far."));
                noted_at = Instant::now();
            }
            Ok(())
        })
        .await
    }

    /// Hands the keys of all items in the scope to `take`, some at a time, with the name of
    /// their table. `choose` says which of the doubtful rejected signals are among them.
    async fn visit(
        &self,
        choose: impl Fn(&MatchingSignals) -> Result<Vec<RejectedSignalId>>,
        mut take: impl AsyncFnMut(&str, &[Item]) -> Result<()>,
    ) -> Result<ErasureResult> {
        let mut counts = Vec::new();
        let mut rejected = MatchingSignals::default();
        let mut chosen = Vec::new();
        for table in self.scope.tables().iter().rev() {
            let table_name = self.stack.table_name(table.variable)?;
            let mut items = 0;
            let mut take_keys = async |keys: Vec<Item>| {
                items += keys.len();
                take(table_name, &keys).await
            };
            match self.wanted() {
                Some(wanted) if table.member == REJECTED_SIGNALS.member => {
                    rejected = self.find_rejected(wanted).await?;
                    chosen = choose(&rejected)?;
                    rejected.take(&chosen);
                    let keys = rejected.certain.iter().map(|id| id.key(self.account));
                    take_keys(keys.collect()).await?;
                }
                _ => self.visit_table(table, table_name, take_keys).await?,
            }
            counts.insert(0, TableCount { table, items });
        }
        Ok(ErasureResult {
            counts: ErasureCounts(counts),
            queued: 0,
            doubtful: rejected.doubtful,
            chosen,
            unreadable: rejected.unreadable,
        })
    }

    async fn visit_table(
        &self,
        table: &ErasedTable,
        table_name: &str,
        mut take: impl AsyncFnMut(Vec<Item>) -> Result<()>,
    ) -> Result<()> {
        let client = &self.stack.dynamodb;
        let projection = table.key_names.join(", ");
        if let ErasureScope::Subject(id) = self.scope {
            let partition = self.account.partition_key(id);
            let query =
                partition_query(client, table_name, partition).projection_expression(projection);
            let mut pages = query_items(client, query, note).try_chunks(KEYS_AT_ONCE);
            while let Some(keys) = pages.try_next().await.map_err(|error| error.1)? {
                take(keys).await?;
            }
            return Ok(());
        }
        let select = |call: ScanFluentBuilder| {
            self.filter(call)
                .consistent_read(true)
                .projection_expression(&projection)
        };
        scan_table(client, table_name, note, select, async |page| {
            let keys = page
                .items()
                .iter()
                .map(|item| item_key(item, table.key_names));
            take(keys.collect()).await
        })
        .await
    }

    /// The filter of a scan.
    fn filter(&self, call: ScanFluentBuilder) -> ScanFluentBuilder {
        let text = AttributeValue::S;
        let account = text(partition_prefix(self.account));
        let call = call.expression_attribute_values(":account", account);
        let ErasureScope::Type {
            signal_type,
            since,
            until,
        } = self.scope
        else {
            return call.filter_expression("begins_with(pk, :account)");
        };
        call.filter_expression(
            "begins_with(pk, :account) AND (eventType = :type OR stepNodeId = :type) \
             AND receivedAt >= :since AND receivedAt < :until",
        )
        .expression_attribute_values(":type", text(signal_type.to_owned()))
        .expression_attribute_values(":since", text(since.to_string()))
        .expression_attribute_values(":until", text(until.to_string()))
    }

    /// What the payloads of rejected signals are searched for.
    fn wanted(&self) -> Option<Wanted<'_>> {
        match self.scope {
            ErasureScope::Account => None,
            ErasureScope::Subject(id) => Some(Wanted::Subject(id)),
            ErasureScope::Type { signal_type, .. } => Some(Wanted::Type(signal_type)),
        }
    }

    async fn find_rejected(&self, wanted: Wanted<'_>) -> Result<MatchingSignals> {
        let period = match self.scope {
            ErasureScope::Type { since, until, .. } => Some(since..until),
            ErasureScope::Account | ErasureScope::Subject(_) => None,
        };
        let table = self.stack.rejected_table()?;
        table
            .find_matching(self.account, wanted, period.as_ref())
            .await
    }
}
