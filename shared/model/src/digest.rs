//! SHA-256 of keys, bodies and payloads.

use std::fmt;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. `Debug` does not print it, since the input may be a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The SHA-256 digest of `bytes`.
    pub fn sha256(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several texts. Each is preceded by its length, so that texts split differently
    /// have another digest.
    pub fn sha256_of_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut digest = Sha256::new();
        for text in texts {
            digest.update(text.len().to_be_bytes());
            digest.update(text);
        }
        Self(digest.finalize().into())
    }

    /// The digest that [`Self::to_hex`] wrote; `None` for another text.
    pub fn from_hex(hex: &str) -> Option<Self> {
        HEXLOWER
            .decode(hex.as_bytes())
            .ok()?
            .try_into()
            .ok()
            .map(Self)
    }

    /// The digest as 64 lower-case hexadecimal digits.
    pub fn to_hex(self) -> String {
        HEXLOWER.encode(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(..)")
    }
}
