//! Injected responses: those of the options `--answer` and `--next-answer`, and those that a test asks
//! the inspector for. API Gateway and the functions give such responses now and then; the gateway
//! injects them on purpose, so that the author of a client sees how the client handles them. Must
//! not know how a response is written.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use serde::Serialize;

/// A response in place of the function's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedResponse {
    /// API Gateway responds with 429, and the function learns nothing of the request.
    TooManyRequests,
    /// API Gateway responds with 503, and the function learns nothing of the request.
    Unavailable,
    /// The function's own 503, as when DynamoDB is unavailable. Nothing is stored.
    StorageUnavailable,
    /// The function does its work, and API Gateway responds with 503 after this time instead.
    Timeout(Duration),
}

/// How long API Gateway waits for a function.
const TIMEOUT: Duration = super::INTEGRATION_TIMEOUT;

/// An injected response, and its share of the requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InjectedResponseShare {
    response: InjectedResponse,
    share: f64,
}

impl InjectedResponseShare {
    /// Parses a text such as `429:0.1`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const HELP: &str = "an answer is 429, 503 or timeout with its share of the requests from 0 to 1, such as 429:0.1";
        let (response, share) = text.split_once(':').ok_or(HELP)?;
        let response = match response {
            "429" => InjectedResponse::TooManyRequests,
            "503" => InjectedResponse::Unavailable,
            "timeout" => InjectedResponse::Timeout(TIMEOUT),
            _ => return Err(HELP),
        };
        let share = share
            .parse()
            .ok()
            .filter(|share| (0.0..=1.0).contains(share))
            .ok_or(HELP)?;
        Ok(Self { response, share })
    }
}

/// A response that is given in its turn: an injected one, or the function's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextResponse(Option<InjectedResponse>);

impl NextResponse {
    /// Parses a text such as `429` or `timeout:2s`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let help = || {
            let most = TIMEOUT.as_secs();
            format!(
                "an answer is 200 (the function's), 429, 503, storage-unavailable, timeout, or timeout:2s with up to \
                 {most} seconds"
            )
        };
        let injected = match text {
            "200" => return Ok(Self(None)),
            "429" => InjectedResponse::TooManyRequests,
            "503" => InjectedResponse::Unavailable,
            "storage-unavailable" => InjectedResponse::StorageUnavailable,
            "timeout" => InjectedResponse::Timeout(TIMEOUT),
            _ => {
                let seconds = text
                    .strip_prefix("timeout:")
                    .and_then(|time| time.strip_suffix('s')?.parse().ok())
                    .map(Duration::from_secs);
                let timeout = seconds.filter(|timeout| *timeout <= TIMEOUT);
                InjectedResponse::Timeout(timeout.ok_or_else(help)?)
            }
        };
        Ok(Self(Some(injected)))
    }

    fn text(self) -> String {
        match self.0 {
            None => "200".to_owned(),
            Some(InjectedResponse::TooManyRequests) => "429".to_owned(),
            Some(InjectedResponse::Unavailable) => "503".to_owned(),
            Some(InjectedResponse::StorageUnavailable) => "storage-unavailable".to_owned(),
            Some(InjectedResponse::Timeout(timeout)) => format!("timeout:{}s", timeout.as_secs()),
        }
    }
}

/// Responses for the next requests that match.
pub(crate) struct ResponsePlan {
    /// Whose requests get them. `None`: those of every client.
    pub(crate) account: Option<String>,
    /// On which path. `None`: on each.
    pub(crate) path: Option<String>,
    pub(crate) responses: VecDeque<NextResponse>,
}

/// A plan as the inspector shows it.
#[derive(Serialize)]
pub(crate) struct ShownPlan {
    account: Option<String>,
    path: Option<String>,
    answers: Vec<String>,
}

impl ResponsePlan {
    fn matches(&self, account: Option<&str>, path: &str) -> bool {
        let is_account = self.account.is_none() || self.account.as_deref() == account;
        is_account && self.path.as_deref().is_none_or(|planned| planned == path)
    }

    fn shown(&self) -> ShownPlan {
        ShownPlan {
            account: self.account.clone(),
            path: self.path.clone(),
            answers: self
                .responses
                .iter()
                .map(|response| response.text())
                .collect(),
        }
    }
}

/// Which requests get an injected response.
pub(crate) struct InjectedResponses {
    shares: Vec<InjectedResponseShare>,
    seed: u64,
    state: Mutex<ResponseState>,
}

#[derive(Default)]
struct ResponseState {
    /// What draws the responses by their shares, for each account: what one client sends does not
    /// change what another one gets.
    random_by_account: HashMap<Option<String>, Rng>,
    plans: Vec<ResponsePlan>,
}

impl InjectedResponses {
    /// Gives the next requests these responses, and the others responses by their shares.
    pub(crate) fn new(
        shares: Vec<InjectedResponseShare>,
        seed: u64,
        next: Vec<NextResponse>,
    ) -> Self {
        let injected = Self {
            shares,
            seed,
            state: Mutex::default(),
        };
        injected.plan(ResponsePlan {
            account: None,
            path: None,
            responses: next.into(),
        });
        injected
    }

    /// Adds responses, which are given after those that were planned before for the same requests.
    pub(crate) fn plan(&self, plan: ResponsePlan) {
        if !plan.responses.is_empty() {
            self.state().plans.push(plan);
        }
    }

    /// The responses that are still to be given.
    pub(crate) fn planned(&self) -> Vec<ShownPlan> {
        self.state().plans.iter().map(ResponsePlan::shown).collect()
    }

    /// Forgets the plans for an account, or all, and draws by shares from the seed again.
    pub(crate) fn clear(&self, account: Option<&str>) {
        let mut state = self.state();
        let is_other = |found: Option<&str>| account.is_some() && found != account;
        state.plans.retain(|plan| is_other(plan.account.as_deref()));
        state
            .random_by_account
            .retain(|found, _| is_other(found.as_deref()));
    }

    /// Chooses whether a request gets an injected response, and which: the next one that is planned,
    /// or one by chance.
    pub(super) fn choose(&self, account: Option<&str>, path: &str) -> Option<InjectedResponse> {
        let mut state = self.state();
        let mut plans = state.plans.iter_mut();
        if let Some(plan) = plans.find(|plan| plan.matches(account, path)) {
            let next = plan.responses.pop_front();
            state.plans.retain(|plan| !plan.responses.is_empty());
            return next.and_then(|NextResponse(injected)| injected);
        }
        if self.shares.is_empty() {
            return None;
        }
        let random = state.random_by_account.entry(account.map(str::to_owned));
        let random = random.or_insert_with(|| Rng::with_seed(self.seed));
        choose(&self.shares, random.f64())
    }

    fn state(&self) -> MutexGuard<'_, ResponseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the shares are at most all requests together. Shares in decimals, such as 0.7 and 0.3,
/// may exceed 1 by a rounding error.
pub(crate) fn is_possible(shares: &[InjectedResponseShare]) -> bool {
    shares.iter().map(|one| one.share).sum::<f64>() <= 1.0 + 1e-9
}

/// The response for a request with this random number from 0 to 1: each share is a part of that
/// range.
fn choose(shares: &[InjectedResponseShare], number: f64) -> Option<InjectedResponse> {
    let mut end = 0.0;
    let chosen = shares.iter().find(|InjectedResponseShare { share, .. }| {
        end += share;
        number < end
    });
    chosen.map(|chosen| chosen.response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(texts: &[&str]) -> Vec<NextResponse> {
        let parsed = texts.iter().map(|text| NextResponse::parse(text).unwrap());
        parsed.collect()
    }

    #[test]
    fn planned_responses_are_given_in_their_order_to_the_requests_that_they_are_for() {
        let injected = InjectedResponses::new(Vec::new(), 0, Vec::new());
        injected.plan(ResponsePlan {
            account: Some("a".to_owned()),
            path: Some("/signals".to_owned()),
            responses: next(&["503", "200", "timeout:2s"]).into(),
        });
        assert_eq!(injected.choose(Some("b"), "/signals"), None);
        assert_eq!(injected.choose(Some("a"), "/customers"), None);
        let given: Vec<_> = (0..4)
            .map(|_| injected.choose(Some("a"), "/signals"))
            .collect();
        let timeout = InjectedResponse::Timeout(Duration::from_secs(2));
        let unavailable = InjectedResponse::Unavailable;
        assert_eq!(given, [Some(unavailable), None, Some(timeout), None]);
        assert!(injected.planned().is_empty());
    }

    #[test]
    fn shares_with_a_seed_give_each_account_the_same_responses() {
        let shares = vec![InjectedResponseShare::parse("503:0.5").unwrap()];
        let injected = InjectedResponses::new(shares, 7, Vec::new());
        let draw = |account| {
            let draws = (0..20).map(|_| injected.choose(Some(account), "/"));
            draws.collect::<Vec<_>>()
        };
        let of_a = draw("a");
        assert_eq!(draw("b"), of_a);
        assert_ne!(draw("a"), of_a);
        injected.clear(Some("a"));
        assert_eq!(draw("a"), of_a);
    }

    #[test]
    fn next_response_that_is_unknown_or_too_late_is_an_error() {
        for text in [
            "",
            "404",
            "503:0.1",
            "timeout:31s",
            "timeout:-1s",
            "timeout:2",
        ] {
            assert!(NextResponse::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_response_has_its_share_of_the_chances() {
        let shares = ["429:0.1", "503:0", "timeout:0.2"]
            .map(|text| InjectedResponseShare::parse(text).unwrap());
        let too_many = Some(InjectedResponse::TooManyRequests);
        for (chance, expected) in [
            (0.0, too_many),
            (0.09, too_many),
            (0.11, Some(InjectedResponse::Timeout(TIMEOUT))),
            (0.29, Some(InjectedResponse::Timeout(TIMEOUT))),
            (0.31, None),
        ] {
            assert_eq!(choose(&shares, chance), expected, "{chance}");
        }
    }

    #[test]
    fn shares_of_more_than_all_requests_are_impossible() {
        for (texts, possible) in [
            (["429:0.7", "503:0.3"], true),
            (["429:0.7", "timeout:0.4"], false),
        ] {
            assert_eq!(
                is_possible(&texts.map(|text| InjectedResponseShare::parse(text).unwrap())),
                possible,
                "{texts:?}"
            );
        }
    }

    #[test]
    fn unknown_response_or_share_is_an_error() {
        for text in ["429", "418:0.1", "429:2", "429:-1", "429:NaN", ":0.1", ""] {
            assert!(InjectedResponseShare::parse(text).is_err(), "{text}");
        }
    }
}
