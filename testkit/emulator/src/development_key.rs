//! The one account and key of the local stack. They are published, so that an example works as it is pasted; they are
//! safe to publish because only an emulator stores them.

use anyhow::Result;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::emulator::Emulator;
use crate::template::Template;

/// The account that the development key belongs to.
pub const ACCOUNT_ID: &str = "dev";

/// The development key: known to emulators only, never to a deployed key table.
pub const API_KEY: &str = "intake_sk_10ca1de710ca1de710ca1de710ca1de710ca1de710ca1de710ca1de710ca1de7";

/// Makes the development key known to `emulator`, in the key table of `template`. Writing it again changes nothing.
///
/// # Errors
/// The template declares no `ApiKeysTable`, or the emulator refuses the item.
pub fn load(emulator: &Emulator, template: &Template) -> Result<()> {
    let table = template.table("ApiKeysTable")?;
    let key_hash: String = Sha256::digest(API_KEY)
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect();
    emulator.put_item(
        &table.name,
        &json!({
            "keyHash": {"S": key_hash},
            "keyId": {"S": "key_development"},
            "accountId": {"S": ACCOUNT_ID},
            "name": {"S": "development"},
            "createdAt": {"S": "2026-01-01T00:00:00.000Z"},
        }),
    )
}
