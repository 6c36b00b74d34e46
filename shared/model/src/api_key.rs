//! An API key, which cannot be printed; its hash, which is all that is stored; and the endpoint that it may be restricted to.

use std::fmt;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The prefix of every generated key, by which secret scanners recognize a leaked one.
pub const KEY_PREFIX: &str = "intake_sk_";

/// A new key: [`KEY_PREFIX`] and 256 random bits in hexadecimal (docs/api.md, API keys).
pub struct ApiKey(String);

impl ApiKey {
    /// Generates a key.
    ///
    /// # Errors
    /// When the system's random generator fails.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits)?;
        Ok(Self(format!("{KEY_PREFIX}{}", HEXLOWER.encode(&bits))))
    }

    /// The key itself, to be shown once, when it is created.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    /// Its hash.
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(&self.0)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// An endpoint that a key can be restricted to (docs/api.md, API keys).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Endpoint {
    /// `/api/customers`.
    Customers,
    /// `/api/event-flows/signal`.
    Signals,
}

impl Endpoint {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Customers, Self::Signals];

    /// As it is stored and as the command line takes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Customers => "customers",
            Self::Signals => "signals",
        }
    }
}

/// SHA-256 of a key. A key has 256 random bits, so a hash without salt is enough.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(Digest);

impl KeyHash {
    /// The hash of a key.
    pub fn of(key: impl AsRef<[u8]>) -> Self {
        Self(Digest::of(key))
    }

    /// 64 lower-case hexadecimal digits, as in the key table.
    pub fn to_hex(self) -> String {
        self.0.to_hex()
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
        assert_eq!(format!("{key:?} {:?}", key.hash()), "ApiKey(..) KeyHash(..)");
    }

    #[test]
    fn hash_is_sha_256_in_hex() {
        assert_eq!(KeyHash::of("abc").to_hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
