//! `customers show`, `customers find` and `customers export`: what is stored of a customer.

use std::collections::BTreeMap;
use std::io::{BufWriter, Stdout, Write as _};

use anyhow::{Context as _, Result, bail, ensure};
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::customer::is_fence;
use model::timestamp::Timestamp;
use store::customers::times_of_fields;

use super::Target;
use crate::error::store_error;
use crate::items::{Json, display, json_object, partition_key, query_items, scan, text};
use crate::output::{Format, Table, note, print_json, to_json};
use crate::rejected::RejectedTable;
use crate::stack::{CUSTOMERS, Item, REJECTED_SIGNALS, SIGNALS, Stack};

/// The attributes of a signal that only the tables need.
const KEY: [&str; 2] = ["pk", "sk"];

const CANNOT_WRITE: &str = "Cannot write to standard output";

pub(super) async fn show(
    stack: &Stack,
    target: &Target,
    times: bool,
    format: Format,
) -> Result<()> {
    let Target { account, id } = target;
    let Some(item) = stored(stack, account, id).await? else {
        bail!("The account {account} has no customer {id:?}.");
    };
    let mut table = Table::with_names();
    if times {
        let table_name = stack.table(CUSTOMERS)?;
        let times = times_of_fields(&item).map_err(|error| store_error(table_name, &error))?;
        for (field, time) in &times {
            table.row([field, &time.to_string()]);
        }
        return if format == Format::Json {
            print_json(&times)
        } else {
            table.print()
        };
    }
    let profile = profile_json(&item);
    if format == Format::Json {
        return print_json(&profile);
    }
    for (name, Json(value)) in profile.into_iter().filter(|(name, _)| *name != "accountId") {
        table.row([name, &display(value)]);
    }
    table.print()
}

/// The attributes of a customer, but for those that only the table needs.
fn profile_json(item: &Item) -> BTreeMap<&str, Json<'_>> {
    json_object(item, &["pk"])
        .into_iter()
        .filter(|(name, _)| !is_fence(name))
        .collect()
}

/// The stored item of a customer.
pub(super) async fn stored(stack: &Stack, account: &AccountId, id: &str) -> Result<Option<Item>> {
    stack
        .get(
            stack.table(CUSTOMERS)?,
            partition_key(account.partition_key(id)),
        )
        .await
}

/// The customers with an email address. No index has it, so this reads the whole table.
pub(super) async fn find(
    stack: &Stack,
    account: &AccountId,
    email: &str,
    format: Format,
) -> Result<()> {
    let mut customers: Vec<Item> = Vec::new();
    scan(
        stack,
        stack.table(CUSTOMERS)?,
        // Not a consistent read, which costs twice as much.
        |scan| {
            scan.filter_expression("accountId = :account AND email = :email")
                .expression_attribute_values(":account", AttributeValue::S(account.to_string()))
                .expression_attribute_values(":email", AttributeValue::S(email.to_owned()))
        },
        async |page| {
            customers.extend(page.items.unwrap_or_default());
            Ok(())
        },
    )
    .await?;
    customers.sort_by(|one, other| text(one, "customerId").cmp(&text(other, "customerId")));
    if customers.is_empty() {
        note(&format!(
            "No customer of the account {account} has this email address."
        ));
        return Ok(());
    }
    let mut table = Table::new(
        format,
        ["CUSTOMER ID", "FIRST NAME", "LAST NAME", "UPDATED"],
    );
    for customer in &customers {
        let names = ["customerId", "firstName", "lastName", "updatedAt"];
        table.add(
            &profile_json(customer),
            names.map(|name| text(customer, name).unwrap_or_default()),
        )?;
    }
    table.print()
}

/// Writes everything that is stored of a customer or an emitter as one JSON document, while the
/// tables are read: a history may be longer than the memory.
pub(super) async fn export(
    stack: &Stack,
    account: &AccountId,
    id: &str,
    format: Format,
) -> Result<()> {
    let profile = stored(stack, account, id).await?;
    let query = stack.query(stack.table(SIGNALS)?, account.partition_key(id));
    let mut signals = Box::pin(query_items(query).peekable());
    let keys = RejectedTable::new(stack)?.keys_of(account, id).await?;
    ensure!(
        profile.is_some() || signals.as_mut().peek().await.is_some() || !keys.is_empty(),
        "Nothing is stored of {id:?} in the account {account}."
    );
    let table = stack.table(REJECTED_SIGNALS)?;
    // One may have expired since its key was read.
    let rejected = stream::iter(keys)
        .then(|key| stack.get(table, key))
        .try_filter_map(async |item| Ok(item));
    // One line for programs, one line for each signal for people.
    let separator = if format == Format::Json { "" } else { "\n" };
    let mut document = Document {
        writer: BufWriter::new(std::io::stdout()),
        separator,
    };
    let json = to_json(&profile.as_ref().map(profile_json))?;
    let (now, quoted) = (Timestamp::now(), to_json(&id)?);
    document.text(&format!(
        r#"{{"exportedAt":"{now}","accountId":"{account}","id":{quoted},"profile":{json},"signals":"#
    ))?;
    let signals = document.array(signals).await?;
    document.text(",\"rejectedSignals\":")?;
    let rejected = document.array(Box::pin(rejected)).await?;
    document.text("}\n")?;
    document.writer.flush().context(CANNOT_WRITE)?;
    let profiles = usize::from(profile.is_some());
    note(&format!(
        "Exported {id:?} of the account {account}: {profiles} profile(s), {signals} signal(s), {rejected} rejected signal(s)."
    ));
    Ok(())
}

/// A JSON document that is written part by part.
struct Document {
    writer: BufWriter<Stdout>,
    /// Before each element of an array.
    separator: &'static str,
}

impl Document {
    /// Writes these items as an array. Returns how many there are.
    async fn array(
        &mut self,
        mut items: impl Stream<Item = Result<Item>> + Unpin,
    ) -> Result<usize> {
        let mut count = 0;
        while let Some(item) = items.try_next().await? {
            let comma = if count == 0 { "[" } else { "," };
            self.text(&format!(
                "{comma}{}{}",
                self.separator,
                to_json(&json_object(&item, &KEY))?
            ))?;
            count += 1;
        }
        self.text(if count == 0 { "[]" } else { "]" })?;
        Ok(count)
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.writer.write_all(text.as_bytes()).context(CANNOT_WRITE)
    }
}
