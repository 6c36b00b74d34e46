//! The API key of a request: which account it belongs to, how it is shown without telling it, and
//! why a function found none. Must not know what a request does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, ORIGIN};
use emulator::Emulator;
use emulator::development_key::API_KEY;
use model::api_key::{KEY_PREFIX, KeyHash, VERIFICATION_KEY_PREFIX};
use serde_json::{Value, json};
use service::problem::{AuthorizationFault, Unauthorized};

/// The shortest key whose first characters are shown, in characters. Keys of other systems have 32
/// or more.
const MIN_SHOWN_CHARS: usize = 32;

/// What every key of Intake begins with.
const START_OF_KEYS: &str = "intake_";

/// The table of API keys.
pub(crate) struct ApiKeyTable {
    emulator: Arc<Emulator>,
    name: String,
    /// The keys that were found. A key never changes its account or its id, so a request waits for the
    /// table only when its key is new.
    found: Mutex<HashMap<String, StoredKey>>,
}

/// What an item of the table tells of its key.
#[derive(Clone, Default)]
struct StoredKey {
    id: Option<String>,
    account: Option<String>,
}

/// What is known of the key of a request.
#[derive(Default)]
pub(crate) struct SentKey {
    /// The `Authorization` header without the key, if there is one.
    pub(crate) shown: Option<String>,
    /// The account of the key, also if the key is not valid any more.
    pub(crate) account: Option<String>,
}

impl ApiKeyTable {
    pub(crate) fn new(emulator: Arc<Emulator>, name: String) -> Self {
        Self {
            emulator,
            name,
            found: Mutex::default(),
        }
    }

    /// Looks up the key of a request with these headers.
    pub(crate) async fn look_up(&self, headers: &HeaderMap) -> SentKey {
        let Some(credential) = Credential::read(headers) else {
            return SentKey::default();
        };
        let key = &credential.key;
        let stored = self.find(KeyHash::from_key(key).partition_key()).await;
        let shown = shown_key(key, stored.id.as_deref());
        let header = format!("{} {shown}", credential.scheme);
        SentKey {
            shown: Some(header.trim_start().to_owned()),
            account: stored.account,
        }
    }

    /// The key with this hash. One that is not stored has neither id nor account.
    async fn find(&self, hash: String) -> StoredKey {
        let known = self.use_found(|found| found.get(&hash).cloned());
        if let Some(stored) = known {
            return stored;
        }
        let (emulator, name, key) = (Arc::clone(&self.emulator), self.name.clone(), hash.clone());
        // The table responds after the call that it does at the time, which may take seconds.
        let reading = tokio::task::spawn_blocking(move || read(&emulator, &name, &key));
        let Ok(Ok(Some(stored))) = reading.await else {
            return StoredKey::default();
        };
        self.use_found(|found| found.insert(hash, stored.clone()));
        stored
    }

    fn use_found<T>(&self, work: impl FnOnce(&mut HashMap<String, StoredKey>) -> T) -> T {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut found)
    }
}

/// Reads the key with this hash from the table.
fn read(emulator: &Emulator, table: &str, hash: &str) -> Result<Option<StoredKey>> {
    let item = emulator.item(table, &json!({"keyHash": {"S": hash}}))?;
    Ok(item.map(|item| {
        let text = |name| {
            let value = item.pointer(&format!("/{name}/S"));
            value.and_then(Value::as_str).map(str::to_owned)
        };
        StoredKey {
            id: text("keyId"),
            account: text("accountId"),
        }
    }))
}

/// A key as it is shown: the development key by its variable, others by their beginning, their
/// length and the id of the stored key.
fn shown_key(key: &str, id: Option<&str>) -> String {
    if key.is_empty() {
        return "(no key)".to_owned();
    }
    if key == API_KEY {
        return "$API_KEY".to_owned();
    }
    let chars = key.chars().count();
    let shown_chars = if chars < MIN_SHOWN_CHARS { 0 } else { 4 };
    let mut prefixes = [KEY_PREFIX, VERIFICATION_KEY_PREFIX].into_iter();
    let start = match prefixes.find(|prefix| key.starts_with(prefix)) {
        Some(prefix) => prefix.to_owned(),
        None => key.chars().take(shown_chars).collect(),
    };
    match id {
        Some(id) => format!("{start}… ({chars} characters, {id})"),
        None => format!("{start}… ({chars} characters)"),
    }
}

/// A text with each key in it as it is shown, wherever the client has put the key.
pub(crate) fn without_keys(text: &str) -> String {
    replace_keys(text, |key| shown_key(key, None))
}

/// A text with each key in it as it is shown, but the development key as it is.
pub(crate) fn without_other_keys(text: &str) -> String {
    replace_keys(text, |key| match key {
        API_KEY => key.to_owned(),
        _ => shown_key(key, None),
    })
}

/// Replaces each key of Intake in a text.
fn replace_keys(text: &str, replacement: impl Fn(&str) -> String) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(START_OF_KEYS) {
        let (before, from_start) = rest.split_at(start);
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let length = from_start.find(is_end).unwrap_or(from_start.len());
        let (word, after) = from_start.split_at(length);
        replaced += before;
        if is_key(word) {
            replaced += &replacement(word);
        } else {
            replaced += word;
        }
        rest = after;
    }
    replaced + rest
}

fn is_key(word: &str) -> bool {
    let after_prefix = [KEY_PREFIX, VERIFICATION_KEY_PREFIX]
        .into_iter()
        .find_map(|prefix| word.strip_prefix(prefix));
    after_prefix.is_some_and(|after| !after.is_empty())
}

/// Why a function found no valid key in these headers.
pub(crate) fn why_unauthorized(unauthorized: Unauthorized, headers: &HeaderMap) -> String {
    let Unauthorized { reason, fault } = unauthorized;
    let reason = reason.as_str();
    let page_hint = if fault == Some(AuthorizationFault::NoHeader) && headers.contains_key(ORIGIN) {
        " (a page sends one only after a preflight, so neither with mode: \"no-cors\" nor with sendBeacon)"
    } else {
        ""
    };
    match fault {
        Some(fault) => format!("{reason}: {fault}{page_hint}"),
        None => reason.to_owned(),
    }
}

/// The value of the `Authorization` header. A part that is missing is empty.
struct Credential {
    scheme: String,
    key: String,
}

impl Credential {
    fn read(headers: &HeaderMap) -> Option<Self> {
        let header = headers.get(AUTHORIZATION)?;
        let text = String::from_utf8_lossy(header.as_bytes());
        let text = text.trim();
        if let Some((scheme, key)) = text.split_once(' ') {
            return Some(Self {
                scheme: scheme.to_owned(),
                key: key.trim().to_owned(),
            });
        }
        let is_scheme = text.is_empty() || text.eq_ignore_ascii_case("bearer");
        let (scheme, key) = if is_scheme { (text, "") } else { ("", text) };
        Some(Self {
            scheme: scheme.to_owned(),
            key: key.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_in_a_text_is_replaced_and_no_other_word() {
        let other = format!("{KEY_PREFIX}{}", "0".repeat(64));
        let verification = format!("{VERIFICATION_KEY_PREFIX}1");
        let text = format!(
            r#"{{"a":"{API_KEY}\n{other}","intake_sk_":"intake_prod {verification}"}}?key=x{other}&"#
        );
        let shown = "intake_sk_… (74 characters)";
        assert_eq!(
            without_keys(&text),
            format!(
                r#"{{"a":"$API_KEY\n{shown}","intake_sk_":"intake_prod intake_vk_… (11 characters)"}}?key=x{shown}&"#
            )
        );
        let kept = without_other_keys(&text);
        assert!(kept.contains(API_KEY) && !kept.contains(&other), "{kept}");
        for prefix in [KEY_PREFIX, VERIFICATION_KEY_PREFIX] {
            assert!(prefix.starts_with(START_OF_KEYS));
        }
    }
}
