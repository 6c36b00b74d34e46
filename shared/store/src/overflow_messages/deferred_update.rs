//! The message of a deferred update of a customer: the changes as they were sent, and the mark of
//! the request's attempts. So an attempt that takes effect late and the drain make the same write.

use std::borrow::Cow;

use model::account::AccountId;
use model::customer::{Change, CustomerUpdate, FieldChange};
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::format::{UPDATE, VERSION, message};
use crate::fence::UpdateMark;

/// The members of the message beside the update itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeferredUpdateHead<'a> {
    version: u32,
    pub account_id: Cow<'a, AccountId>,
    /// The API key, for the operator.
    pub key_id: Cow<'a, str>,
    /// The mark that the attempts of the request had.
    #[serde(flatten)]
    pub mark: UpdateMark,
}

/// The whole message. It is read like a request, which ignores what the message has beside the
/// update.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeferredUpdateMessage<'a> {
    #[serde(flatten)]
    head: DeferredUpdateHead<'a>,
    customer_id: &'a str,
    #[serde(serialize_with = "changes")]
    customer_data: &'a CustomerUpdate<'a>,
}

/// The message for an update, as JSON.
pub fn update_message(
    account_id: &AccountId,
    key_id: &str,
    mark: UpdateMark,
    update: &CustomerUpdate<'_>,
) -> String {
    let members = DeferredUpdateMessage {
        head: DeferredUpdateHead {
            version: VERSION,
            account_id: Cow::Borrowed(account_id),
            key_id: key_id.into(),
            mark,
        },
        customer_id: update.customer_id(),
        customer_data: update,
    };
    message(UPDATE, &members)
}

fn changes<S: Serializer>(update: &CustomerUpdate<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(update.changes().len()))?;
    for FieldChange { name, change } in update.changes() {
        let value: Option<&RawValue> = match change {
            Change::Set(value) => {
                Some(serde_json::from_str(value.as_str()).map_err(S::Error::custom)?)
            }
            Change::Remove => None,
        };
        map.serialize_entry(name, &value)?;
    }
    map.end()
}
