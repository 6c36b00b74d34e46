//! What a request to the inspector's API asks for: its parameters, and the last part of its path. An
//! unknown name or an invalid value is an error, which says what is valid. Must not know the
//! response.

use std::error::Error as _;
use std::time::Duration;

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use emulator::development_key::ACCOUNT_ID;
use memchr::memmem::Finder;
use model::account::AccountId;
use serde::de::DeserializeOwned;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::response::ApiError;
use crate::exchange::Exchange;
use crate::exchange::signal::{ShownSignal, ShownVerdict};

/// The longest that a request may wait, in seconds.
const MAX_WAIT_SECONDS: u64 = 60;

/// The parameters of a request.
pub(super) struct Parameters<T>(pub(super) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(rejection) => {
                let why = rejection.source().map(ToString::to_string);
                let why = why.unwrap_or_else(|| rejection.to_string());
                Err(ApiError::bad_request(format!(
                    "The parameters cannot be used: {why}."
                )))
            }
        }
    }
}

/// The part of the path that says what is asked for, such as the id of a customer.
pub(super) struct PathPart(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for PathPart {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(part)) => Ok(Self(part)),
            Err(rejection) => Err(ApiError::bad_request(format!(
                "The path cannot be used: {rejection}."
            ))),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RequestsQuery {
    #[serde(deserialize_with = "parse_number")]
    pub(super) after: u64,
    #[serde(deserialize_with = "parse_wait")]
    pub(super) wait: Duration,
    pub(super) account: Option<String>,
    r#type: Option<String>,
    subject: Option<String>,
    /// What the body of the request or of the response has in it.
    text: Option<String>,
    /// The digits with which a wanted status begins.
    #[serde(rename = "status", deserialize_with = "parse_status")]
    status_prefix: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RowsQuery {
    #[serde(deserialize_with = "parse_number")]
    pub(super) after: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MatchesQuery {
    #[serde(default, deserialize_with = "parse_number")]
    pub(super) after: u64,
    pub(super) text: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SignalsQuery {
    pub(super) account: Option<String>,
    r#type: Option<String>,
    subject: Option<String>,
    verdict: Option<ShownVerdict>,
    #[serde(deserialize_with = "parse_number")]
    pub(super) after: u64,
    #[serde(deserialize_with = "parse_count")]
    pub(super) count: Option<u64>,
    #[serde(deserialize_with = "parse_wait")]
    pub(super) wait: Duration,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CountsQuery {
    pub(super) account: Option<String>,
    r#type: Option<String>,
    subject: Option<String>,
    #[serde(deserialize_with = "parse_count")]
    pub(super) count: Option<u64>,
    #[serde(deserialize_with = "parse_wait")]
    pub(super) wait: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OptionalAccountQuery {
    /// Without one, all accounts are meant.
    pub(super) account: Option<AccountId>,
}

impl OptionalAccountQuery {
    pub(super) fn account_name(&self) -> Option<&str> {
        self.account.as_ref().map(AccountId::as_str)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountQuery {
    #[serde(default = "development_account")]
    pub(super) account: AccountId,
}

fn development_account() -> AccountId {
    ACCOUNT_ID
        .parse()
        .expect("the constant is a valid account id")
}

/// The query of a request that takes no parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParameters {}

fn parse_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let number = text.parse();
    number.map_err(|_| D::Error::custom("a whole number, such as 12"))
}

fn parse_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    parse_number(deserializer).map(Some)
}

/// Parses a number of seconds.
fn parse_wait<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let seconds = text
        .strip_suffix('s')
        .unwrap_or(&text)
        .parse()
        .ok()
        .filter(|seconds| *seconds <= MAX_WAIT_SECONDS);
    let wrong = || {
        D::Error::custom(format!(
            "a number of seconds up to {MAX_WAIT_SECONDS}, such as 5s"
        ))
    };
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// Parses a status or a class of statuses. Returns the digits with which a wanted status begins.
fn parse_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.strip_suffix("xx").unwrap_or(&text);
    let is_status = matches!(
        digits.as_bytes(),
        [b'1'..=b'5'] | [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9']
    );
    let wrong = || D::Error::custom("a status, such as 401, or a class of them, such as 4xx");
    // Either all three digits, or one digit and `xx`.
    if is_status && text.len() == 3 {
        return Ok(Some(digits.to_owned()));
    }
    Err(wrong())
}

impl RequestsQuery {
    /// Whether an exchange is one of those that are asked for.
    pub(super) fn include(&self, exchange: &Exchange) -> bool {
        let status = exchange.response.status();
        let prefix = self.status_prefix.as_ref();
        let is_status = prefix.is_none_or(|prefix| status.as_str().starts_with(prefix));
        let is_account = is_wanted(self.account.as_ref(), exchange.key.account.as_ref());
        is_status && is_account && self.is_about(exchange) && self.has_text(exchange)
    }

    fn has_text(&self, exchange: &Exchange) -> bool {
        let text = self.text.as_ref();
        text.is_none_or(|text| exchange.has_text(&Finder::new(text)))
    }

    /// Whether one signal of the request has the wanted type and subject. A request without signals
    /// is about the subject of its customer.
    fn is_about(&self, exchange: &Exchange) -> bool {
        if self.r#type.is_none() {
            let subjects = exchange.subjects();
            let subject = self.subject.as_deref();
            return subject.is_none_or(|subject| subjects.contains(&subject));
        }
        exchange.signals.iter().any(|signal| {
            is_wanted(self.r#type.as_ref(), signal.r#type.as_ref())
                && is_wanted(self.subject.as_ref(), signal.subject.as_ref())
        })
    }
}

impl CountsQuery {
    /// The signals that are to be counted, if these are not all of the account.
    pub(super) fn signals(&self) -> Option<SignalsQuery> {
        if self.r#type.is_none() && self.subject.is_none() {
            return None;
        }
        Some(SignalsQuery {
            account: self.account.clone(),
            r#type: self.r#type.clone(),
            subject: self.subject.clone(),
            ..SignalsQuery::default()
        })
    }
}

impl SignalsQuery {
    /// The signals of a request that are wanted.
    pub(super) fn select<'a>(
        &'a self,
        exchange: &'a Exchange,
    ) -> impl Iterator<Item = &'a ShownSignal> {
        let is_account = is_wanted(self.account.as_ref(), exchange.key.account.as_ref());
        exchange.signals.iter().filter(move |signal| {
            is_account
                && is_wanted(self.r#type.as_ref(), signal.r#type.as_ref())
                && is_wanted(self.subject.as_ref(), signal.subject.as_ref())
                && is_wanted(self.verdict.as_ref(), Some(&signal.verdict))
        })
    }
}

fn is_wanted<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
    wanted.is_none() || wanted == found
}
