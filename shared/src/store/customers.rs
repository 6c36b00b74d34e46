//! The table Customers: one item a customer, the profile's members under their own names.

use std::fmt::Write as _;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnValue;
use serde::Serialize;

use super::StoreError;
use super::values::{Item, attribute, s, text};
use crate::invocation::Budget;
use crate::model::account::AccountId;
use crate::model::customer::{Change, CustomerUpdate};
use crate::model::timestamp::Timestamp;
use crate::telemetry::tally::calls_so_far;

/// The table.
#[derive(Clone, Debug)]
pub struct Customers {
    client: Client,
    table: String,
}

/// Whether what was found is what an earlier attempt of the same update wrote, its answer lost.
fn is_our_own(old: &Item, now: Timestamp) -> bool {
    let now = now.to_string();
    ["createdAt", "updatedAt"].iter().all(|name| text(old, name) == Some(now.as_str()))
}

/// Whether the customer was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Upserted {
    /// It was not.
    Created,
    /// It was.
    Updated,
}

impl Upserted {
    /// The word for it in answers and in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
        }
    }
}

impl Customers {
    /// The table called `table`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }

    /// Changes what `update` names of a customer, and nothing else: one `UpdateItem`, so that two at once both survive.
    ///
    /// # Errors
    /// [`StoreError::ItemTooLarge`] when the profile would outgrow an item; otherwise when DynamoDB cannot do it.
    pub async fn upsert(
        &self,
        account_id: &AccountId,
        update: &CustomerUpdate<'_>,
        now: Timestamp,
        budget: Budget,
    ) -> Result<Upserted, StoreError> {
        let mut call = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", s(account_id.key(&update.customer_id)))
            .expression_attribute_values(":account", s(account_id.as_str()))
            .expression_attribute_values(":customer", s(update.customer_id.as_ref()))
            .expression_attribute_values(":now", s(now.to_string()))
            // Of the old item only what is written over: enough to see whether there was one.
            .return_values(ReturnValue::UpdatedOld);
        let mut set = String::from(
            "SET accountId = :account, customerId = :customer, updatedAt = :now, createdAt = if_not_exists(createdAt, :now)",
        );
        let mut remove = String::new();
        for (index, (name, change)) in update.changes.iter().enumerate() {
            call = call.expression_attribute_names(format!("#{index}"), name.as_ref());
            // Writing to a String cannot fail.
            match change {
                Change::Set(value) => {
                    let _ = write!(set, ", #{index} = :{index}");
                    call = call.expression_attribute_values(format!(":{index}"), attribute(*value));
                }
                Change::Remove => {
                    let word = if remove.is_empty() { " REMOVE" } else { "," };
                    let _ = write!(remove, "{word} #{index}");
                }
            }
        }
        let calls_before = calls_so_far();
        let output = budget.spend(call.update_expression(set + &remove).send()).await??;
        let tried_again = calls_so_far().saturating_sub(calls_before) > 1;
        let old = output.attributes.unwrap_or_default();
        let existed = old.contains_key("updatedAt") && !(tried_again && is_our_own(&old, now));
        Ok(if existed { Upserted::Updated } else { Upserted::Created })
    }
}
