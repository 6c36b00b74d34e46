//! The signals of one customer or emitter in order of arrival: one partition of the table.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use model::timestamp::Timestamp;

use super::listing::Listing;
use crate::error::call_error;
use crate::item::{Item, text};
use crate::stack::{SIGNALS, Stack};
use crate::time_args::before;

/// How often the table is read.
const INTERVAL: Duration = Duration::from_secs(1);

/// How far back each read reaches: longer than a function may take to store a request, and than clocks may differ.
const LOOK_BACK: Duration = Duration::from_secs(30);

pub(super) struct History<'a> {
    stack: &'a Stack,
    table: &'a str,
    partition: String,
}

impl<'a> History<'a> {
    pub(super) fn new(stack: &'a Stack, account: &AccountId, subject_id: &str) -> Result<Self> {
        Ok(Self { stack, table: stack.table(SIGNALS)?, partition: account.partition_key(subject_id) })
    }

    /// Adds the signals that arrived from `since` on and before `until` to `listing`, the newest `limit` of them.
    /// Returns whether there are more.
    pub(super) async fn list(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        limit: Option<usize>,
        listing: &mut Listing,
    ) -> Result<bool> {
        let query = self.query(since, until);
        let Some(limit) = limit else {
            let mut pages = query.into_paginator().send();
            while let Some(page) = pages.next().await {
                listing.add(page.map_err(|error| call_error(self.table, error))?.items())?;
            }
            return Ok(false);
        };
        // The query asks for one signal more than the command lists, to know whether there are more.
        let query = query.scan_index_forward(false).set_limit(i32::try_from(limit + 1).ok());
        let mut items = query.into_paginator().items().send();
        let mut newest = Vec::new();
        while newest.len() <= limit {
            let Some(item) = items.next().await else { break };
            newest.push(item.map_err(|error| call_error(self.table, error))?);
        }
        let has_more = newest.len() > limit;
        newest.truncate(limit);
        newest.reverse();
        listing.add(&newest).map(|()| has_more)
    }

    /// Lists signals as they arrive, from `begin` on. Returns only when something fails.
    ///
    /// A signal is stored a little later than the arrival time in its key, and signals are not stored in the order of their
    /// keys. So the last seconds are read again and again, and what was already listed is left out.
    pub(super) async fn follow(&self, begin: Timestamp, listing: &mut Listing) -> Result<()> {
        let mut listed = HashSet::new();
        loop {
            let since = before(Timestamp::now(), LOOK_BACK).max(begin);
            let items = self.query(Some(since), None).into_paginator().items().send();
            let items: Result<Vec<Item>, _> = items.collect().await;
            let mut signals = items.map_err(|error| call_error(self.table, error))?;
            let keys: HashSet<_> = signals.iter().filter_map(key).collect();
            signals.retain(|signal| key(signal).is_some_and(|key| !listed.contains(&key)));
            listing.add(&signals)?;
            // The next read reaches less far back: it does not find other keys again.
            listed = keys;
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// A sort key begins with a time and continues, so one of the time `until` sorts after that bound.
    fn query(&self, since: Option<Timestamp>, until: Option<Timestamp>) -> QueryFluentBuilder {
        let bound = |time: Option<Timestamp>, none: &str| {
            AttributeValue::S(time.map_or_else(|| none.to_owned(), |time| time.to_string()))
        };
        // "0" sorts before every time, "~" after every time.
        self.stack
            .query(self.table, self.partition.clone())
            .key_condition_expression("pk = :pk AND sk BETWEEN :since AND :until")
            .expression_attribute_values(":since", bound(since, "0"))
            .expression_attribute_values(":until", bound(until, "~"))
    }
}

fn key(signal: &Item) -> Option<String> {
    text(signal, "sk").map(ToOwned::to_owned)
}
