//! The parameters of the inspector's API. An unknown name or an invalid value is an error that says
//! what is valid. Must not know what is answered.

use std::time::Duration;

use emulator::development_key::ACCOUNT_ID;
use model::account::AccountId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::exchange::Exchange;
use crate::exchange::signal::{ShownSignal, ShownVerdict};

/// The longest that `wait` may be, in seconds.
const MAX_WAIT: u64 = 60;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RequestsQuery {
    pub(super) after: u64,
    #[serde(deserialize_with = "wait")]
    pub(super) wait: Duration,
    pub(super) account: Option<String>,
    r#type: Option<String>,
    #[serde(deserialize_with = "status")]
    status: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SignalsQuery {
    pub(super) account: Option<String>,
    r#type: Option<String>,
    subject: Option<String>,
    verdict: Option<ShownVerdict>,
    pub(super) after: u64,
    pub(super) count: Option<usize>,
    #[serde(deserialize_with = "wait")]
    pub(super) wait: Duration,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CountsQuery {
    pub(super) account: Option<String>,
    pub(super) count: Option<u64>,
    #[serde(deserialize_with = "wait")]
    pub(super) wait: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountQuery {
    #[serde(default = "development_account")]
    pub(super) account: AccountId,
}

fn development_account() -> AccountId {
    ACCOUNT_ID.parse().expect("its name is a valid one")
}

/// The query of a request that takes no parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParameters {}

/// Parses a number of seconds.
fn wait<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let seconds = text
        .strip_suffix('s')
        .unwrap_or(&text)
        .parse()
        .ok()
        .filter(|seconds| *seconds <= MAX_WAIT);
    let wrong = || D::Error::custom(format!("a number of seconds up to {MAX_WAIT}, such as 5s"));
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// Parses a status, or a class of them. Returns the digits with which a wanted status begins.
fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.strip_suffix("xx").unwrap_or(&text);
    let is_status = matches!(
        digits.as_bytes(),
        [b'1'..=b'5'] | [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9']
    );
    let wrong = || D::Error::custom("a status, such as 401, or a class of them, such as 4xx");
    (is_status && [3, digits.len() + 2].contains(&text.len()))
        .then(|| Some(digits.to_owned()))
        .ok_or_else(wrong)
}

impl RequestsQuery {
    pub(super) fn include(&self, exchange: &Exchange) -> bool {
        self.status
            .as_ref()
            .is_none_or(|wanted| exchange.response.status().as_str().starts_with(wanted))
            && is_wanted(self.account.as_ref(), exchange.key.account.as_ref())
            && (self.r#type.is_none()
                || exchange
                    .signals
                    .iter()
                    .any(|signal| signal.r#type == self.r#type))
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
