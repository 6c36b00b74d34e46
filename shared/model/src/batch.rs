//! A batch of signals in its envelope (SPEC 1.2, 2.3).
//!
//! A fault in the envelope costs the request; a fault in a signal costs that signal.

use crate::document::Names;
use crate::fault::{Fault, FaultCode, Faults, Warning, Warnings};
use crate::identifier::{RequestIdentifier, read_uuid};
use crate::limits::{REPORTED_PER_REQUEST, SIGNALS_PER_REQUEST};
use crate::place::Path;
use crate::signal::{self, Rejected, Signal};
use crate::token::{JsonText, Token, Tokens};

/// A request's signals, each read on its own.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The caller's identifier of the request, if one was sent.
    pub request_identifier: Option<RequestIdentifier>,
    /// The valid ones, in the order in which they were sent.
    pub signals: Vec<Signal<'a>>,
    /// The others, in the order in which they were sent.
    pub rejected: Vec<Rejected<'a>>,
    /// Members that are not in the contract, of the envelope and of the signals.
    pub warnings: Vec<Warning>,
}

/// Why a request was refused as a whole.
#[derive(Debug, PartialEq, Eq)]
pub enum BatchFault {
    /// Its envelope is wrong.
    Invalid(Vec<Fault>),
    /// It has more signals than the limit.
    TooManySignals {
        /// How many there are.
        sent: usize,
    },
}

impl<'a> Batch<'a> {
    /// Reads a batch.
    ///
    /// # Errors
    /// [`BatchFault`] when the envelope is wrong; never for what is wrong inside a signal.
    pub fn parse(text: JsonText<'a>) -> Result<Self, BatchFault> {
        let mut tokens = text.tokens();
        let mut faults = Faults::keeping(REPORTED_PER_REQUEST);
        let mut envelope = Envelope::default();
        if matches!(tokens.next(), Some(Token::BeginObject)) {
            envelope.read(&mut tokens, &mut faults);
        } else {
            faults.add(&Path::Root, FaultCode::InvalidType, "must be an object");
        }
        if !faults.is_empty() {
            return Err(BatchFault::Invalid(faults.into_kept()));
        }
        if envelope.count > SIGNALS_PER_REQUEST {
            return Err(BatchFault::TooManySignals { sent: envelope.count });
        }
        Ok(Self {
            request_identifier: envelope.request_identifier,
            signals: envelope.signals,
            rejected: envelope.rejected,
            warnings: envelope.warnings,
        })
    }

    /// All signals as they were sent, in the order in which they were sent.
    pub fn payloads(&self) -> impl Iterator<Item = &'a str> {
        let valid = self.signals.iter().map(|signal| (signal.index, signal.payload));
        let mut all: Vec<_> =
            valid.chain(self.rejected.iter().map(|rejected| (rejected.index, rejected.payload))).collect();
        all.sort_unstable_by_key(|(index, _)| *index);
        all.into_iter().map(|(_, payload)| payload)
    }

    /// How many signals the request has.
    #[must_use]
    pub fn received(&self) -> usize {
        self.signals.len().saturating_add(self.rejected.len())
    }
}

#[derive(Default)]
struct Envelope<'a> {
    request_identifier: Option<RequestIdentifier>,
    count: usize,
    signals: Vec<Signal<'a>>,
    rejected: Vec<Rejected<'a>>,
    warnings: Vec<Warning>,
}

impl<'a> Envelope<'a> {
    fn read(&mut self, tokens: &mut Tokens<'a>, faults: &mut Faults) {
        let mut names = Names::default();
        let mut ignored = Warnings::keeping(REPORTED_PER_REQUEST);
        let mut signals_seen = false;
        while let Some(raw) = tokens.next_name() {
            let name = names.add(raw, &Path::Root, faults);
            let at = Path::Member(&Path::Root, &name);
            let Some(token) = tokens.next() else { break };
            match name.as_ref() {
                "requestIdentifier" => {
                    self.request_identifier = read_uuid(token, tokens, &at, faults).map(RequestIdentifier::from);
                }
                // A second one is a fault as a duplicate, whatever is in it.
                "signals" if signals_seen => tokens.skip(token),
                "signals" if !matches!(token, Token::Null) => {
                    signals_seen = true;
                    self.read_signals(token, tokens, &at, faults);
                }
                _ if matches!(token, Token::Null) => {}
                _ => {
                    tokens.skip(token);
                    ignored.add(&at, || "is not in the contract; it was ignored");
                }
            }
        }
        names.report_duplicates(&Path::Root, faults);
        if !signals_seen {
            faults.add(&Path::Member(&Path::Root, "signals"), FaultCode::Required, "is required");
        }
        let mut warnings = ignored.into_kept(&Path::Root);
        warnings.append(&mut self.warnings);
        self.warnings = warnings;
    }

    fn read_signals(&mut self, token: Token<'a>, tokens: &mut Tokens<'a>, at: &Path<'_>, faults: &mut Faults) {
        if !matches!(token, Token::BeginArray) {
            tokens.skip(token);
            faults.add(at, FaultCode::InvalidType, "must be an array");
            return;
        }
        while let Some(first) = tokens.next_element() {
            let index = self.count;
            self.count = self.count.saturating_add(1);
            // Beyond the limit the request is refused whole: the rest is only counted.
            if self.count > SIGNALS_PER_REQUEST {
                tokens.skip(first);
                continue;
            }
            let read = signal::read(first, tokens, index, &Path::Element(at, index));
            match read.outcome {
                Ok(signal) => self.signals.push(signal),
                Err(rejected) => self.rejected.push(rejected),
            }
            self.warnings.extend(read.warnings);
        }
        if self.count == 0 {
            faults.add(at, FaultCode::Required, "must have at least one signal");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Batch<'_>, BatchFault> {
        Batch::parse(JsonText::parse(json).unwrap())
    }

    fn faults(json: &str) -> Vec<(String, &'static str)> {
        let BatchFault::Invalid(faults) = parse(json).expect_err(json) else { panic!("{json}") };
        faults.into_iter().map(|fault| (fault.place.pointer, fault.code.as_str())).collect()
    }

    const GOOD: &str = r#"{"customerId":"c","eventType":"t"}"#;

    #[test]
    fn the_good_signals_and_the_bad_ones_keep_their_places() {
        let json = format!(r#"{{"signals":[{GOOD},17,{GOOD},{{"customerId":"\ud800","eventType":"t"}}]}}"#);
        let batch = parse(&json).unwrap();
        assert_eq!(batch.signals.iter().map(|signal| signal.index).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(batch.rejected.iter().map(|rejected| rejected.index).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(batch.received(), 4);
    }

    #[test]
    fn a_fault_in_the_envelope_is_named() {
        assert_eq!(faults("[]"), [(String::new(), "invalid-type")]);
        assert_eq!(faults("{}"), [("/signals".into(), "required")]);
        assert_eq!(faults(r#"{"signals":null}"#), [("/signals".into(), "required")]);
        assert_eq!(faults(r#"{"signals":{}}"#), [("/signals".into(), "invalid-type")]);
        assert_eq!(faults(r#"{"signals":[]}"#), [("/signals".into(), "required")]);
        assert_eq!(
            faults(&format!(r#"{{"requestIdentifier":"x","signals":[{GOOD}]}}"#)),
            [("/requestIdentifier".into(), "invalid-uuid")]
        );
        assert_eq!(
            faults(&format!(r#"{{"requestIdentifier":7,"signals":[{GOOD}]}}"#)),
            [("/requestIdentifier".into(), "invalid-type")]
        );
        assert_eq!(
            faults(&format!(r#"{{"signals":[{GOOD}],"signals":[{GOOD}]}}"#)),
            [("/signals".into(), "duplicate-member")]
        );
    }

    #[test]
    fn a_request_identifier_that_is_null_counts_as_absent() {
        let json = format!(r#"{{"requestIdentifier":null,"signals":[{GOOD}]}}"#);
        assert_eq!(parse(&json).unwrap().request_identifier, None);
    }

    #[test]
    fn a_request_identifier_is_repeated_as_sent_and_keyed_in_lower_case() {
        let json = format!(r#"{{"requestIdentifier":"3FA85F64-5717-4562-B3FC-2C963F66AFA6","signals":[{GOOD}]}}"#);
        let identifier = parse(&json).unwrap().request_identifier.unwrap();
        assert_eq!(identifier.as_sent(), "3FA85F64-5717-4562-B3FC-2C963F66AFA6");
        assert_eq!(identifier.canonical(), "3fa85f64-5717-4562-b3fc-2c963f66afa6");
    }

    #[test]
    fn other_members_are_ignored_and_named() {
        let json = format!(r#"{{"debug":{{"signals":[]}},"signals":[{GOOD}]}}"#);
        let batch = parse(&json).unwrap();
        assert_eq!(batch.warnings.len(), 1);
        assert_eq!(batch.warnings[0].place.pointer, "/debug");
    }

    #[test]
    fn five_hundred_signals_pass_and_more_are_counted() {
        let of = |n: usize| format!(r#"{{"signals":[{}]}}"#, vec![GOOD; n].join(","));
        assert_eq!(parse(&of(500)).unwrap().received(), 500);
        assert_eq!(parse(&of(501)).unwrap_err(), BatchFault::TooManySignals { sent: 501 });
    }
}
