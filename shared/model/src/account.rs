//! Whose data it is.

use std::fmt;
use std::str::FromStr;

/// The longest account name, in characters (SPEC 2.7).
pub const MAX_ACCOUNT_ID_CHARS: usize = 64;

/// The name of an account: 1 to 64 of `A-Z a-z 0-9 _ -` (SPEC 2.7).
///
/// Since it holds no `#`, what stands before the first `#` of a partition key is the account, whatever follows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(String);

impl AccountId {
    /// The name itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The partition key of what `name` names within this account.
    #[must_use]
    pub fn partition_key(&self, name: &str) -> String {
        format!("{}#{name}", self.0)
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no account name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidAccountId;

impl fmt::Display for InvalidAccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an account name is 1 to {MAX_ACCOUNT_ID_CHARS} of the characters A-Z, a-z, 0-9, _ and -")
    }
}

impl std::error::Error for InvalidAccountId {}

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
    fn an_account_name_holds_nothing_that_could_end_it() {
        for good in ["a", "shop-1_EU", &"x".repeat(64)] {
            assert_eq!(good.parse::<AccountId>().unwrap().as_str(), good);
        }
        for bad in ["", "a#b", "a b", "ä", "a/b", &"x".repeat(65)] {
            assert_eq!(bad.parse::<AccountId>(), Err(InvalidAccountId), "{bad}");
        }
    }
}
