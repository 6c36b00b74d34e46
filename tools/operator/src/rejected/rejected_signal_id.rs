//! The id of a rejected signal: its key in the table, and what a person types.

use std::fmt;

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::types::AttributeValue;
use model::account::AccountId;
use model::digest::Digest;
use serde::{Deserialize, Serialize};
use store::attributes::Item;

use crate::items::{partition_prefix, text};

/// The id of a rejected signal. It is the key in the table without the account, so that one read
/// finds the signal: `day#shard#requestIdentifier#index#payloadHash`. For people, there is a short
/// form.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(try_from = "String")]
pub struct RejectedSignalId(String);

/// The characters of `2026-11-20#07`.
const PARTITION_CHARS: usize = 13;

/// The digits of a hash that a short id has: 32 bits, for the rejected signals of one day, one shard and
/// one index. A short id that names two of them is refused.
const HASH_DIGITS: usize = 8;

/// The parts of a stored signal's sort key that follow from the id of the rejected one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SortKeyPattern<'a> {
    /// What the sort key begins with.
    pub(super) day: &'a str,
    /// What the sort key ends with: `#requestIdentifier#index`.
    pub(super) end: &'a str,
}

impl RejectedSignalId {
    /// The id of an item of this account.
    pub(super) fn from_item(account: &AccountId, item: &Item) -> Option<Self> {
        let partition = text(item, "pk")?.strip_prefix(&partition_prefix(account))?;
        format!("{partition}#{}", text(item, "sk")?).try_into().ok()
    }

    /// The short form: `2026-11-20-07-7ace3111-3`. Its hash is that of the whole id, since identifiers of
    /// requests may begin or end alike, such as UUIDs of version 7 or 1.
    pub fn short(&self) -> String {
        let parts: Vec<&str> = self.0.split('#').collect();
        let [day, shard, _, index, ..] = parts[..] else {
            return self.0.clone();
        };
        let mut hash = Digest::sha256(&self.0).to_hex();
        hash.truncate(HASH_DIGITS);
        let index: u16 = index.parse().unwrap_or_default();
        format!("{day}-{shard}-{hash}-{index}")
    }

    /// Whether an operator means this id by one of these names: either form may be written.
    pub fn is_one_of(&self, names: &[String]) -> bool {
        let (long, short) = (self.to_string(), self.short());
        names.iter().any(|name| *name == long || *name == short)
    }

    /// What is known of the sort key that the signal has once it is stored.
    pub(super) fn stored_sort_key(&self) -> SortKeyPattern<'_> {
        let (partition, sort) = self.0.split_at_checked(PARTITION_CHARS).unwrap_or_default();
        let (day, _) = partition.split_once('#').unwrap_or_default();
        let (end, _) = sort.rsplit_once('#').unwrap_or_default();
        SortKeyPattern { day, end }
    }

    /// The key of the item in this account.
    pub fn key(&self, account: &AccountId) -> Item {
        let (partition, sort) = self.0.split_at_checked(PARTITION_CHARS).unwrap_or_default();
        let partition = account.partition_key(partition);
        let sort = sort.trim_start_matches('#').to_owned();
        Item::from([
            ("pk".to_owned(), AttributeValue::S(partition)),
            ("sk".to_owned(), AttributeValue::S(sort)),
        ])
    }
}

/// Fails when one of these names fits more than one of these rejected signals.
///
/// # Errors
/// The name, and the whole ids that it fits.
pub fn refuse_ambiguous<'a>(
    names: &[String],
    ids: impl IntoIterator<Item = &'a RejectedSignalId>,
) -> Result<()> {
    let ids: Vec<_> = ids.into_iter().filter(|id| id.is_one_of(names)).collect();
    for name in names {
        let fits = |id: &&&RejectedSignalId| id.is_one_of(std::slice::from_ref(name));
        let fitting: Vec<_> = ids.iter().filter(fits).map(ToString::to_string).collect();
        ensure!(
            fitting.len() <= 1,
            "{name} names {} rejected signals. Give the whole id of each that you mean: {}.",
            fitting.len(),
            fitting.join(", ")
        );
    }
    Ok(())
}

impl TryFrom<String> for RejectedSignalId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let lengths: Vec<usize> = text.split('#').map(str::len).collect();
        if lengths == [10, 2, 36, 4, 16] && text.is_ascii() {
            Ok(Self(text))
        } else {
            Err("not an id of `rejected list --json`")
        }
    }
}

impl fmt::Display for RejectedSignalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids whose hashes begin with the same 32 bits.
    const ALIKE: [&str; 2] = [
        "2026-11-20#07#3fa85f64-5717-4562-b3fc-2c963f66afa6#0003#000000000000aad5",
        "2026-11-20#07#3fa85f64-5717-4562-b3fc-2c963f66afa6#0003#0000000000012609",
    ];

    #[test]
    fn id_is_the_key_without_the_account() {
        let account: AccountId = "shop".parse().unwrap();
        let parse = |text: &str| RejectedSignalId::try_from(text.to_owned());
        let id = parse("2026-11-20#07#3fa85f64-5717-4562-b3fc-2c963f66afa6#0003#00ff00ff00ff00ff")
            .unwrap();
        let key = id.key(&account);
        assert_eq!(text(&key, "pk"), Some("shop#2026-11-20#07"));
        assert_eq!(
            text(&key, "sk"),
            Some("3fa85f64-5717-4562-b3fc-2c963f66afa6#0003#00ff00ff00ff00ff")
        );
        assert_eq!(
            RejectedSignalId::from_item(&account, &key),
            Some(id.clone())
        );
        assert_eq!(
            id.stored_sort_key(),
            SortKeyPattern {
                day: "2026-11-20",
                end: "#3fa85f64-5717-4562-b3fc-2c963f66afa6#0003",
            }
        );
        assert_eq!(id.short(), "2026-11-20-07-7ace3111-3");
        assert_eq!(parse(&id.to_string()), Ok(id));
        for wrong in [
            "",
            "3fa85f64-5717-4562-b3fc-2c963f66afa6#0003",
            "shop#2026-11-20#07#x#0003",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn requests_and_payloads_that_are_alike_have_different_short_ids() {
        let ids = [
            "2026-11-20#07#01989d3a-0000-7000-8000-000000000001#0003#00ff00ff00ff00ff",
            "2026-11-20#07#01989d3a-0001-7000-8000-000000000001#0003#00ff00ff00ff00ff",
            "2026-11-20#07#01989d3a-0000-7000-8000-000000000001#0003#00ff00ff00ff00fe",
        ];
        let ids = ids.map(|id| RejectedSignalId::try_from(id.to_owned()).unwrap());
        let short = ids.each_ref().map(RejectedSignalId::short);
        assert_ne!(short[0], short[1]);
        assert_ne!(short[0], short[2]);
        assert_ne!(short[1], short[2]);
    }

    #[test]
    fn name_that_fits_two_signals_is_refused_with_the_whole_ids() {
        let ids = ALIKE.map(|id| RejectedSignalId::try_from(id.to_owned()).unwrap());
        let [first, second] = &ids;
        assert_eq!(first.short(), second.short());
        let short = first.short();
        let error = refuse_ambiguous(std::slice::from_ref(&short), &ids).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "{short} names 2 rejected signals. Give the whole id of each that you mean: {first}, {second}."
            )
        );
        let whole = [first.to_string(), second.to_string(), "other".to_owned()];
        assert!(refuse_ambiguous(&whole, &ids).is_ok());
        assert!(refuse_ambiguous(&[short], [first]).is_ok());
    }
}
