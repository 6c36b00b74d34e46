//! One `UpdateItem` of a customer: its expressions and its condition. This module must not know
//! which write an update needs.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use model::account::AccountId;
use model::customer::{Change, CustomerUpdate, FENCE, FENCE_ID, FieldChange};

use super::field_fences::{ExpiredFences, fence_attribute};
use crate::attributes::{attribute_value, string};
use crate::fence::{Fence, UpdateMark};

/// One `UpdateItem`.
pub(super) struct CustomerWrite<'a> {
    pub(super) account_id: &'a AccountId,
    pub(super) customer_id: &'a str,
    pub(super) fields: Vec<FieldWrite<'a>>,
    /// The update's own fence, and the id of its attempts.
    pub(super) mark: UpdateMark,
    /// The fence that the item gets.
    pub(super) item_fence: Fence,
    /// The expired fences that the write removes.
    pub(super) expired: Option<ExpiredFences<'a>>,
    pub(super) condition: WriteCondition,
}

/// The change of a field, and the fence that the field gets.
pub(super) struct FieldWrite<'a> {
    pub(super) change: &'a FieldChange<'a>,
    pub(super) fence: Fence,
}

/// What must be stored for the write to take place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteCondition {
    /// There is no item, or it has a lower fence.
    ItemIsOlder,
    /// There is no item, or it has a lower fence or the same one. Lines of one import may have the
    /// same time: they are written over one another, in their order.
    ItemIsNotNewer,
    /// There is no item.
    ItemIsMissing,
    /// There is an item, and its fence is lower than the one that it gets. The fence of each
    /// changed field, if it has one, is lower than the one that the field gets. Each fence that the
    /// write removes is still expired.
    FieldsAreOlder,
}

/// The parts of the expressions while they are built.
struct Expressions {
    set: String,
    remove: String,
    condition: String,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl<'a> CustomerWrite<'a> {
    /// All changes of an update, with its own fence.
    pub(super) fn whole(
        account_id: &'a AccountId,
        update: &'a CustomerUpdate<'_>,
        mark: UpdateMark,
        condition: WriteCondition,
    ) -> Self {
        let fields = update.changes().iter().map(|change| FieldWrite {
            change,
            fence: mark.fence,
        });
        Self {
            account_id,
            customer_id: update.customer_id(),
            fields: fields.collect(),
            mark,
            item_fence: mark.fence,
            expired: None,
            condition,
        }
    }

    /// The call, without the name of the table.
    pub(super) fn request(&self, client: &Client) -> UpdateItemFluentBuilder {
        let Expressions {
            set,
            remove,
            condition,
            names,
            values,
        } = self.expressions();
        let key = self.account_id.partition_key(self.customer_id);
        client
            .update_item()
            .key("pk", string(key))
            .update_expression(set + &remove)
            .condition_expression(condition)
            .set_expression_attribute_names((!names.is_empty()).then_some(names))
            .set_expression_attribute_values(Some(values))
            // Only the replaced attributes: enough to see whether the item existed.
            .return_values(ReturnValue::UpdatedOld)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    fn expressions(&self) -> Expressions {
        let mut expressions = self.common_expressions();
        for (index, field) in self.fields.iter().enumerate() {
            expressions.add_field(index, field, self);
        }
        if let Some(expired) = &self.expired {
            expressions.add_expired(expired);
        }
        expressions
    }

    /// The expressions of the attributes that every write sets.
    fn common_expressions(&self) -> Expressions {
        let fields = self.fields.len();
        let set = format!(
            "SET accountId = :account, customerId = :customer, {FENCE} = :fence, \
             {FENCE_ID} = :id, updatedAt = :updatedAt, \
             createdAt = if_not_exists(createdAt, :updatedAt)"
        );
        let condition = match self.condition {
            WriteCondition::ItemIsOlder => {
                format!("attribute_not_exists({FENCE}) OR {FENCE} < :fence")
            }
            WriteCondition::ItemIsNotNewer => {
                format!("attribute_not_exists({FENCE}) OR {FENCE} <= :fence")
            }
            WriteCondition::ItemIsMissing => "attribute_not_exists(pk)".to_owned(),
            WriteCondition::FieldsAreOlder => {
                format!("attribute_exists(pk) AND {FENCE} < :fence")
            }
        };
        // Maps of their final size: one that grows hashes its keys again.
        let names = HashMap::with_capacity(fields.saturating_mul(2));
        let mut values = HashMap::with_capacity(fields.saturating_add(6));
        let updated_at = self.item_fence.timestamp().to_string();
        values.insert(":account".to_owned(), string(self.account_id.as_str()));
        values.insert(":customer".to_owned(), string(self.customer_id));
        values.insert(":fence".to_owned(), self.item_fence.attribute());
        values.insert(":id".to_owned(), self.mark.id_attribute());
        values.insert(":updatedAt".to_owned(), string(updated_at));
        Expressions {
            set,
            remove: String::new(),
            condition,
            names,
            values,
        }
    }
}

impl Expressions {
    fn add_field(&mut self, index: usize, field: &FieldWrite<'_>, write: &CustomerWrite<'_>) {
        let FieldChange { name, change } = field.change;
        let index = index.to_string();
        let name_alias = ["#", &index].concat();
        let fence_alias = ["#f", &index].concat();
        // Nearly every field has the update's own fence, so that is one value.
        let fence_value = if field.fence == write.mark.fence {
            ":fieldFence".to_owned()
        } else {
            [":f", &index].concat()
        };
        self.set.extend([", ", &fence_alias, " = ", &fence_value]);
        if write.condition == WriteCondition::FieldsAreOlder {
            self.condition.extend([
                " AND (attribute_not_exists(",
                &fence_alias,
                ") OR ",
                &fence_alias,
                " < ",
                &fence_value,
                ")",
            ]);
        }
        match change {
            Change::Set(json) => {
                let value = [":", &index].concat();
                self.set.extend([", ", &name_alias, " = ", &value]);
                self.values.insert(value, attribute_value(*json));
            }
            Change::Remove => self.add_removed(&name_alias),
        }
        self.values
            .entry(fence_value)
            .or_insert_with(|| field.fence.attribute());
        self.names.insert(name_alias, name.to_string());
        self.names.insert(fence_alias, fence_attribute(name));
    }

    fn add_expired(&mut self, expired: &ExpiredFences<'_>) {
        for (index, attribute) in expired.attributes.iter().enumerate() {
            let alias = format!("#e{index}");
            self.add_removed(&alias);
            self.condition.extend([" AND ", &alias, " < :horizon"]);
            self.names.insert(alias, (*attribute).to_owned());
        }
        if !expired.attributes.is_empty() {
            self.values
                .insert(":horizon".to_owned(), expired.horizon.attribute());
        }
    }

    fn add_removed(&mut self, alias: &str) {
        let separator = if self.remove.is_empty() {
            " REMOVE "
        } else {
            ", "
        };
        self.remove.extend([separator, alias]);
    }
}

#[cfg(test)]
mod tests {
    use model::customer::{FENCE_PREFIX, PROFILE_FIELDS};
    use model::json::JsonText;
    use model::limits::MAX_UNKNOWN_FIELDS;
    use model::timestamp::Timestamp;

    use super::*;
    use crate::attributes::Item;

    #[test]
    fn condition_of_the_largest_write_has_at_most_the_300_operators_of_dynamodb() {
        let now: Timestamp = "2026-11-20T22:33:44.123Z".parse().unwrap();
        let long_ago: Timestamp = "2025-11-20T22:33:44.123Z".parse().unwrap();
        let unknown = (0..MAX_UNKNOWN_FIELDS).map(|n| format!("new{n}"));
        let documented = PROFILE_FIELDS.iter().map(|field| (*field).to_owned());
        let changes: Vec<_> = documented
            .chain(unknown)
            .map(|name| format!("\"{name}\":\"x\""))
            .collect();
        let body = format!(
            "{{\"customerId\":\"c\",\"customerData\":{{{}}}}}",
            changes.join(",")
        );
        let update = CustomerUpdate::parse(JsonText::parse(&body).unwrap()).unwrap();
        let fence = Fence::random(long_ago).attribute();
        let item: Item = (0..1_000)
            .map(|n| (format!("{FENCE_PREFIX}removed{n}"), fence.clone()))
            .collect();
        let account_id = "shop".parse().unwrap();
        let mark = UpdateMark::new(now);
        let write = CustomerWrite {
            expired: Some(ExpiredFences::find(&item, &update, now).unwrap()),
            ..CustomerWrite::whole(&account_id, &update, mark, WriteCondition::FieldsAreOlder)
        };
        let condition = write.expressions().condition;
        let operators: usize = [
            " AND ",
            " OR ",
            " < ",
            "attribute_exists",
            "attribute_not_exists",
        ]
        .into_iter()
        .map(|operator| condition.matches(operator).count())
        .sum();
        assert!((200..=300).contains(&operators), "{operators}");
    }
}
