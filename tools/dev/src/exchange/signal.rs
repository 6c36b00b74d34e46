//! The signals of a request as the inspector shows them. They are read once, when the request has
//! its response; lists, counts and the page use them. Must not know a rule of the API.

use std::collections::HashMap;
use std::mem::size_of;

use axum::body::Bytes;
use contracts::judge::{Break, Verdict};
use memchr::memmem::Finder;
use model::json::{JsonText, Value};
use model::limits::MAX_ERRORS_PER_SIGNAL;
use model::pointer::JsonPointer;
use model::validation::FieldErrors;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::exchange::parsed_response::{ParsedResponse, ResponseFinding};
use crate::functions::BatchResult;

/// How many signals of a request are listed. A body has space for millions, but a request with more
/// than this many is refused, and only its first signals are listed.
const MAX_SIGNALS: usize = 5_000;

/// What became of a signal, as the function says.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ShownVerdict {
    /// DynamoDB has acknowledged it, in this request or in an earlier attempt of it.
    Stored,
    /// The overflow queue has taken it.
    Deferred,
    /// The function has rejected it, alone or with the whole batch. Its errors say why.
    Rejected,
    /// The whole request was refused, and nothing is acknowledged.
    Refused,
}

impl From<signals::SignalVerdict> for ShownVerdict {
    fn from(verdict: signals::SignalVerdict) -> Self {
        match verdict {
            signals::SignalVerdict::Stored => Self::Stored,
            signals::SignalVerdict::Deferred => Self::Deferred,
            signals::SignalVerdict::Rejected | signals::SignalVerdict::RejectedWithBatch => {
                Self::Rejected
            }
        }
    }
}

/// A signal, or a body in which none can be read.
#[derive(Serialize)]
pub(crate) struct ShownSignal {
    /// Its place in the request, from 0; `None` for a body in which no signal can be read.
    pub(crate) index: Option<usize>,
    /// Its eventType or stepNodeId.
    pub(crate) r#type: Option<String>,
    /// Its customerId or emitterId.
    pub(crate) subject: Option<String>,
    pub(crate) verdict: ShownVerdict,
    /// Whether the service had seen its request before.
    pub(crate) replayed: bool,
    pub(crate) errors: Vec<ResponseFinding>,
    pub(crate) warnings: Vec<ResponseFinding>,
    /// The text of the signal, in the memory of the body.
    #[serde(skip)]
    sent: Bytes,
    /// The text of its `data`, in the memory of the body.
    pub(crate) data: Option<SentJson>,
    /// With `--contracts`, whether its data keeps the event contract of its type. `None` if it is
    /// not judged.
    #[serde(rename = "contract")]
    pub(crate) event_contract: Option<EventContractVerdict>,
    /// What breaks the event contract, if it is broken.
    #[serde(rename = "breaks")]
    pub(crate) event_contract_breaks: Option<Vec<Break>>,
}

/// Whether the data of a signal keeps the event contract of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum EventContractVerdict {
    #[serde(rename = "ok")]
    Kept,
    #[serde(rename = "broken")]
    Broken,
    /// The type of the signal has no event contract.
    #[serde(rename = "none")]
    NoContract,
}

/// A value as it was sent, with every digit.
pub(crate) struct SentJson(pub(crate) Bytes);

/// The members that a list shows of a request or of one of its signals. Their values are not
/// parsed: a tree of all values would take many times as much memory as the body.
///
/// They are read as the functions read them: a member that appears twice has its last value, and a
/// name that is no Unicode hides no other member.
#[derive(Default)]
pub(crate) struct ListedMembers<'a> {
    request_identifier: Option<Value<'a>>,
    signals: Option<Value<'a>>,
    customer_id: Option<Value<'a>>,
    emitter_id: Option<Value<'a>>,
    event_type: Option<Value<'a>>,
    step_node_id: Option<Value<'a>>,
    data: Option<Value<'a>>,
}

impl<'a> ListedMembers<'a> {
    /// Reads the members of a body. A body that is not a JSON object has none.
    pub(crate) fn of_body(body: &'a [u8]) -> Self {
        let text = std::str::from_utf8(body).unwrap_or_default();
        match JsonText::parse(text) {
            Ok(json) => Self::of_value(json.value()),
            Err(_) => Self::default(),
        }
    }

    /// Reads the members of a value. A value that is not an object has none.
    fn of_value(value: Value<'a>) -> Self {
        let mut members = Self::default();
        // The response has the errors.
        let mut errors = FieldErrors::default();
        let Some(mut fields) = value.as_object(&JsonPointer::Root) else {
            return members;
        };
        while let Some(field) = fields.next_field(&mut errors) {
            let member = match field.name.as_ref() {
                "requestIdentifier" => &mut members.request_identifier,
                "signals" => &mut members.signals,
                "customerId" => &mut members.customer_id,
                "emitterId" => &mut members.emitter_id,
                "eventType" => &mut members.event_type,
                "stepNodeId" => &mut members.step_node_id,
                "data" => &mut members.data,
                _ => continue,
            };
            *member = Some(field.value);
        }
        members
    }

    pub(crate) fn request_identifier(&self) -> Option<String> {
        first_text([self.request_identifier])
    }

    /// The customerId or the emitterId.
    pub(crate) fn subject(&self) -> Option<String> {
        first_text([self.customer_id, self.emitter_id])
    }

    /// The eventType or the stepNodeId.
    fn signal_type(&self) -> Option<String> {
        first_text([self.event_type, self.step_node_id])
    }

    fn signals(&self) -> Vec<Value<'a>> {
        let signals = self.signals.and_then(Value::as_array);
        signals.into_iter().flatten().take(MAX_SIGNALS).collect()
    }
}

/// Reads the signals of a request with this body. `batch` says what became of each. It is `None` if
/// the whole request was refused.
pub(crate) fn read_signals(
    body: &Bytes,
    parsed: &ParsedResponse,
    batch: Option<&BatchResult>,
) -> Vec<ShownSignal> {
    let sent = ListedMembers::of_body(body).signals();
    if sent.is_empty() {
        return vec![ShownSignal::refused(parsed)];
    }
    let mut errors = by_signal(&parsed.field_errors);
    let mut warnings = by_signal(&parsed.warnings);
    let mut signals = Vec::new();
    for (index, value) in sent.into_iter().enumerate() {
        let verdict = batch.and_then(|batch| batch.verdicts.get(index));
        let mut signal = ShownSignal::refused(parsed);
        if let Some(verdict) = verdict {
            signal.verdict = (*verdict).into();
            signal.errors = errors.remove(&index).unwrap_or_default();
        }
        let listed = ListedMembers::of_value(value);
        signal.index = Some(index);
        signal.r#type = listed.signal_type();
        signal.subject = listed.subject();
        signal.replayed = batch.is_some_and(|batch| batch.is_replay);
        signal.warnings = warnings.remove(&index).unwrap_or_default();
        signal.sent = body.slice_ref(value.text().as_bytes());
        signal.data = listed
            .data
            .map(|data| SentJson(body.slice_ref(data.text().as_bytes())));
        signals.push(signal);
    }
    signals
}

impl ShownSignal {
    /// A signal of a request that was refused, or a body in which no signal can be read. Its errors
    /// are those of the response.
    fn refused(parsed: &ParsedResponse) -> Self {
        let field_errors = parsed.field_errors.iter();
        let mut errors: Vec<_> = field_errors.take(MAX_ERRORS_PER_SIGNAL).cloned().collect();
        if errors.is_empty() {
            errors.push(parsed.refusal.clone());
        }
        Self {
            index: None,
            r#type: None,
            subject: None,
            verdict: ShownVerdict::Refused,
            replayed: false,
            errors,
            warnings: Vec::new(),
            sent: Bytes::new(),
            data: None,
            event_contract: None,
            event_contract_breaks: None,
        }
    }

    /// Keeps the verdict of its event contract.
    pub(crate) fn judge(&mut self, verdict: Verdict) {
        let (event_contract, breaks) = match verdict {
            Verdict::Kept => (EventContractVerdict::Kept, None),
            Verdict::Broken(breaks) => (EventContractVerdict::Broken, Some(breaks)),
            Verdict::NoContract => (EventContractVerdict::NoContract, None),
        };
        self.event_contract = Some(event_contract);
        self.event_contract_breaks = breaks;
    }

    /// The place of what breaks its event contract, in the request.
    pub(crate) fn pointer_of(&self, broken: &Break) -> String {
        let index = self.index.unwrap_or_default();
        format!("/signals/{index}/data{}", broken.pointer)
    }

    /// Whether the signal, as it was sent, has this text.
    pub(crate) fn has_text(&self, text: &Finder<'_>) -> bool {
        text.find(&self.sent).is_some()
    }

    /// Whether it is stored or queued.
    pub(crate) fn is_acknowledged(&self) -> bool {
        matches!(self.verdict, ShownVerdict::Stored | ShownVerdict::Deferred)
    }

    /// How much memory the signal takes beside the body, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.r#type.iter().chain(&self.subject);
        let text_bytes: usize = texts.map(String::len).sum();
        let findings = self.errors.iter().chain(&self.warnings);
        let finding_bytes: usize = findings.map(ResponseFinding::bytes).sum();
        let breaks = self.event_contract_breaks.iter().flatten();
        let break_bytes: usize = breaks
            .map(|one| size_of::<Break>() + one.pointer.len() + one.message.len())
            .sum();
        size_of::<Self>() + text_bytes + finding_bytes + break_bytes
    }
}

/// The findings that point to a signal, under the index of the signal. The index makes a look-up
/// cheap: each of 500 signals may have five findings.
fn by_signal(findings: &[ResponseFinding]) -> HashMap<usize, Vec<ResponseFinding>> {
    let mut all = HashMap::<_, Vec<_>>::new();
    for finding in findings {
        let index = finding
            .pointer
            .strip_prefix("/signals/")
            .and_then(|rest| rest.split('/').next()?.parse().ok());
        if let Some(index) = index {
            all.entry(index).or_default().push(finding.clone());
        }
    }
    all
}

/// The first of these members that is a text.
fn first_text<const N: usize>(members: [Option<Value<'_>>; N]) -> Option<String> {
    members.into_iter().flatten().find_map(|member| {
        let text = member.as_string()?.decode().ok()?;
        Some(text.into_owned())
    })
}

impl Serialize for SentJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_slice::<&RawValue>(&self.0)
            .ok()
            .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use serde_json::json;

    use super::{ShownSignal, ShownVerdict, read_signals};
    use crate::exchange::parsed_response::ParsedResponse;

    #[test]
    fn body_in_which_no_signal_can_be_read_is_one_refused_object_without_index() {
        for body in ["{", "", r#"{"signals":[]}"#, r#"{"signals":7}"#] {
            let parsed = ParsedResponse::parse(429, br#"{"message":"x"}"#, None);
            let signals = read_signals(&Bytes::copy_from_slice(body.as_bytes()), &parsed, None);
            let shown = signals.iter().map(|signal| {
                json!([
                    signal.index,
                    signal.r#type,
                    signal.verdict,
                    signal.errors[0].code
                ])
            });
            assert_eq!(
                shown.collect::<Vec<_>>(),
                [json!([null, null, "refused", "429"])]
            );
        }
    }

    #[test]
    fn each_signal_of_a_batch_that_is_too_large_is_refused_with_its_type() {
        for (sent, listed) in [(501, 501), (5_001, 5_000)] {
            let one = r#"{"customerId":"c","eventType":"purchase"}"#;
            let body = format!("{{\"signals\":[{}]}}", vec![one; sent].join(","));
            let response = br#"{"code":"validation-failed","fieldErrors":[{"code":"too-many-items","pointer":"/signals"}]}"#;
            let parsed = ParsedResponse::parse(400, response, None);
            let signals = read_signals(&Bytes::from(body), &parsed, None);
            assert_eq!(signals.len(), listed);
            let is_refused = |signal: &ShownSignal| {
                signal.verdict == ShownVerdict::Refused
                    && signal.r#type.as_deref() == Some("purchase")
                    && signal.errors[0].code == "too-many-items"
            };
            assert!(signals.iter().all(is_refused));
        }
    }
}
