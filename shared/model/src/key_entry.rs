//! What the key table knows of an API key, and the rules about its status. This module must not
//! know where an entry is stored.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use crate::account::AccountId;
use crate::api_key::Endpoint;
use crate::timestamp::{Timestamp, epoch_seconds};

/// What is known of a key, without its hash: an item of the table ApiKeys, or a key of the snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyEntry {
    /// Identifies the key where the key itself must not appear: in logs and on the command line.
    pub key_id: String,
    /// The account whose data the key gives access to.
    pub account_id: AccountId,
    /// The name that the operator gave the key; empty in the key snapshot.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub created_at: Timestamp,
    /// When it expires; exact to the second.
    #[serde(
        with = "epoch_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub expires_at: Option<Timestamp>,
    #[serde(
        deserialize_with = "not_null",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub revoked_at: Option<Timestamp>,
    /// The only endpoint that accepts it; without one, all do.
    #[serde(
        deserialize_with = "not_null",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub only: Option<Endpoint>,
}

/// A key that expires within this time ends soon: time to rotate it.
pub const EXPIRY_NOTICE_PERIOD: Duration = Duration::from_hours(30 * 24);

/// A key whose whole lifetime is below this is short-lived. The alarms on keys in use fire 7 days
/// before the end of a key, so for a short-lived key they would fire at its first request.
const SHORT_LIFETIME: Duration = Duration::from_hours(7 * 24);

/// Whether a key is valid, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStatus {
    /// It is valid.
    Active,
    /// Its end has passed.
    Expired,
    /// It was revoked, whether or not its end has passed.
    Revoked,
}

impl KeyStatus {
    /// The word that logs and the command line show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl KeyEntry {
    /// Whether the key is valid at `now`.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.status(now) == KeyStatus::Active
    }

    /// Whether the key is valid at `now`, and if not, why.
    pub fn status(&self, now: Timestamp) -> KeyStatus {
        if self.revoked_at.is_some() {
            KeyStatus::Revoked
        } else if self.expires_at.is_some_and(|end| end <= now) {
            KeyStatus::Expired
        } else {
            KeyStatus::Active
        }
    }

    /// The time that a valid key has left, if it ends soon: within 30 days.
    pub fn ends_soon(&self, now: Timestamp) -> Option<Duration> {
        let left = self
            .expires_at
            .filter(|_| self.is_active(now))?
            .duration_since(now);
        (left < EXPIRY_NOTICE_PERIOD).then_some(left)
    }

    /// Whether the whole lifetime of the key is under 7 days. The keys of `cargo intake verify` are
    /// such keys.
    pub fn is_short_lived(&self) -> bool {
        // In seconds, as the end is, so that a key made for 7 days is not taken for a shorter one.
        let lifetime = |end: Timestamp| end.seconds().saturating_sub(self.created_at.seconds());
        self.expires_at
            .is_some_and(|end| lifetime(end) < SHORT_LIFETIME.as_secs())
    }
}

/// Reads a field that may be missing, but must not be null.
///
/// # Errors
/// When it is null, or malformed.
fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
