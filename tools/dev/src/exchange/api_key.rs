//! The API key of a request: whose it is, how it is shown without being told, and what is wrong
//! where none was found. Must not know what a request does.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, ORIGIN};
use emulator::Emulator;
use emulator::development_key::API_KEY;
use model::api_key::{KEY_PREFIX, KeyHash, VERIFICATION_KEY_PREFIX};
use serde_json::json;

/// The shortest key whose first characters are shown, in characters: those of other systems have 32
/// or more.
const MIN_SHOWN_CHARS: usize = 32;

/// The table of API keys.
pub(crate) struct ApiKeyTable {
    pub(crate) emulator: Arc<Emulator>,
    pub(crate) name: String,
}

/// What is known of the key of a request.
#[derive(Default)]
pub(crate) struct SentKey {
    /// The `Authorization` header without the key, if there is one.
    pub(crate) shown: Option<String>,
    /// The account of the key, also of one that is not valid any more.
    pub(crate) account: Option<String>,
}

impl ApiKeyTable {
    /// The key of a request with these headers.
    pub(crate) fn read(&self, headers: &HeaderMap) -> SentKey {
        let Some((scheme, key)) = credential(headers) else {
            return SentKey::default();
        };
        let hash = json!({"keyHash": {"S": KeyHash::from_key(&key).partition_key()}});
        let found = self.emulator.item(&self.name, &hash).ok().flatten();
        let text = |name| {
            found
                .as_ref()?
                .pointer(&format!("/{name}/S"))?
                .as_str()
                .map(str::to_owned)
        };
        let chars = key.chars().count();
        let shown = match key.as_str() {
            "" => "(no key)".to_owned(),
            API_KEY => "$API_KEY".to_owned(),
            key => {
                let prefix = [KEY_PREFIX, VERIFICATION_KEY_PREFIX]
                    .into_iter()
                    .find(|prefix| key.starts_with(prefix));
                let first = || {
                    key.chars()
                        .take(if chars < MIN_SHOWN_CHARS { 0 } else { 4 })
                        .collect()
                };
                let id = text("keyId")
                    .map(|id| format!(", {id}"))
                    .unwrap_or_default();
                format!(
                    "{}… ({chars} characters{id})",
                    prefix.map_or_else(first, str::to_owned)
                )
            }
        };
        SentKey {
            shown: Some(format!("{scheme} {shown}").trim_start().to_owned()),
            account: text("accountId"),
        }
    }
}

/// Why a function found no key in these headers.
pub(crate) fn why_missing(headers: &HeaderMap) -> String {
    let why = match credential(headers) {
        None => "no Authorization header".to_owned(),
        Some((scheme, _)) if scheme.is_empty() => {
            "the Authorization header has no scheme: send Bearer and the key".to_owned()
        }
        Some((scheme, key)) if key.is_empty() => {
            format!("no key after {scheme} in the Authorization header")
        }
        Some((scheme, _)) => {
            format!("the Authorization header has the scheme {scheme}, not Bearer")
        }
    };
    let of_page = if headers.contains_key(ORIGIN) && !headers.contains_key(AUTHORIZATION) {
        " (a page sends one only after a preflight, so neither with mode: \"no-cors\" nor with sendBeacon)"
    } else {
        ""
    };
    format!("missing: {why}{of_page}")
}

/// The scheme and the value of the `Authorization` header, each empty where it is not there.
fn credential(headers: &HeaderMap) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(headers.get(AUTHORIZATION)?.as_bytes())
        .trim()
        .to_owned();
    Some(match text.split_once(' ') {
        Some((scheme, key)) => (scheme.to_owned(), key.trim().to_owned()),
        None if text.eq_ignore_ascii_case("bearer") || text.is_empty() => (text, String::new()),
        None => (String::new(), text),
    })
}
