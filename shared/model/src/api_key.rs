//! An API key, which cannot be printed; its hash, which is all that is stored; and the endpoint
//! that it may be restricted to.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, VERIFICATION_PREFIX};
use crate::digest::Digest;

/// The prefix of every generated key, by which secret scanners recognize a leaked one.
pub const KEY_PREFIX: &str = "intake_sk_";

/// The prefix of a verification key, which is accepted only for accounts of `cargo intake verify`
/// (docs/api.md, API keys).
pub const VERIFICATION_KEY_PREFIX: &str = "intake_vk_";

/// A new key: a prefix and 256 random bits in hexadecimal (docs/api.md, API keys).
pub struct ApiKey(String);

impl ApiKey {
    /// Generates a key.
    ///
    /// # Errors
    /// When the system's random generator fails.
    pub fn random() -> Result<Self, getrandom::Error> {
        Self::random_with(KEY_PREFIX)
    }

    /// Generates a verification key.
    ///
    /// # Errors
    /// When the system's random generator fails.
    pub fn random_for_verification() -> Result<Self, getrandom::Error> {
        Self::random_with(VERIFICATION_KEY_PREFIX)
    }

    fn random_with(prefix: &str) -> Result<Self, getrandom::Error> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits)?;
        Ok(Self(format!("{prefix}{}", HEXLOWER.encode(&bits))))
    }

    /// The key itself, to be shown once, when it is created.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> KeyHash {
        KeyHash::from_key(&self.0)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// An endpoint that a key can be restricted to (docs/api.md, API keys).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Endpoint {
    /// `/api/customers`.
    Customers,
    /// `/api/event-flows/signal`.
    Signals,
}

impl Endpoint {
    /// Every endpoint that has keys.
    pub const ALL: [Self; 2] = [Self::Customers, Self::Signals];

    /// The name by which the key table stores it and the command line takes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Customers => "customers",
            Self::Signals => "signals",
        }
    }
}

/// SHA-256 of a key, and whether it is a verification key. A key has 256 random bits, so a hash
/// without salt is enough.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyHash {
    digest: Digest,
    is_for_verification: bool,
}

impl KeyHash {
    pub fn from_key(key: impl AsRef<[u8]>) -> Self {
        let is_for_verification = key.as_ref().starts_with(VERIFICATION_KEY_PREFIX.as_bytes());
        Self {
            digest: Digest::sha256(key),
            is_for_verification,
        }
    }

    /// Whether the key is accepted for this account. A verification key is accepted only for the
    /// accounts of `cargo intake verify`, even if its entry names another account.
    pub fn is_accepted_for(self, account_id: &AccountId) -> bool {
        !self.is_for_verification || account_id.is_for_verification()
    }

    pub fn is_for_verification(self) -> bool {
        self.is_for_verification
    }

    /// The partition key of the item in the key table: 64 lower-case hexadecimal digits, after
    /// `verify-` for a verification key.
    pub fn partition_key(self) -> String {
        let prefix = if self.is_for_verification {
            VERIFICATION_PREFIX
        } else {
            ""
        };
        format!("{prefix}{}", self.digest.to_hex())
    }
}

/// A text that is not the partition key of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the hash of a key")]
pub struct InvalidKeyHash;

impl TryFrom<String> for KeyHash {
    type Error = InvalidKeyHash;

    fn try_from(text: String) -> Result<Self, InvalidKeyHash> {
        text.parse()
    }
}

impl From<KeyHash> for String {
    fn from(hash: KeyHash) -> Self {
        hash.partition_key()
    }
}

impl FromStr for KeyHash {
    type Err = InvalidKeyHash;

    /// Parses what [`KeyHash::partition_key`] writes.
    fn from_str(text: &str) -> Result<Self, InvalidKeyHash> {
        let (hex, is_for_verification) = match text.strip_prefix(VERIFICATION_PREFIX) {
            Some(hex) => (hex, true),
            None => (text, false),
        };
        Ok(Self {
            digest: Digest::from_hex(hex).ok_or(InvalidKeyHash)?,
            is_for_verification,
        })
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_keys_have_the_prefix_and_256_bits_and_differ() {
        let (one, two) = (ApiKey::random().unwrap(), ApiKey::random().unwrap());
        assert_eq!(one.expose_secret().len(), KEY_PREFIX.len() + 64);
        assert!(one.expose_secret().starts_with(KEY_PREFIX));
        assert_ne!(one.expose_secret(), two.expose_secret());
    }

    #[test]
    fn debug_output_of_a_key_hides_its_value() {
        let key = ApiKey::random().unwrap();
        assert_eq!(
            format!("{key:?} {:?}", key.hash()),
            "ApiKey(..) KeyHash(..)"
        );
    }

    #[test]
    fn partition_key_is_the_sha_256_in_hex_and_tells_verification_keys() {
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(KeyHash::from_key("abc").partition_key(), hex);
        let (other, verification) = (
            ApiKey::random().unwrap(),
            ApiKey::random_for_verification().unwrap(),
        );
        assert_eq!(
            verification.expose_secret().len(),
            VERIFICATION_KEY_PREFIX.len() + 64
        );
        let sha_256 = Digest::sha256(verification.expose_secret()).to_hex();
        assert_eq!(
            verification.hash().partition_key(),
            format!("verify-{sha_256}")
        );
        for hash in [other.hash(), verification.hash()] {
            assert_eq!(hash.partition_key().parse(), Ok(hash));
        }
        for invalid in ["", "verify-", "ba78", &hex.to_uppercase(), "verify-verify-"] {
            assert_eq!(invalid.parse::<KeyHash>(), Err(InvalidKeyHash), "{invalid}");
        }
    }
}
