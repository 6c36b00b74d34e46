//! Accounts: the owners of customers and signals.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest account name, in characters (docs/api.md, API keys).
pub const MAX_ACCOUNT_ID_CHARS: usize = 64;

/// The prefix of the accounts of `cargo intake verify`, and of the partition keys of its API keys.
/// The role that verifies may touch only items with this prefix (deploy/deployment-role.yaml).
pub const VERIFICATION_PREFIX: &str = "verify-";

/// The name of an account: 1 to 64 of `A-Z a-z 0-9 _ -` (docs/api.md, API keys).
///
/// It contains no `#`, so the account is the part of a partition key before the first `#`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct AccountId(String);

impl AccountId {
    /// The name: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is an account of `cargo intake verify`.
    pub fn is_for_verification(&self) -> bool {
        self.0.starts_with(VERIFICATION_PREFIX)
    }

    /// The partition key of `id` in this account.
    pub fn partition_key(&self, id: &str) -> String {
        format!("{}#{id}", self.0)
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is not an account name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an account name is 1 to {MAX_ACCOUNT_ID_CHARS} of the characters A-Z, a-z, 0-9, _ and -")]
pub struct InvalidAccountId;

impl TryFrom<String> for AccountId {
    type Error = InvalidAccountId;

    fn try_from(text: String) -> Result<Self, InvalidAccountId> {
        text.parse()
    }
}

impl FromStr for AccountId {
    type Err = InvalidAccountId;

    fn from_str(text: &str) -> Result<Self, InvalidAccountId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if (1..=MAX_ACCOUNT_ID_CHARS).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidAccountId)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_id_has_only_letters_digits_hyphens_and_underscores() {
        for valid in ["a", "shop-1_EU"] {
            assert_eq!(valid.parse::<AccountId>().unwrap().as_str(), valid);
        }
        for invalid in ["a#b", "a b", "ä", "a/b"] {
            assert_eq!(
                invalid.parse::<AccountId>(),
                Err(InvalidAccountId),
                "{invalid}"
            );
        }
    }

    #[test]
    fn account_id_has_1_to_64_characters() {
        for length in [1, 64] {
            let valid = "x".repeat(length);
            assert_eq!(valid.parse::<AccountId>().unwrap().as_str(), valid);
        }
        for length in [0, 65] {
            let invalid = "x".repeat(length);
            assert_eq!(
                invalid.parse::<AccountId>(),
                Err(InvalidAccountId),
                "{length}"
            );
        }
    }
}
