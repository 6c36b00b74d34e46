//! SHA-256, of keys and of bodies.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. It cannot be printed by accident: what it is of may be a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several texts, each with its length before it, so that no other texts have the same.
    #[must_use]
    pub fn of_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut digest = Sha256::new();
        for text in texts {
            digest.update(text.len().to_be_bytes());
            digest.update(text);
        }
        Self(digest.finalize().into())
    }

    /// 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(..)")
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8; 32]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)]).collect()
}
