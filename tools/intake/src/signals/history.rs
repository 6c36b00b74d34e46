//! The signals of one customer or emitter, by time: one partition of the table.

use anyhow::Result;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use model::timestamp::Timestamp;

use super::{List, Listing};
use crate::error::call_error;
use crate::item::{Item, text};
use crate::stack::{Stack, Table};

/// Sorts before every time.
const BEGIN: &str = "0";

/// Sorts after every time.
const END: &str = "~";

pub(super) struct History<'a> {
    stack: &'a Stack,
    table: &'a str,
    list: &'a List,
}

impl<'a> History<'a> {
    pub(super) fn of(stack: &'a Stack, list: &'a List) -> Result<Self> {
        Ok(Self { stack, table: stack.table(Table::Signals)?, list })
    }

    /// Adds to `listing` what was asked for and arrived before `until`; the newest `limit` of it.
    pub(super) async fn read(
        &self,
        until: Option<Timestamp>,
        limit: Option<usize>,
        listing: &mut Listing,
    ) -> Result<()> {
        let until = until.map_or_else(|| END.to_owned(), |until| until.to_string());
        let since = self.list.since.map_or_else(|| BEGIN.to_owned(), |since| since.to_string());
        let query = self.query(&since, &until);
        let Some(limit) = limit else {
            return self.pages(query, |page| listing.add(&page).map(|()| true)).await;
        };
        let mut newest = Vec::new();
        let backwards = query.scan_index_forward(false);
        self.pages(backwards, |page| {
            newest.extend(page.into_iter().take(limit.saturating_sub(newest.len())));
            Ok(newest.len() < limit)
        })
        .await?;
        newest.reverse();
        listing.add(&newest)
    }

    /// All that arrived at or after `since`.
    pub(super) async fn since(&self, since: Timestamp) -> Result<Vec<Item>> {
        let mut found = Vec::new();
        self.pages(self.query(&since.to_string(), END), |page| {
            found.extend(page);
            Ok(true)
        })
        .await?;
        Ok(found)
    }

    /// Sort keys begin with the time and go on: `until` itself is not among them.
    fn query(&self, since: &str, until: &str) -> QueryFluentBuilder {
        self.stack
            .client
            .query()
            .table_name(self.table)
            .key_condition_expression("pk = :pk AND sk BETWEEN :since AND :until")
            .expression_attribute_values(":pk", AttributeValue::S(self.list.account.key(&self.list.subject_id)))
            .expression_attribute_values(":since", AttributeValue::S(since.to_owned()))
            .expression_attribute_values(":until", AttributeValue::S(until.to_owned()))
            .consistent_read(true)
    }

    /// Hands the matching signals of page after page to `take`, until it says `false`.
    async fn pages(&self, query: QueryFluentBuilder, mut take: impl FnMut(Vec<Item>) -> Result<bool>) -> Result<()> {
        let mut pages = query.into_paginator().send();
        while let Some(page) = pages.next().await {
            let items = page.map_err(|error| call_error(self.table, error))?.items.unwrap_or_default();
            if !take(items.into_iter().filter(|signal| self.matches(signal)).collect())? {
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
