//! The one account and key of the local stack. They are published, so that an example works as it
//! is pasted; they are safe to publish because only an emulator stores them.

use anyhow::Result;
use serde_json::json;

use crate::emulator::Emulator;
use crate::template::Template;

/// The account that the development key belongs to.
pub const ACCOUNT_ID: &str = "dev";

/// The development key: known to emulators only, never to a deployed key table.
pub const API_KEY: &str =
    "intake_sk_10ca1de710ca1de710ca1de710ca1de710ca1de710ca1de710ca1de710ca1de7";

/// What the key table has of it.
const KEY_HASH: &str = "8bc842499ef9ea9052121d2a2136cd5cb427f2c265a29d969c9af1d40ee6a47e";

/// Makes the development key known to `emulator`, in the key table of `template`. Writing it again
/// changes nothing.
///
/// # Errors
/// The template declares no `ApiKeysTable`, or the emulator refuses the item.
pub fn load(emulator: &Emulator, template: &Template) -> Result<()> {
    let table = template.table("ApiKeysTable")?;
    emulator.put_item(
        &table.name,
        &json!({
            "keyHash": {"S": KEY_HASH},
            "keyId": {"S": "key_development"},
            "accountId": {"S": ACCOUNT_ID},
            "name": {"S": "development"},
            "createdAt": {"S": "2026-01-01T00:00:00.000Z"},
        }),
    )
}
