//! The items of an emulator, which this process reads and writes without a request over HTTP. This
//! module must not know what an item is about.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use dynoxide::Database;
use dynoxide::actions::scan::ScanResponse;
use dynoxide::types::{AttributeValue, Item};
use serde_json::{Value, json};

use super::Emulator;
use super::reserved_names;
use super::tables::{self, request};
use crate::template::Table;

/// Items of a page. Without a limit the whole rest of the table is read for each page.
const PAGE: usize = 2_000;

impl Emulator {
    /// Stores an item, given in DynamoDB's own JSON.
    ///
    /// # Errors
    /// When the emulator responds with an error.
    pub fn put_item(&self, table: &str, item: &Value) -> Result<()> {
        let database = self.database()?;
        let put = request(json!({"TableName": table, "Item": item}))?;
        database
            .put_item(put)
            .map(drop)
            .with_context(|| format!("Cannot store an item in {table}"))
    }

    /// The item with this key, both in DynamoDB's own JSON.
    ///
    /// # Errors
    /// When the emulator responds with an error.
    pub fn item(&self, table: &str, key: &Value) -> Result<Option<Value>> {
        let database = self.database()?;
        let get = request(json!({"TableName": table, "Key": key}))?;
        let found = database
            .get_item(get)
            .with_context(|| format!("Cannot read {table}"))?;
        found.item.map(to_json).transpose()
    }

    /// Deletes all items of a table, by creating it anew.
    ///
    /// # Errors
    /// When the emulator responds with an error.
    pub fn clear(&self, table: &Table) -> Result<()> {
        let database = self.database()?;
        let delete = request(json!({"TableName": table.name}))?;
        database
            .delete_table(delete)
            .with_context(|| format!("Cannot empty {}", table.name))?;
        tables::ensure(database, table)
    }

    /// Deletes the items of a table whose `pk` begins with `prefix`.
    ///
    /// # Errors
    /// When the emulator responds with an error.
    pub fn delete_partitions(&self, table: &Table, prefix: &str) -> Result<()> {
        let mut keys = Vec::new();
        self.read_all(&table.name, |item| {
            if text_of(&item, "pk").starts_with(prefix) {
                let key_attributes = ["pk", "sk"].into_iter();
                let key: BTreeMap<_, _> = key_attributes
                    .filter_map(|name| Some((name, item.get(name)?)))
                    .collect();
                keys.push(serde_json::to_value(key)?);
            }
            Ok(())
        })?;
        let database = self.database()?;
        for key in keys {
            let delete = request(json!({"TableName": table.name, "Key": key}))?;
            database
                .delete_item(delete)
                .with_context(|| format!("Cannot delete an item of {}", table.name))?;
        }
        Ok(())
    }

    /// Whether a table has no item.
    ///
    /// # Errors
    /// When the emulator responds with an error.
    pub fn is_empty(&self, table: &str) -> Result<bool> {
        let page = self.scan(table, 1, &Value::Null)?;
        Ok(page.count == 0)
    }

    /// Gives all items of a table to `each`, in DynamoDB's own JSON.
    ///
    /// # Errors
    /// When the emulator responds with an error.
    pub fn for_each_item(&self, table: &str, mut each: impl FnMut(&mut Value)) -> Result<()> {
        self.read_all(table, |item| {
            each(&mut to_json(item)?);
            Ok(())
        })
    }

    /// Up to `most` items whose `pk` begins with `prefix`, those with the last texts in the
    /// attribute `order`, in this order, and in DynamoDB's own JSON.
    ///
    /// # Errors
    /// When the emulator responds with an error.
    pub fn newest(
        &self,
        table: &str,
        prefix: &str,
        order: &str,
        most: usize,
    ) -> Result<Vec<Value>> {
        let mut newest = BTreeMap::new();
        self.read_all(table, |item| {
            let partition = text_of(&item, "pk");
            if !partition.starts_with(prefix) {
                return Ok(());
            }
            let sort = text_of(&item, "sk");
            newest.insert((text_of(&item, order), partition, sort), item);
            if newest.len() > most {
                newest.pop_first();
            }
            Ok(())
        })?;
        // Only now, because making JSON of all items would take most of the time.
        newest.into_values().map(to_json).collect()
    }

    fn read_all(&self, table: &str, mut each: impl FnMut(Item) -> Result<()>) -> Result<()> {
        let mut start_key = Value::Null;
        loop {
            let page = self.scan(table, PAGE, &start_key)?;
            for item in page.items.into_iter().flatten() {
                each(item)?;
            }
            let Some(last) = page.last_evaluated_key else {
                return Ok(());
            };
            start_key = serde_json::to_value(last)?;
        }
    }

    /// Up to `most` items of a partition `pk`, those with the last sort keys, in their order, and
    /// in DynamoDB's own JSON.
    ///
    /// # Errors
    /// When the emulator responds with an error.
    pub fn last_of(&self, table: &str, partition: &str, most: usize) -> Result<Vec<Value>> {
        let database = self.database()?;
        let mut found = Vec::new();
        let mut start_key = Value::Null;
        while found.len() < most {
            let query = request(json!({
                "TableName": table,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": {"S": partition}},
                "ScanIndexForward": false,
                "Limit": most - found.len(),
                "ExclusiveStartKey": start_key,
            }))?;
            let page = database
                .query(query)
                .with_context(|| format!("Cannot read {table}"))?;
            for item in page.items.into_iter().flatten() {
                found.push(to_json(item)?);
            }
            let Some(last) = page.last_evaluated_key else {
                break;
            };
            start_key = serde_json::to_value(last)?;
        }
        found.reverse();
        Ok(found)
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().context("The emulator has stopped.")
    }

    fn scan(&self, table: &str, limit: usize, start_key: &Value) -> Result<ScanResponse> {
        let database = self.database()?;
        let scan =
            request(json!({"TableName": table, "Limit": limit, "ExclusiveStartKey": start_key}))?;
        database
            .scan(scan)
            .with_context(|| format!("Cannot read {table}"))
    }
}

/// An item in DynamoDB's own JSON.
fn to_json(item: Item) -> Result<Value> {
    Ok(reserved_names::show_value(serde_json::to_value(item)?))
}

/// The text of an attribute of an item; empty when the item has no such text.
fn text_of(item: &Item, attribute: &str) -> String {
    match item.get(attribute) {
        Some(AttributeValue::S(text)) => text.clone(),
        _ => String::new(),
    }
}
