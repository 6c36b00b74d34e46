//! The tables: the calls that the functions and the operator make, with the responses of DynamoDB.
//!
//! A call takes effect as a whole at one moment, but for `BatchWriteItem`, whose items are written
//! one after the other. Limits that no request of a simulation reaches are left out: the bytes of an
//! item, of a call and of an expression.

mod expression;
mod number;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::expression::{Names, apply_update, is_met};
use self::number::normalize_numbers;

/// An item: its attributes in DynamoDB's JSON.
pub type Item = Map<String, Value>;

/// The names of the tables, which are their logical ids in template.yaml.
pub const API_KEYS: &str = "ApiKeysTable";
pub const CUSTOMERS: &str = "CustomersTable";
pub const IDEMPOTENCY: &str = "IdempotencyTable";
pub const REJECTED_SIGNALS: &str = "RejectedSignalsTable";
pub const SIGNALS: &str = "SignalsTable";

/// The most items of one `BatchWriteItem`.
const MAX_BATCH: usize = 25;

/// All tables.
#[derive(Debug)]
pub struct Tables {
    tables: BTreeMap<&'static str, Table>,
    /// Every call that had an effect or was refused, with its response, if that was asked for.
    recorded: Option<Vec<Value>>,
}

/// A table. Its items are in the order of their keys.
#[derive(Debug, Default)]
struct Table {
    key_attributes: &'static [&'static str],
    items: BTreeMap<Vec<String>, Item>,
    /// What was stored under a key before its last write.
    replaced: BTreeMap<Vec<String>, Option<Item>>,
}

/// The response to a call.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub body: Value,
}

/// An item as it was before and after a write.
pub struct Change<'a> {
    pub table: &'a str,
    pub before: Option<&'a Item>,
    pub after: Option<&'a Item>,
}

/// Sees each write of an item.
pub type Observer<'o> = &'o mut dyn FnMut(Change<'_>);

/// Why DynamoDB refuses a call.
#[derive(Debug)]
pub(super) enum Refusal {
    /// `ValidationException`
    Invalid(String),
    /// `ResourceNotFoundException`
    NoSuchTable,
    /// `ConditionalCheckFailedException`, with the item if the call asked for it.
    ConditionFailed(Option<Item>),
}

impl Default for Tables {
    fn default() -> Self {
        let table = |key_attributes| Table {
            key_attributes,
            items: BTreeMap::new(),
            replaced: BTreeMap::new(),
        };
        let tables = BTreeMap::from([
            (API_KEYS, table(&["keyHash"])),
            (CUSTOMERS, table(&["pk"])),
            (IDEMPOTENCY, table(&["pk"])),
            (REJECTED_SIGNALS, table(&["pk", "sk"])),
            (SIGNALS, table(&["pk", "sk"])),
        ]);
        Self {
            tables,
            recorded: None,
        }
    }
}

impl Tables {
    /// All items of a table, in the order of their keys.
    pub fn items(&self, table: &str) -> impl Iterator<Item = &Item> {
        self.tables
            .get(table)
            .into_iter()
            .flat_map(|table| table.items.values())
    }

    /// Does a call. Returns DynamoDB's response.
    pub fn call(&mut self, operation: &str, body: &Value, observer: Observer<'_>) -> Response {
        let done = match operation {
            "GetItem" => self.get_item(body),
            "PutItem" => self.put_item(body, observer),
            "UpdateItem" => self.update_item(body, observer),
            "DeleteItem" => self.delete_item(body, observer),
            "BatchWriteItem" => self.batch_write_item(body, observer),
            _ => Err(Refusal::Invalid(format!(
                "the simulation has no {operation}"
            ))),
        };
        let response = done.map_or_else(Refusal::respond, |body| Response { status: 200, body });
        if let Some(recorded) = &mut self.recorded {
            let Response {
                status,
                body: response,
            } = &response;
            recorded.push(json!({
                "operation": operation,
                "body": body,
                "status": status,
                "response": response,
            }));
        }
        response
    }

    /// Records every call from now on.
    pub fn record(&mut self) {
        self.recorded = Some(Vec::new());
    }

    /// The calls that were recorded.
    pub fn take_recorded(&mut self) -> Vec<Value> {
        self.recorded.take().unwrap_or_default()
    }

    fn table(&mut self, name: &str) -> Result<&mut Table, Refusal> {
        self.tables.get_mut(name).ok_or(Refusal::NoSuchTable)
    }

    fn get_item(&mut self, body: &Value) -> Result<Value, Refusal> {
        let table = self.table(text(&body["TableName"]))?;
        let key = table.key_of(object(&body["Key"])?)?;
        let latest = table.items.get(&key);
        let found = if body["ConsistentRead"] == true {
            latest
        } else {
            // Such a read may miss the last write. This one always does.
            let replaced = table.replaced.get(&key).map(Option::as_ref);
            replaced.unwrap_or(latest)
        };
        Ok(match found {
            Some(item) => json!({"Item": item}),
            None => json!({}),
        })
    }

    fn put_item(&mut self, body: &Value, observer: Observer<'_>) -> Result<Value, Refusal> {
        let name = text(&body["TableName"]);
        let table = self.table(name)?;
        let item = object(&body["Item"])?.clone();
        let key = table.key_of(&item)?;
        table.check_condition(body, &key)?;
        table.put(name, &key, item, observer)?;
        Ok(json!({}))
    }

    fn update_item(&mut self, body: &Value, observer: Observer<'_>) -> Result<Value, Refusal> {
        let name = text(&body["TableName"]);
        let table = self.table(name)?;
        let key_attributes = object(&body["Key"])?;
        let key = table.key_of(key_attributes)?;
        table.check_condition(body, &key)?;
        let before = table.items.get(&key).cloned().unwrap_or_default();
        let mut after = before.clone();
        after.extend(key_attributes.clone());
        let names = Names::of(body);
        let changed = apply_update(text(&body["UpdateExpression"]), names, &before, &mut after)?;
        table.put(name, &key, after, observer)?;
        let replaced = before
            .into_iter()
            .filter(|(name, _)| changed.contains(name));
        let replaced: Item = replaced.collect();
        Ok(match text(&body["ReturnValues"]) {
            "UPDATED_OLD" if !replaced.is_empty() => json!({"Attributes": replaced}),
            _ => json!({}),
        })
    }

    fn delete_item(&mut self, body: &Value, observer: Observer<'_>) -> Result<Value, Refusal> {
        let name = text(&body["TableName"]);
        let table = self.table(name)?;
        let key = table.key_of(object(&body["Key"])?)?;
        table.check_condition(body, &key)?;
        let before = table.items.remove(&key);
        observer(Change {
            table: name,
            before: before.as_ref(),
            after: None,
        });
        table.replaced.insert(key, before);
        Ok(json!({}))
    }

    fn batch_write_item(&mut self, body: &Value, observer: Observer<'_>) -> Result<Value, Refusal> {
        for (name, requests) in object(&body["RequestItems"])? {
            let table = self.table(name)?;
            let requests = requests.as_array().map(Vec::as_slice).unwrap_or_default();
            let mut writes = BTreeMap::new();
            for request in requests {
                let item = object(&request["PutRequest"]["Item"])?;
                writes.insert(table.key_of(item)?, item.clone());
            }
            if writes.len() != requests.len() || requests.len() > MAX_BATCH {
                return Err(Refusal::Invalid("the items of a batch".to_owned()));
            }
            for (key, item) in writes {
                table.put(name, &key, item, observer)?;
            }
        }
        Ok(json!({"UnprocessedItems": {}}))
    }
}

impl Table {
    fn key_of(&self, item: &Item) -> Result<Vec<String>, Refusal> {
        let parts = self
            .key_attributes
            .iter()
            .map(|name| match item.get(*name) {
                Some(value) if !text(&value["S"]).is_empty() => Ok(text(&value["S"]).to_owned()),
                _ => Err(Refusal::Invalid(format!("the key attribute {name}"))),
            });
        parts.collect()
    }

    fn check_condition(&self, body: &Value, key: &[String]) -> Result<(), Refusal> {
        let Some(condition) = body["ConditionExpression"].as_str() else {
            return Ok(());
        };
        let item = self.items.get(key);
        let none = Item::new();
        if is_met(condition, Names::of(body), item.unwrap_or(&none))? {
            return Ok(());
        }
        let is_asked_for = body["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD";
        Err(Refusal::ConditionFailed(
            item.filter(|_| is_asked_for).cloned(),
        ))
    }

    fn put(
        &mut self,
        table: &str,
        key: &[String],
        mut item: Item,
        observer: Observer<'_>,
    ) -> Result<(), Refusal> {
        for value in item.values_mut() {
            normalize_numbers(value)?;
        }
        let before = self.items.insert(key.to_vec(), item);
        observer(Change {
            table,
            before: before.as_ref(),
            after: self.items.get(key),
        });
        self.replaced.insert(key.to_vec(), before);
        Ok(())
    }
}

impl Refusal {
    fn respond(self) -> Response {
        let (code, mut body) = match self {
            Self::Invalid(message) => ("ValidationException", json!({"message": message})),
            Self::NoSuchTable => ("ResourceNotFoundException", json!({"message": "no table"})),
            Self::ConditionFailed(item) => {
                let message = "The conditional request failed";
                let body = match item {
                    Some(item) => json!({"message": message, "Item": item}),
                    None => json!({"message": message}),
                };
                ("ConditionalCheckFailedException", body)
            }
        };
        body["__type"] = json!(format!("com.amazonaws.dynamodb.v20120810#{code}"));
        Response { status: 400, body }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn object(value: &Value) -> Result<&Item, Refusal> {
    let object = value.as_object();
    object.ok_or_else(|| Refusal::Invalid("an object is missing".to_owned()))
}
