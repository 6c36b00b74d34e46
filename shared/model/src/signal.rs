//! One signal: an event or a workflow step, each standing on its own (SPEC 1.2, 2.3).

use std::borrow::Cow;

use crate::document::{Document, Names};
use crate::fault::{Fault, FaultCode, Faults, Warning, Warnings};
use crate::identifier::{Placeholders, UuidText, read_identifier, read_uuid};
use crate::limits::{REPORTED_PER_SIGNAL, SIGNAL_BYTES};
use crate::place::Path;
use crate::token::{JsonText, Token, Tokens};

/// A signal that obeys every rule of SPEC 2.3.
#[derive(Clone, Debug)]
pub struct Signal<'a> {
    /// Its place in the request, counted from 0; the rejected ones count.
    pub index: usize,
    /// Who, and what they did.
    pub identity: Identity<'a>,
    /// Always there in a workflow step.
    pub eventflow_identifier: Option<UuidText<'a>>,
    /// An object; `{}` when it was null or left out.
    pub data: Document<'a>,
    /// Members that are not in the contract, in the order in which they were sent.
    pub undocumented: Vec<(Cow<'a, str>, Document<'a>)>,
    /// As it was sent.
    pub payload: &'a str,
}

/// Who, and what they did, in either of the two shapes.
#[derive(Clone, Debug)]
pub enum Identity<'a> {
    /// A customer did something.
    Event {
        /// Who.
        customer_id: Cow<'a, str>,
        /// What, in the caller's words.
        event_type: Cow<'a, str>,
    },
    /// A workflow journey came to a node.
    Step {
        /// The journey.
        emitter_id: Cow<'a, str>,
        /// The node.
        step_node_id: Cow<'a, str>,
    },
}

impl<'a> Identity<'a> {
    /// The customer or the emitter: whose history the signal belongs to.
    #[must_use]
    pub fn who(&self) -> &str {
        match self {
            Self::Event { customer_id, .. } => customer_id,
            Self::Step { emitter_id, .. } => emitter_id,
        }
    }

    fn into_who(self) -> Cow<'a, str> {
        match self {
            Self::Event { customer_id, .. } => customer_id,
            Self::Step { emitter_id, .. } => emitter_id,
        }
    }
}

/// A signal that breaks a rule.
#[derive(Clone, Debug)]
pub struct Rejected<'a> {
    /// Its place in the request, counted from 0.
    pub index: usize,
    /// As it was sent.
    pub payload: &'a str,
    /// The customer or the emitter, if that could be read.
    pub who: Option<Cow<'a, str>>,
    /// What is wrong with it, the first five.
    pub faults: Vec<Fault>,
}

impl<'a> Signal<'a> {
    /// Reads one signal outside a batch, as the `index`-th of its request; `path` is where its faults are said to be.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: JsonText<'a>, index: usize, path: &Path<'_>) -> Result<Self, Rejected<'a>> {
        let mut tokens = text.tokens();
        // A text that is JSON has a first token.
        let first = tokens.next().unwrap_or(Token::Null);
        read(first, &mut tokens, index, path).outcome
    }
}

/// A signal read, and what of it is not in the contract.
pub(crate) struct Read<'a> {
    pub(crate) outcome: Result<Signal<'a>, Rejected<'a>>,
    pub(crate) warnings: Vec<Warning>,
}

/// Reads the signal that `first` begins, the `index`-th of the array at `path`'s parent.
pub(crate) fn read<'a>(first: Token<'a>, tokens: &mut Tokens<'a>, index: usize, path: &Path<'_>) -> Read<'a> {
    let begin = tokens.begin_of(first);
    let mut faults = Faults::keeping(REPORTED_PER_SIGNAL);
    let mut warnings = Warnings::keeping(REPORTED_PER_SIGNAL);
    let mut members = Members::default();
    let identity = if matches!(first, Token::BeginObject) {
        members.read(tokens, path, &mut faults, &mut warnings);
        members.identity(path, &mut faults)
    } else {
        tokens.skip(first);
        faults.add(path, FaultCode::InvalidType, "must be an object");
        None
    };
    let payload = tokens.since(begin);
    if payload.len() > SIGNAL_BYTES {
        // What else is wrong with it does not matter until it is shorter.
        faults = Faults::keeping(REPORTED_PER_SIGNAL);
        let message = format!("must have at most {SIGNAL_BYTES} bytes of JSON; {} were sent", payload.len());
        faults.add(path, FaultCode::TooLarge, message);
    }
    let outcome = match identity {
        Some(identity) if faults.is_empty() => Ok(Signal {
            index,
            identity,
            eventflow_identifier: members.eventflow_identifier.value,
            data: members.data,
            undocumented: members.undocumented,
            payload,
        }),
        identity => {
            let who = identity.map(Identity::into_who).or(members.customer_id.value).or(members.emitter_id.value);
            Err(Rejected { index, payload, who, faults: faults.into_kept() })
        }
    };
    Read { outcome, warnings: warnings.into_kept(path) }
}

/// A member that was looked for: whether it was there (null counts as absent), and its value if that is right.
#[derive(Debug)]
struct Member<T> {
    present: bool,
    value: Option<T>,
}

impl<T> Default for Member<T> {
    fn default() -> Self {
        Self { present: false, value: None }
    }
}

impl<T> Member<T> {
    fn of(token: Token<'_>, value: Option<T>) -> Self {
        Self { present: !matches!(token, Token::Null), value }
    }
}

/// The members of a signal as far as they were read.
#[derive(Debug)]
struct Members<'a> {
    customer_id: Member<Cow<'a, str>>,
    event_type: Member<Cow<'a, str>>,
    emitter_id: Member<Cow<'a, str>>,
    step_node_id: Member<Cow<'a, str>>,
    eventflow_identifier: Member<UuidText<'a>>,
    data: Document<'a>,
    undocumented: Vec<(Cow<'a, str>, Document<'a>)>,
}

impl Default for Members<'_> {
    fn default() -> Self {
        Self {
            customer_id: Member::default(),
            event_type: Member::default(),
            emitter_id: Member::default(),
            step_node_id: Member::default(),
            eventflow_identifier: Member::default(),
            data: Document::EMPTY,
            undocumented: Vec::new(),
        }
    }
}

impl<'a> Members<'a> {
    fn read(&mut self, tokens: &mut Tokens<'a>, path: &Path<'_>, faults: &mut Faults, warnings: &mut Warnings) {
        use Placeholders::{Allowed, Refused};
        let mut names = Names::default();
        while let Some(raw) = tokens.next_name() {
            let name = names.add(raw, path, faults);
            let at = Path::Member(path, &name);
            let Some(token) = tokens.next() else { break };
            let mut identifier =
                |placeholders| Member::of(token, read_identifier(token, tokens, placeholders, &at, faults));
            match name.as_ref() {
                "customerId" => self.customer_id = identifier(Refused),
                "eventType" => self.event_type = identifier(Allowed),
                "emitterId" => self.emitter_id = identifier(Refused),
                "stepNodeId" => self.step_node_id = identifier(Allowed),
                "eventflowIdentifier" => {
                    self.eventflow_identifier = Member::of(token, read_uuid(token, tokens, &at, faults));
                }
                "data" => self.read_data(token, tokens, &at, faults),
                _ if matches!(token, Token::Null) => {}
                _ => {
                    // One map around it: `undocumented`.
                    let value = Document::check(token, tokens, 1, &at, faults);
                    warnings.add(&at, || "is not in the contract; it is stored with the signal under undocumented");
                    self.undocumented.push((name.clone(), value));
                }
            }
        }
        names.report_duplicates(path, faults);
    }

    fn read_data(&mut self, token: Token<'a>, tokens: &mut Tokens<'a>, at: &Path<'_>, faults: &mut Faults) {
        match token {
            Token::Null => {}
            Token::BeginObject => self.data = Document::check(token, tokens, 0, at, faults),
            other => {
                tokens.skip(other);
                faults.add(at, FaultCode::InvalidType, "must be an object or null");
            }
        }
    }

    /// The one identity pair that there must be. Takes the values out; who it was stays if what they did is wrong.
    fn identity(&mut self, path: &Path<'_>, faults: &mut Faults) -> Option<Identity<'a>> {
        let event = self.customer_id.present || self.event_type.present;
        let step = self.emitter_id.present || self.step_node_id.present;
        let mut required = |name, message| faults.add(&Path::Member(path, name), FaultCode::Required, message);
        match (event, step) {
            (true, true) => {
                let message = "must have either customerId and eventType or emitterId and stepNodeId, not both";
                faults.add(path, FaultCode::AmbiguousIdentity, message);
                None
            }
            (false, false) => {
                let message = "must have customerId and eventType, or emitterId and stepNodeId";
                faults.add(path, FaultCode::Required, message);
                None
            }
            (true, false) => {
                if !self.customer_id.present {
                    required("customerId", "is required beside eventType");
                }
                if !self.event_type.present {
                    required("eventType", "is required beside customerId");
                }
                let event_type = self.event_type.value.take()?;
                self.customer_id.value.take().map(|customer_id| Identity::Event { customer_id, event_type })
            }
            (false, true) => {
                if !self.emitter_id.present {
                    required("emitterId", "is required beside stepNodeId");
                }
                if !self.step_node_id.present {
                    required("stepNodeId", "is required beside emitterId");
                }
                if !self.eventflow_identifier.present {
                    required("eventflowIdentifier", "is required in a workflow step");
                }
                let step_node_id = self.step_node_id.value.take()?;
                self.emitter_id.value.take().map(|emitter_id| Identity::Step { emitter_id, step_node_id })
            }
        }
    }
}

#[cfg(test)]
#[path = "signal_tests.rs"]
mod tests;
