//! The signals of one customer or emitter in order of arrival: one partition of the table.

use anyhow::Result;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use model::timestamp::Timestamp;

use super::List;
use super::listing::Listing;
use crate::error::call_error;
use crate::item::{Item, text};
use crate::stack::{SIGNALS, Stack};

pub(super) struct History<'a> {
    stack: &'a Stack,
    table: &'a str,
    list: &'a List,
}

impl<'a> History<'a> {
    pub(super) fn new(stack: &'a Stack, list: &'a List) -> Result<Self> {
        Ok(Self { stack, table: stack.table(SIGNALS)?, list })
    }

    /// Adds the signals that the command asks for and that arrived before `until` to `listing`, the newest `limit` of them.
    /// Returns whether there are more.
    pub(super) async fn list(
        &self,
        until: Option<Timestamp>,
        limit: Option<usize>,
        listing: &mut Listing,
    ) -> Result<bool> {
        let query = self.query(self.list.since, until);
        let Some(limit) = limit else {
            return self.pages(query, |page| listing.add(&page).map(|()| true)).await.map(|()| false);
        };
        // The query asks for one signal more than the command lists, to know whether there are more.
        let mut newest = self.collect(query.scan_index_forward(false), limit.saturating_add(1)).await?;
        let has_more = newest.len() > limit;
        newest.truncate(limit);
        newest.reverse();
        listing.add(&newest).map(|()| has_more)
    }

    /// The signals that arrived at or after `since`.
    pub(super) async fn since(&self, since: Timestamp) -> Result<Vec<Item>> {
        self.collect(self.query(Some(since), None), usize::MAX).await
    }

    async fn collect(&self, query: QueryFluentBuilder, limit: usize) -> Result<Vec<Item>> {
        // A filter may leave out most of a page, so that pages of this size would be many.
        let page_items = if self.list.flow.is_none() { i32::try_from(limit).ok() } else { None };
        let query = query.set_limit(page_items);
        let mut signals = Vec::new();
        self.pages(query, |page| {
            signals.extend(page);
            Ok(signals.len() < limit)
        })
        .await?;
        signals.truncate(limit);
        Ok(signals)
    }

    /// A sort key begins with a time and continues, so one of the time `until` sorts after that bound.
    fn query(&self, since: Option<Timestamp>, until: Option<Timestamp>) -> QueryFluentBuilder {
        let bound = |time: Option<Timestamp>, none: &str| {
            AttributeValue::S(time.map_or_else(|| none.to_owned(), |time| time.to_string()))
        };
        // "0" sorts before every time, "~" after every time.
        self.stack
            .query(self.table, self.list.account.partition_key(&self.list.subject_id))
            .key_condition_expression("pk = :pk AND sk BETWEEN :since AND :until")
            .expression_attribute_values(":since", bound(since, "0"))
            .expression_attribute_values(":until", bound(until, "~"))
    }

    /// Hands the matching signals of each page to `take`, until it returns `false`.
    async fn pages(&self, query: QueryFluentBuilder, mut take: impl FnMut(Vec<Item>) -> Result<bool>) -> Result<()> {
        let mut pages = query.into_paginator().send();
        while let Some(page) = pages.next().await {
            let mut signals = page.map_err(|error| call_error(self.table, error))?.items.unwrap_or_default();
            signals.retain(|signal| self.matches(signal));
            if !take(signals)? {
                break;
            }
        }
        Ok(())
    }

    fn matches(&self, signal: &Item) -> bool {
        let Some(flow) = &self.list.flow else { return true };
        text(signal, "eventflowIdentifier").is_some_and(|of_signal| of_signal.eq_ignore_ascii_case(flow))
    }
}
