//! A batch of signals in its envelope.
//!
//! An error in the envelope rejects the whole request. An error in a signal rejects only that
//! signal.

use crate::digest::Digest;
use crate::hint;
use crate::identifier::RequestIdentifier;
use crate::json::{JsonText, Value};
use crate::limits::MAX_SIGNALS_PER_REQUEST;
use crate::pointer::JsonPointer;
use crate::signal::{IDENTITY_FIELDS, RejectedSignal, Signal};
use crate::suggestion::Vocabulary;
use crate::validation::{FieldError, FieldErrorCode, FieldErrors, Warning, Warnings};

/// The fields of the envelope in the contract.
pub(crate) const BATCH: Vocabulary = Vocabulary {
    fields: &["requestIdentifier", "signals"],
    synonyms: &[
        ("requestIdentifier", &["requestid"]),
        ("signals", &["batch", "events"]),
    ],
};

/// A request's signals, each read on its own.
#[derive(Debug, Default)]
pub struct Batch<'a> {
    /// The requestIdentifier, or `None` if the client sent no requestIdentifier.
    pub request_identifier: Option<RequestIdentifier>,
    /// The valid ones, in the order in which they were sent.
    pub signals: Vec<Signal<'a>>,
    /// The others, in the order in which they were sent.
    pub rejected: Vec<RejectedSignal<'a>>,
    /// About unknown fields of the envelope. The signals have warnings of their own.
    pub warnings: Vec<Warning>,
}

/// Why a batch is rejected as a whole.
#[derive(Debug, PartialEq, Eq)]
pub enum BatchError {
    /// The validation errors of the envelope.
    Invalid(Vec<FieldError>),
    /// It has more signals than the limit.
    TooManySignals { sent: usize },
}

impl<'a> Batch<'a> {
    /// Reads the envelope, and each signal in it.
    ///
    /// # Errors
    /// [`BatchError`] when the envelope is invalid; never for an error inside a signal.
    pub fn parse(text: JsonText<'a>) -> Result<Self, BatchError> {
        let mut batch = Self::default();
        let mut errors = FieldErrors::default();
        let mut warnings = Warnings::default();
        let body = text.value();
        let Some(mut envelope) = body.as_object(&JsonPointer::Root) else {
            let message = format!("must be an object{}", hint::of_no_batch(body));
            let code = FieldErrorCode::InvalidType;
            let error = FieldError::new(&JsonPointer::Root, code, &message);
            return Err(BatchError::Invalid(vec![error]));
        };
        // `None` until `signals` was found.
        let mut sent = None;
        while let Some(field) = envelope.next_field(&mut errors) {
            let path = field.path();
            match field.name.as_ref() {
                _ if field.value.is_null() => {}
                "requestIdentifier" => {
                    let read = RequestIdentifier::read(field.value);
                    batch.request_identifier = errors.check(&path, read).ok();
                }
                // The duplicate is an error, whatever it contains.
                "signals" if sent.is_some() => {}
                "signals" => sent = Some(batch.read_signals(field.value, &path, &mut errors)),
                name => BATCH.warn_ignored(name, &path, &mut warnings),
            }
        }
        if sent.is_none() {
            BATCH.report_missing(
                "signals",
                body,
                hint::of_no_signals(body, &IDENTITY_FIELDS),
                &mut errors,
            );
        }
        if !errors.is_empty() {
            return Err(BatchError::Invalid(errors.into_vec()));
        }
        batch.warnings = warnings.into_vec(&JsonPointer::Root);
        let sent = sent.unwrap_or_default();
        if sent > MAX_SIGNALS_PER_REQUEST {
            return Err(BatchError::TooManySignals { sent });
        }
        Ok(batch)
    }

    /// Reads the signals up to the limit, and counts all.
    fn read_signals(
        &mut self,
        value: Value<'a>,
        path: &JsonPointer<'_>,
        errors: &mut FieldErrors,
    ) -> usize {
        let Some(signals) = value.as_array() else {
            let message = format!("must be an array{}", hint::of_no_array(value));
            errors.add(path, FieldErrorCode::InvalidType, message);
            return 0;
        };
        let mut sent = 0_usize;
        for signal in signals {
            if sent < MAX_SIGNALS_PER_REQUEST {
                let pointer = JsonPointer::Element(path, sent);
                let parsed = Signal::parse(signal, sent, &pointer);
                self.add(parsed);
            }
            sent += 1;
        }
        if sent == 0 {
            errors.add(
                path,
                FieldErrorCode::Required,
                "must have at least one signal",
            );
        }
        sent
    }

    /// Adds a signal after the earlier ones.
    fn add(&mut self, signal: Result<Signal<'a>, RejectedSignal<'a>>) {
        match signal {
            Ok(signal) => self.signals.push(signal),
            Err(rejected) => self.rejected.push(rejected),
        }
    }

    /// SHA-256 of all signals as they were sent, in hexadecimal.
    pub fn signals_hash(&self) -> String {
        let valid = self
            .signals
            .iter()
            .map(|signal| (signal.index(), signal.payload()));
        let rejected = self
            .rejected
            .iter()
            .map(|signal| (signal.index, signal.payload));
        let mut all: Vec<_> = valid.chain(rejected).collect();
        all.sort_unstable_by_key(|(index, _)| *index);
        let payloads = all.into_iter().map(|(_, payload)| payload);
        Digest::sha256_of_texts(payloads).to_hex()
    }

    /// Whether the batch needs an idempotency record: the client sent a requestIdentifier to retry
    /// with, and a signal is valid.
    pub fn needs_record(&self) -> bool {
        self.request_identifier.is_some() && !self.signals.is_empty()
    }

    /// How many signals the request has.
    pub fn received(&self) -> usize {
        self.signals.len() + self.rejected.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Batch<'_>, BatchError> {
        Batch::parse(JsonText::parse(json).unwrap())
    }

    fn errors(json: &str) -> Vec<(String, &'static str)> {
        let BatchError::Invalid(errors) = parse(json).expect_err(json) else {
            panic!("{json}")
        };
        errors
            .into_iter()
            .map(|error| (error.at.pointer, error.code.as_str()))
            .collect()
    }

    const GOOD: &str = r#"{"customerId":"c","eventType":"t"}"#;

    #[test]
    fn envelope_error_is_reported_with_its_pointer() {
        assert_eq!(errors("[]"), [(String::new(), "invalid-type")]);
        assert_eq!(errors("{}"), [("/signals".into(), "required")]);
        assert_eq!(
            errors(r#"{"signals":null}"#),
            [("/signals".into(), "required")]
        );
        assert_eq!(
            errors(r#"{"signals":{}}"#),
            [("/signals".into(), "invalid-type")]
        );
        assert_eq!(
            errors(r#"{"signals":[]}"#),
            [("/signals".into(), "required")]
        );
        assert_eq!(
            errors(&format!(
                r#"{{"requestIdentifier":"x","signals":[{GOOD}]}}"#
            )),
            [("/requestIdentifier".into(), "invalid-uuid")]
        );
        assert_eq!(
            errors(&format!(r#"{{"requestIdentifier":7,"signals":[{GOOD}]}}"#)),
            [("/requestIdentifier".into(), "invalid-type")]
        );
        assert_eq!(
            errors(&format!(r#"{{"signals":[{GOOD}],"signals":[{GOOD}]}}"#)),
            [("/signals".into(), "duplicate-member")]
        );
    }

    #[test]
    fn error_of_an_envelope_says_how_to_send_what_the_client_sent() {
        for (body, message) in [
            (
                format!("[{GOOD}]"),
                r#"The body must be an object: send {"signals":[...]} around the array."#,
            ),
            (
                r#""{\"signals\":[]}""#.to_owned(),
                "The body must be an object, not a string: it seems to be encoded as JSON twice.",
            ),
            ("17".to_owned(), "The body must be an object."),
            (
                GOOD.to_owned(),
                r#"signals is required: send {"signals":[...]} around the signal."#,
            ),
            (
                format!(r#"{{"batch":[{GOOD}]}}"#),
                "signals is required; did you write batch for signals?",
            ),
            (
                format!(r#"{{"events":[{GOOD}]}}"#),
                "signals is required; did you write events for signals?",
            ),
            (
                r#"{"customerId":"c","customerData":{}}"#.to_owned(),
                "signals is required: this is an update of a customer, not a batch of signals.",
            ),
            (
                format!(r#"{{"signals":{GOOD}}}"#),
                "signals must be an array, also around one signal.",
            ),
            (
                r#"{"signals":"[]"}"#.to_owned(),
                "signals must be an array, not a string: it seems to be encoded as JSON twice.",
            ),
        ] {
            let BatchError::Invalid(errors) = parse(&body).expect_err(&body) else {
                panic!("{body}")
            };
            assert_eq!(errors[0].message, message);
        }
    }

    #[test]
    fn nil_and_max_uuid_are_no_request_identifier() {
        for uuid in [
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        ] {
            let json = format!(r#"{{"requestIdentifier":"{uuid}","signals":[{GOOD}]}}"#);
            let Err(BatchError::Invalid(errors)) = parse(&json) else {
                panic!("{json}")
            };
            assert_eq!(errors[0].code, FieldErrorCode::InvalidUuid);
            assert_eq!(
                errors[0].message,
                "requestIdentifier must not be the nil or the max UUID: each request needs a UUID of its own."
            );
        }
        // A workflow may have it, and so may a message that is queued already.
        let nil = "00000000-0000-0000-0000-000000000000";
        let step = format!(
            r#"{{"signals":[{{"emitterId":"e","stepNodeId":"s","eventflowIdentifier":"{nil}"}}]}}"#
        );
        assert_eq!(parse(&step).unwrap().signals.len(), 1);
        assert!(RequestIdentifier::parse(nil).is_some());
    }

    #[test]
    fn error_of_a_field_that_appears_twice_is_reported_once() {
        assert_eq!(
            errors(&format!(
                r#"{{"requestIdentifier":"x","requestIdentifier":"y","signals":[{GOOD}]}}"#
            )),
            [
                ("/requestIdentifier".into(), "invalid-uuid"),
                ("/requestIdentifier".into(), "duplicate-member"),
            ]
        );
    }

    #[test]
    fn misspelt_envelope_field_is_named_beside_the_one_that_is_meant() {
        let json = format!(r#"{{"request_identifier":"x","signals":[{GOOD}]}}"#);
        let warned = "request_identifier is not in the contract; it was ignored. Did you mean requestIdentifier?";
        assert_eq!(parse(&json).unwrap().warnings[0].message, warned);
        let Err(BatchError::Invalid(errors)) = parse(r#"{"debug":1,"Signals":[]}"#) else {
            panic!("no signals")
        };
        assert_eq!(
            errors[0].message,
            "signals is required; did you write Signals for signals?"
        );
    }
}
