//! Injected answers, of the option `--answer`. API Gateway gives such answers now and then; the
//! gateway injects them on purpose, so that the author of a client sees how the client handles
//! them. Must not know how a response is written.

/// An answer in place of the function's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedAnswer {
    /// API Gateway answers 429, and the function learns nothing of the request.
    TooManyRequests,
    /// API Gateway answers 503, and the function learns nothing of the request.
    Unavailable,
    /// The function does its work, and API Gateway answers 503 after its timeout instead.
    Timeout,
}

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
            "timeout" => InjectedAnswer::Timeout,
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

/// Whether the shares are at most all requests together. Shares in decimals, such as 0.7 and 0.3,
/// may exceed 1 by a rounding error.
pub(crate) fn is_possible(shares: &[InjectedAnswerShare]) -> bool {
    shares.iter().map(|one| one.share).sum::<f64>() <= 1.0 + 1e-9
}

/// The answer for a request with this random number from 0 to 1: each share is a part of that
/// range.
pub(crate) fn choose(shares: &[InjectedAnswerShare], number: f64) -> Option<InjectedAnswer> {
    let mut end = 0.0;
    let chosen = shares.iter().find(|InjectedAnswerShare { share, .. }| {
        end += share;
        number < end
    });
    chosen.map(|chosen| chosen.answer)
}

#[cfg(test)]
mod tests {
    use super::{InjectedAnswer, InjectedAnswerShare, choose, is_possible};

    #[test]
    fn each_answer_has_its_share_of_the_chances() {
        let shares = ["429:0.1", "503:0", "timeout:0.2"]
            .map(|text| InjectedAnswerShare::parse(text).unwrap());
        let too_many = Some(InjectedAnswer::TooManyRequests);
        for (chance, expected) in [
            (0.0, too_many),
            (0.09, too_many),
            (0.11, Some(InjectedAnswer::Timeout)),
            (0.29, Some(InjectedAnswer::Timeout)),
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
