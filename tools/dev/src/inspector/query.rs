//! The parameters of the inspector's API: another name, or a value that means nothing, is an error that names the right ones. Must not
//! know what is answered.

use std::time::Duration;

use emulator::development_key::ACCOUNT_ID;
use model::account::AccountId;
use serde::Deserialize;

use crate::exchange::Exchange;
use crate::signal::{Signal, Verdict};

/// The longest that `wait` may be, in seconds.
const MAX_WAIT: u64 = 60;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RequestsQuery {
    pub(super) after: u64,
    pub(super) wait: Wait,
    account: Option<String>,
    r#type: Option<String>,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SignalsQuery {
    account: Option<String>,
    r#type: Option<String>,
    subject: Option<String>,
    verdict: Option<Verdict>,
    pub(super) after: u64,
    pub(super) count: Option<usize>,
    pub(super) wait: Wait,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CountsQuery {
    pub(super) count: Option<u64>,
    pub(super) wait: Wait,
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

/// No parameter.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// A number of seconds.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Wait(pub(super) Duration);

impl TryFrom<String> for Wait {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let seconds = text.strip_suffix('s').unwrap_or(&text).parse().ok().filter(|seconds| *seconds <= MAX_WAIT);
        let seconds = seconds.ok_or(format!("a number of seconds up to {MAX_WAIT}, such as 5s"))?;
        Ok(Self(Duration::from_secs(seconds)))
    }
}

/// A status, or the first digit of several.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Status(String);

impl TryFrom<String> for Status {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let class = text.strip_suffix("xx").filter(|class| ["1", "2", "3", "4", "5"].contains(class));
        let status = || text.parse::<u16>().is_ok_and(|status| (100..600).contains(&status));
        match class {
            Some(class) => Ok(Self(class.to_owned())),
            None if status() => Ok(Self(text)),
            None => Err("a status, such as 401, or a class of them, such as 4xx"),
        }
    }
}

impl RequestsQuery {
    pub(super) fn include(&self, exchange: &Exchange) -> bool {
        let is_status = |Status(wanted): &Status| exchange.response.status().as_str().starts_with(wanted);
        self.status.as_ref().is_none_or(is_status)
            && is_wanted(self.account.as_ref(), exchange.key.account.as_ref())
            && (self.r#type.is_none() || exchange.signals.iter().any(|signal| signal.r#type == self.r#type))
    }
}

impl SignalsQuery {
    /// Those signals of a request.
    pub(super) fn select<'a>(&'a self, exchange: &'a Exchange) -> impl Iterator<Item = &'a Signal> {
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
