//! Injected answers: those of the options `--answer` and `--next-answer`, and those that a test asks
//! the inspector for. API Gateway and the functions give such answers now and then; the gateway
//! injects them on purpose, so that the author of a client sees how the client handles them. Must
//! not know how a response is written.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use serde::Serialize;

/// An answer in place of the function's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedAnswer {
    /// API Gateway answers 429, and the function learns nothing of the request.
    TooManyRequests,
    /// API Gateway answers 503, and the function learns nothing of the request.
    Unavailable,
    /// The function's own 503, as when DynamoDB is unavailable. Nothing is stored.
    StorageUnavailable,
    /// The function does its work, and API Gateway answers 503 after this time instead.
    Timeout(Duration),
}

/// How long API Gateway waits for a function.
const TIMEOUT: Duration = super::INTEGRATION_TIMEOUT;

/// An injected answer, and its share of the requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InjectedAnswerShare {
    answer: InjectedAnswer,
    share: f64,
}

impl InjectedAnswerShare {
    /// Parses a text such as `429:0.1`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const HELP: &str = "an answer is 429, 503 or timeout with its share of the requests from 0 to 1, such as 429:0.1";
        let (answer, share) = text.split_once(':').ok_or(HELP)?;
        let answer = match answer {
            "429" => InjectedAnswer::TooManyRequests,
            "503" => InjectedAnswer::Unavailable,
            "timeout" => InjectedAnswer::Timeout(TIMEOUT),
            _ => return Err(HELP),
        };
        let share = share
            .parse()
            .ok()
            .filter(|share| (0.0..=1.0).contains(share))
            .ok_or(HELP)?;
        Ok(Self { answer, share })
    }
}

/// An answer that is given in its turn: an injected one, or the function's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextAnswer(Option<InjectedAnswer>);

impl NextAnswer {
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
            "429" => InjectedAnswer::TooManyRequests,
            "503" => InjectedAnswer::Unavailable,
            "storage-unavailable" => InjectedAnswer::StorageUnavailable,
            "timeout" => InjectedAnswer::Timeout(TIMEOUT),
            _ => {
                let seconds = text
                    .strip_prefix("timeout:")
                    .and_then(|time| time.strip_suffix('s')?.parse().ok())
                    .map(Duration::from_secs);
                let timeout = seconds.filter(|timeout| *timeout <= TIMEOUT);
                InjectedAnswer::Timeout(timeout.ok_or_else(help)?)
            }
        };
        Ok(Self(Some(injected)))
    }

    fn text(self) -> String {
        match self.0 {
            None => "200".to_owned(),
            Some(InjectedAnswer::TooManyRequests) => "429".to_owned(),
            Some(InjectedAnswer::Unavailable) => "503".to_owned(),
            Some(InjectedAnswer::StorageUnavailable) => "storage-unavailable".to_owned(),
            Some(InjectedAnswer::Timeout(timeout)) => format!("timeout:{}s", timeout.as_secs()),
        }
    }
}

/// Answers for the next requests that match.
pub(crate) struct AnswerPlan {
    /// Whose requests get them. `None`: those of every client.
    pub(crate) account: Option<String>,
    /// On which path. `None`: on each.
    pub(crate) path: Option<String>,
    pub(crate) answers: VecDeque<NextAnswer>,
}

/// A plan as the inspector shows it.
#[derive(Serialize)]
pub(crate) struct ShownPlan {
    account: Option<String>,
    path: Option<String>,
    answers: Vec<String>,
}

impl AnswerPlan {
    fn matches(&self, account: Option<&str>, path: &str) -> bool {
        let is_account = self.account.is_none() || self.account.as_deref() == account;
        is_account && self.path.as_deref().is_none_or(|planned| planned == path)
    }

    fn shown(&self) -> ShownPlan {
        ShownPlan {
            account: self.account.clone(),
            path: self.path.clone(),
            answers: self.answers.iter().map(|answer| answer.text()).collect(),
        }
    }
}

/// Which requests get an injected answer.
pub(crate) struct InjectedAnswers {
    shares: Vec<InjectedAnswerShare>,
    seed: u64,
    state: Mutex<AnswerState>,
}

#[derive(Default)]
struct AnswerState {
    /// What draws the answers by their shares, for each account: what one client sends does not
    /// change what another one gets.
    random_by_account: HashMap<Option<String>, Rng>,
    plans: Vec<AnswerPlan>,
}

impl InjectedAnswers {
    /// Gives the next requests these answers, and the others answers by their shares.
    pub(crate) fn new(shares: Vec<InjectedAnswerShare>, seed: u64, next: Vec<NextAnswer>) -> Self {
        let injected = Self {
            shares,
            seed,
            state: Mutex::default(),
        };
        injected.plan(AnswerPlan {
            account: None,
            path: None,
            answers: next.into(),
        });
        injected
    }

    /// Adds answers, which are given after those that were planned before for the same requests.
    pub(crate) fn plan(&self, plan: AnswerPlan) {
        if !plan.answers.is_empty() {
            self.state().plans.push(plan);
        }
    }

    /// The answers that are still to be given.
    pub(crate) fn planned(&self) -> Vec<ShownPlan> {
        self.state().plans.iter().map(AnswerPlan::shown).collect()
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

    /// Chooses whether a request gets an injected answer, and which: the next one that is planned,
    /// or one by chance.
    pub(super) fn choose(&self, account: Option<&str>, path: &str) -> Option<InjectedAnswer> {
        let mut state = self.state();
        let mut plans = state.plans.iter_mut();
        if let Some(plan) = plans.find(|plan| plan.matches(account, path)) {
            let next = plan.answers.pop_front();
            state.plans.retain(|plan| !plan.answers.is_empty());
            return next.and_then(|NextAnswer(injected)| injected);
        }
        if self.shares.is_empty() {
            return None;
        }
        let random = state.random_by_account.entry(account.map(str::to_owned));
        let random = random.or_insert_with(|| Rng::with_seed(self.seed));
        choose(&self.shares, random.f64())
    }

    fn state(&self) -> MutexGuard<'_, AnswerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the shares are at most all requests together. Shares in decimals, such as 0.7 and 0.3,
/// may exceed 1 by a rounding error.
pub(crate) fn is_possible(shares: &[InjectedAnswerShare]) -> bool {
    shares.iter().map(|one| one.share).sum::<f64>() <= 1.0 + 1e-9
}

/// The answer for a request with this random number from 0 to 1: each share is a part of that
/// range.
fn choose(shares: &[InjectedAnswerShare], number: f64) -> Option<InjectedAnswer> {
    let mut end = 0.0;
    let chosen = shares.iter().find(|InjectedAnswerShare { share, .. }| {
        end += share;
        number < end
    });
    chosen.map(|chosen| chosen.answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(texts: &[&str]) -> Vec<NextAnswer> {
        let parsed = texts.iter().map(|text| NextAnswer::parse(text).unwrap());
        parsed.collect()
    }

    #[test]
    fn planned_answers_are_given_in_their_order_to_the_requests_that_they_are_for() {
        let injected = InjectedAnswers::new(Vec::new(), 0, Vec::new());
        injected.plan(AnswerPlan {
            account: Some("a".to_owned()),
            path: Some("/signals".to_owned()),
            answers: next(&["503", "200", "timeout:2s"]).into(),
        });
        assert_eq!(injected.choose(Some("b"), "/signals"), None);
        assert_eq!(injected.choose(Some("a"), "/customers"), None);
        let given: Vec<_> = (0..4)
            .map(|_| injected.choose(Some("a"), "/signals"))
            .collect();
        let timeout = InjectedAnswer::Timeout(Duration::from_secs(2));
        let unavailable = InjectedAnswer::Unavailable;
        assert_eq!(given, [Some(unavailable), None, Some(timeout), None]);
        assert!(injected.planned().is_empty());
    }

    #[test]
    fn shares_with_a_seed_give_each_account_the_same_answers() {
        let shares = vec![InjectedAnswerShare::parse("503:0.5").unwrap()];
        let injected = InjectedAnswers::new(shares, 7, Vec::new());
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
    fn next_answer_that_is_unknown_or_too_late_is_an_error() {
        for text in [
            "",
            "404",
            "503:0.1",
            "timeout:31s",
            "timeout:-1s",
            "timeout:2",
        ] {
            assert!(NextAnswer::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_answer_has_its_share_of_the_chances() {
        let shares = ["429:0.1", "503:0", "timeout:0.2"]
            .map(|text| InjectedAnswerShare::parse(text).unwrap());
        let too_many = Some(InjectedAnswer::TooManyRequests);
        for (chance, expected) in [
            (0.0, too_many),
            (0.09, too_many),
            (0.11, Some(InjectedAnswer::Timeout(TIMEOUT))),
            (0.29, Some(InjectedAnswer::Timeout(TIMEOUT))),
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
                is_possible(&texts.map(|text| InjectedAnswerShare::parse(text).unwrap())),
                possible,
                "{texts:?}"
            );
        }
    }

    #[test]
    fn unknown_answer_or_share_is_an_error() {
        for text in ["429", "418:0.1", "429:2", "429:-1", "429:NaN", ":0.1", ""] {
            assert!(InjectedAnswerShare::parse(text).is_err(), "{text}");
        }
    }
}
