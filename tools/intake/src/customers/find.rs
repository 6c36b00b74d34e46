//! `customers find`: the customers with an email address. Must not know how signals are stored.
//!
//! People write an address in several ways: two addresses are the same when they differ only in case,
//! in their Unicode form and in the white space around them (a compatibility caseless match: the
//! Unicode Standard, section 3.13, D146).

use anyhow::Result;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;
use icu_casemap::CaseMapper;
use icu_normalizer::DecomposingNormalizerBorrowed;
use model::account::AccountId;
use operator::items::{Json, get_item, item_key, scan_table, text};
use store::attributes::Item;

use super::profile_json;
use crate::output::{Format, PrintedTable, note};
use crate::stack::Stack;
use crate::stack::variables::CUSTOMERS_TABLE;

#[derive(Args, Debug)]
pub(crate) struct FindCustomers {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The email address
    #[arg(long, value_name = "ADDRESS")]
    email: String,
}

/// The member of a line of JSON that says whether the address is exactly the given one.
const EXACT_MATCH: &str = "exactMatch";

impl FindCustomers {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Self { account, email } = self;
        let mut keys = self.find_keys(stack).await?;
        if keys.is_empty() {
            note(&format!(
                "No customer of the account {account} has this email address."
            ));
            return Ok(());
        }
        keys.sort_by(|one, other| text(one, "pk").cmp(&text(other, "pk")));
        let heading = [
            "CUSTOMER ID",
            "FIRST NAME",
            "LAST NAME",
            "UPDATED",
            "MATCH",
            "EMAIL",
        ];
        let mut rows = PrintedTable::new(format, heading);
        let table_name = stack.table_name(CUSTOMERS_TABLE)?;
        for key in keys {
            let Some(customer) = get_item(&stack.dynamodb, table_name, key, note).await? else {
                // It was erased meanwhile.
                continue;
            };
            let cell = |name: &str| text(&customer, name).unwrap_or_default();
            let is_exact = cell("email") == email;
            let cells = [
                cell("customerId"),
                cell("firstName"),
                cell("lastName"),
                cell("updatedAt"),
                if is_exact { "exact" } else { "similar" },
                cell("email"),
            ];
            let exact_match = AttributeValue::Bool(is_exact);
            let mut json = profile_json(&customer);
            json.insert(EXACT_MATCH, Json(&exact_match));
            rows.add(&json, cells)?;
        }
        rows.print()
    }

    /// Reads the whole table: no index has the email addresses.
    async fn find_keys(&self, stack: &Stack) -> Result<Vec<Item>> {
        // A consistent scan would cost twice as much.
        let select = |call: ScanFluentBuilder| {
            let account = AttributeValue::S(self.account.to_string());
            call.filter_expression("accountId = :account AND attribute_exists(email)")
                .expression_attribute_values(":account", account)
                .projection_expression("pk, email")
        };
        let wanted = comparable(&self.email);
        let is_wanted =
            |item: &&Item| text(item, "email").is_some_and(|email| comparable(email) == wanted);
        let table_name = stack.table_name(CUSTOMERS_TABLE)?;
        let mut keys = Vec::new();
        scan_table(&stack.dynamodb, table_name, note, select, async |page| {
            let found = page.items().iter().filter(is_wanted);
            keys.extend(found.map(|item| item_key(item, &["pk"])));
            Ok(())
        })
        .await?;
        Ok(keys)
    }
}

/// An address in the form in which all ways to write it are equal.
fn comparable(address: &str) -> String {
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(address);
    // Decomposition may make what folds further: the definition folds twice.
    let folded = fold(&fold(&decomposed));
    folded.trim().to_owned()
}

fn fold(text: &str) -> String {
    let folded = CaseMapper::new().fold_string(text);
    DecomposingNormalizerBorrowed::new_nfkd()
        .normalize(&folded)
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_differ_in_case_form_and_white_space_are_the_same() {
        for (one, other) in [
            ("Ada@Example.com", "ada@example.com"),
            (" ada@example.com\t", "ada@example.com"),
            ("\u{a0}ada@example.com\u{3000}", "ada@example.com"),
            // The same letter in one character and in two.
            ("jos\u{e9}@example.com", "JOSE\u{301}@EXAMPLE.COM"),
            // Full width, as Japanese keyboards write it.
            ("\u{ff21}da\u{ff20}example.com", "ada@example.com"),
            ("stra\u{df}e@example.com", "STRASSE@example.com"),
            ("\u{3a3}@example.com", "\u{3c2}@example.com"),
        ] {
            assert_eq!(comparable(one), comparable(other), "{one:?} {other:?}");
        }
        for (one, other) in [
            ("ada@example.com", "ada@example.org"),
            ("ada@example.com", "a da@example.com"),
            ("jose@example.com", "jos\u{e9}@example.com"),
        ] {
            assert_ne!(comparable(one), comparable(other), "{one:?} {other:?}");
        }
    }
}
