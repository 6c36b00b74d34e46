//! Items of any table: reading, deleting and showing many of them. Must not know what an item is
//! about.
//!
//! The functions do none of this, and their roles do not permit it, so it is not in [`store`].

mod delete;
mod json;
mod read;

use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use store::attributes::Item;

pub use self::delete::batch_delete;
pub use self::json::{Json, display, json_object};
pub use self::read::{get_item, partition_query, query_items, scan_table};

/// The string attribute `name` of `item`.
pub fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// How the partition keys of an account begin.
pub fn partition_prefix(account: &AccountId) -> String {
    account.partition_key("")
}

/// The key of an item in a table that has no sort key.
pub fn key_of_partition(partition: String) -> Item {
    Item::from([("pk".to_owned(), AttributeValue::S(partition))])
}

/// The key of an item: its attributes `names`.
pub fn item_key(item: &Item, names: &[&str]) -> Item {
    names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone())))
        .collect()
}
