//! One `UpdateItem` of a customer: its expressions and its condition. This module must not know
//! which write an update needs.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use model::account::AccountId;
use model::customer::attributes::{FENCE, FENCE_ID, GENERATION, TOMBSTONE_VERSION};
use model::customer::{Change, CustomerUpdate, FieldChange};

use super::field_fences::{ExpiredFences, fence_attribute};
use crate::attributes::{attribute_value, number, string};
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
    pub(super) condition: WriteCondition<'a>,
}

/// The change of a field, and the fence that the field gets.
pub(super) struct FieldWrite<'a> {
    pub(super) change: &'a FieldChange<'a>,
    pub(super) fence: Fence,
}

/// What must be stored for the write to take place.
pub(super) enum WriteCondition<'a> {
    /// There is no item, or it has a lower fence.
    ItemIsOlder,
    /// There is no item.
    ItemIsMissing,
    /// The item is of the generation that was read, and has a lower fence than it gets. Each changed field
    /// has no fence, or a lower one than it gets, or the same where [`ReadItem::equal_fence`] permits it.
    /// Each fence that the write removes has the value that was read.
    FieldsAreOlder(ReadItem<'a>),
}

/// The item that a field-by-field write was made for.
pub(super) struct ReadItem<'a> {
    /// Which generation of the customer it is.
    pub(super) generation: &'a AttributeValue,
    pub(super) equal_fence: EqualFence,
    /// The write sets a field that has neither value nor fence, and it must not do so over a tombstone version
    /// that is not below its own fence.
    pub(super) sets_new_field: bool,
    /// The expired fences that the write removes.
    pub(super) expired: Option<ExpiredFences<'a>>,
}

/// What a write does with a field that has the same fence as the field gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EqualFence {
    /// It is refused: another update has taken the fence meanwhile.
    IsNewer,
    /// It replaces the field: the update itself, or a line of an import with the same time, has written
    /// the fence.
    IsReplaced,
}

impl EqualFence {
    fn operator(self) -> &'static str {
        match self {
            Self::IsNewer => " < ",
            Self::IsReplaced => " <= ",
        }
    }
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
        condition: WriteCondition<'a>,
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
            .set_expression_attribute_names(Some(names))
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
        if let WriteCondition::FieldsAreOlder(read) = &self.condition {
            expressions.add_read_item(read);
        }
        expressions
    }

    /// The expressions of the attributes that every write sets.
    fn common_expressions(&self) -> Expressions {
        let fields = self.fields.len();
        // The item that a write creates gets a random generation. Each call has its own generation: a
        // call that reaches DynamoDB late, after an erasure, creates another item than its first.
        let set = format!(
            "SET accountId = :account, customerId = :customer, {FENCE} = :fence, \
             {FENCE_ID} = :id, updatedAt = :updatedAt, \
             createdAt = if_not_exists(createdAt, :updatedAt), \
             #generation = if_not_exists(#generation, :generation)"
        );
        let condition = match self.condition {
            WriteCondition::ItemIsOlder => {
                format!("attribute_not_exists({FENCE}) OR {FENCE} < :fence")
            }
            WriteCondition::ItemIsMissing => "attribute_not_exists(pk)".to_owned(),
            WriteCondition::FieldsAreOlder(_) => {
                format!("attribute_exists(pk) AND {FENCE} < :fence")
            }
        };
        // Maps of their final size, because a map that grows hashes its keys again.
        let mut names = HashMap::with_capacity(fields.saturating_mul(2).saturating_add(1));
        let mut values = HashMap::with_capacity(fields.saturating_add(7));
        let updated_at = self.item_fence.timestamp().to_string();
        values.insert(":account".to_owned(), string(self.account_id.as_str()));
        values.insert(":customer".to_owned(), string(self.customer_id));
        values.insert(":fence".to_owned(), self.item_fence.attribute());
        values.insert(":id".to_owned(), self.mark.id_attribute());
        values.insert(":updatedAt".to_owned(), string(updated_at));
        values.insert(":generation".to_owned(), number(fastrand::u64(..)));
        names.insert("#generation".to_owned(), GENERATION.to_owned());
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
        if let WriteCondition::FieldsAreOlder(read) = &write.condition {
            self.require_lower_or_absent(&fence_alias, read.equal_fence, &fence_value);
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

    /// Requires the generation that was read, and removes expired fences.
    fn add_read_item(&mut self, read: &ReadItem<'_>) {
        let generation = read.generation.clone();
        self.condition.push_str(" AND #generation = :read");
        self.values.insert(":read".to_owned(), generation);
        if read.sets_new_field {
            self.require_lower_or_absent("#tombstone", EqualFence::IsNewer, ":fieldFence");
        }
        if let Some(expired) = &read.expired {
            self.add_expired(expired);
        }
        if read.sets_new_field || read.expired.is_some() {
            self.names
                .insert("#tombstone".to_owned(), TOMBSTONE_VERSION.to_owned());
        }
    }

    /// The highest of the removed fences becomes the tombstone version, unless a higher one is the tombstone version already.
    fn add_expired(&mut self, expired: &ExpiredFences<'_>) {
        for (index, expired) in expired.fences.iter().enumerate() {
            let alias = format!("#e{index}");
            let value = format!(":e{index}");
            self.add_removed(&alias);
            self.condition.extend([" AND ", &alias, " = ", &value]);
            self.names.insert(alias, expired.attribute.to_owned());
            self.values.insert(value, expired.fence.attribute());
        }
        self.require_lower_or_absent("#tombstone", EqualFence::IsReplaced, ":tombstone");
        self.set.push_str(", #tombstone = :tombstone");
        self.values.insert(
            ":tombstone".to_owned(),
            expired.tombstone_version.attribute(),
        );
    }

    /// Requires that a fence is absent, or lower than a value, or equal to it where that is permitted.
    fn require_lower_or_absent(&mut self, alias: &str, equal_fence: EqualFence, value: &str) {
        self.condition.extend([
            " AND (attribute_not_exists(",
            alias,
            ") OR ",
            alias,
            equal_fence.operator(),
            value,
            ")",
        ]);
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
    use model::customer::PROFILE_FIELDS;
    use model::customer::attributes::FENCE_PREFIX;
    use model::json::JsonText;
    use model::limits::MAX_UNKNOWN_FIELDS;
    use model::timestamp::Timestamp;

    use super::*;
    use crate::attributes::Item;

    #[test]
    fn largest_write_is_within_dynamodbs_limits_of_expressions() {
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
        let generation = number(1);
        let read = ReadItem {
            generation: &generation,
            equal_fence: EqualFence::IsReplaced,
            sets_new_field: true,
            expired: ExpiredFences::find(&item, &update, now).unwrap(),
        };
        let condition = WriteCondition::FieldsAreOlder(read);
        let write = CustomerWrite::whole(&account_id, &update, mark, condition);
        let expressions = write.expressions();
        let operators: usize = [
            " AND ",
            " OR ",
            " < ",
            " <= ",
            " = ",
            "attribute_exists",
            "attribute_not_exists",
        ]
        .into_iter()
        .map(|operator| expressions.condition.matches(operator).count())
        .sum();
        assert!((250..=300).contains(&operators), "{operators}");
        // The longest expression that DynamoDB takes, in bytes.
        assert!(
            expressions.condition.len() <= 4_096,
            "{}",
            expressions.condition.len()
        );
        let update_expression = expressions.set + &expressions.remove;
        assert!(
            update_expression.len() <= 4_096,
            "{}",
            update_expression.len()
        );
    }
}
