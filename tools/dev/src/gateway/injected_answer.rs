//! Answers that API Gateway gives now and then. The gateway gives them on purpose, so that the
//! author of a client sees how the client handles them. Must not know how a response is written.

/// An answer in place of the function's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedAnswer {
    /// API Gateway answers 429, and the function learns nothing of the request.
    TooManyRequests,
    /// API Gateway answers 503, and the function learns nothing of the request.
    Unavailable,
    /// The function does its work, and API Gateway answers 503 after 30 seconds instead.
    Timeout,
}

/// An answer, and its share of the requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InjectedShare {
    injected: InjectedAnswer,
    share: f64,
}

impl InjectedShare {
    /// Parses a text such as `429:0.1`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const HELP: &str = "an answer is 429, 503 or timeout with its share of the requests from 0 to 1, such as 429:0.1";
        let (answer, share) = text.split_once(':').ok_or(HELP)?;
        let injected = match answer {
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
        Ok(Self { injected, share })
    }
}

/// Whether the shares are at most all requests. Shares in decimals, such as 0.7 and 0.3, may exceed
/// 1 by a rounding error.
pub(crate) fn is_possible(shares: &[InjectedShare]) -> bool {
    shares.iter().map(|one| one.share).sum::<f64>() <= 1.0 + 1e-9
}

/// The answer for a request with this chance, from 0 to 1: the shares lie one after another.
pub(crate) fn choose(shares: &[InjectedShare], chance: f64) -> Option<InjectedAnswer> {
    let mut end = 0.0;
    let chosen = shares.iter().find(|InjectedShare { share, .. }| {
        end += share;
        chance < end
    });
    chosen.map(|chosen| chosen.injected)
}

#[cfg(test)]
mod tests {
    use super::{InjectedAnswer, InjectedShare, choose, is_possible};

    #[test]
    fn each_answer_has_its_share_of_the_chances() {
        let shares =
            ["429:0.1", "503:0", "timeout:0.2"].map(|text| InjectedShare::parse(text).unwrap());
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
                is_possible(&texts.map(|text| InjectedShare::parse(text).unwrap())),
                possible,
                "{texts:?}"
            );
        }
    }

    #[test]
    fn unknown_answer_or_share_is_an_error() {
        for text in ["429", "418:0.1", "429:2", "429:-1", "429:NaN", ":0.1", ""] {
            assert!(InjectedShare::parse(text).is_err(), "{text}");
        }
    }
}
