//! The table Customers: one item a customer, the profile's members under their own names.

use std::fmt::Write as _;

use aws_sdk_dynamodb::Client;
use serde::Serialize;

use super::StoreError;
use super::values::{Item, text};
use super::wire::Wire;
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
        // The body is replaced; the table is named for the SDK to find its endpoint by.
        let call = self.client.update_item().table_name(&self.table).customize();
        let call = call.mutate_request(self.write(account_id, update, now).into_body());
        let calls_before = calls_so_far();
        let output = budget.spend(call.send()).await??;
        let tried_again = calls_so_far().saturating_sub(calls_before) > 1;
        let old = output.attributes.unwrap_or_default();
        let existed = old.contains_key("updatedAt") && !(tried_again && is_our_own(&old, now));
        Ok(if existed { Upserted::Updated } else { Upserted::Created })
    }

    fn write(&self, account_id: &AccountId, update: &CustomerUpdate<'_>, now: Timestamp) -> Wire {
        let mut set = String::from(
            "SET accountId = :account, customerId = :customer, updatedAt = :now, createdAt = if_not_exists(createdAt, :now)",
        );
        let (mut remove, mut names, mut values) = (String::new(), Wire::default(), Wire::default());
        values.string_attribute(":account", account_id.as_str());
        values.raw(",");
        values.string_attribute(":customer", &update.customer_id);
        values.raw(",");
        values.string_attribute(":now", &now.to_string());
        for (index, (name, change)) in update.changes.iter().enumerate() {
            names.raw(&format!("{}\"#{index}\":", if index > 0 { "," } else { "" }));
            names.string(name);
            // Writing to a String cannot fail.
            match change {
                Change::Set(value) => {
                    let _ = write!(set, ", #{index} = :{index}");
                    values.raw(&format!(",\":{index}\":"));
                    values.document(*value);
                }
                Change::Remove => {
                    let word = if remove.is_empty() { " REMOVE" } else { "," };
                    let _ = write!(remove, "{word} #{index}");
                }
            }
        }
        let mut wire = Wire::default();
        wire.raw("{\"TableName\":");
        wire.string(&self.table);
        wire.raw(",\"Key\":{");
        wire.string_attribute("pk", &account_id.key(&update.customer_id));
        wire.raw("},\"UpdateExpression\":");
        wire.string(&(set + &remove));
        // Of the old item only what is written over: enough to see whether there was one.
        wire.raw(",\"ReturnValues\":\"UPDATED_OLD\"");
        if !update.changes.is_empty() {
            wire.raw(",\"ExpressionAttributeNames\":{");
            wire.append(&names);
            wire.raw("}");
        }
        wire.raw(",\"ExpressionAttributeValues\":{");
        wire.append(&values);
        wire.raw("}}");
        wire
    }
}
