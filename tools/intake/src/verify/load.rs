//! What is sent, and what has to be stored of it. Both are written out here, so that nothing of the service decides what is
//! expected. Must not know what is received.

use consistency::{Fingerprint, Sent};
use model::account::AccountId;
use model::limits::{MAX_IDENTIFIER_CHARS, MAX_SIGNAL_BYTES};
use serde_json::{Value, json};

/// The customers and emitters that signals are for.
pub(super) const SUBJECTS: u32 = 100;

/// A request with signals.
#[derive(Clone)]
pub(super) struct Batch {
    pub(super) number: u64,
    pub(super) identifier: Option<String>,
    pub(super) sent: Vec<Sent>,
    texts: Vec<String>,
}

impl Batch {
    /// A request with as many signals, of both shapes, and a requestIdentifier.
    pub(super) fn new(account: &AccountId, number: u64, size: usize) -> Self {
        let identifier = Some(uuid::Uuid::new_v4().to_string());
        let mut batch = Self { number, identifier, sent: Vec::new(), texts: Vec::new() };
        let mut random = fastrand::Rng::with_seed(number);
        for _ in 0..size {
            batch.push(account, random.u32(..SUBJECTS), "view");
        }
        batch
    }

    /// With a further signal of this type, which is valid unless the type is blank or too long.
    pub(super) fn with(mut self, account: &AccountId, event_type: &str) -> Self {
        self.push(account, 0, event_type);
        self
    }

    pub(super) fn identifier(self, identifier: Option<String>) -> Self {
        Self { identifier, ..self }
    }

    /// For a request that has to be rejected whole: none of its signals may be stored, not even as a rejected one.
    pub(super) fn rejected_whole(mut self) -> Self {
        self.sent.iter_mut().for_each(|sent| sent.refused = false);
        self
    }

    /// With blanks inside the first signal, so that it has this many bytes, which may be too many.
    pub(super) fn with_first_signal_of(mut self, bytes: usize) -> Self {
        if let Some((text, sent)) = self.texts.first_mut().zip(self.sent.first_mut()) {
            let blanks = " ".repeat(bytes.saturating_sub(text.len()));
            text.insert_str(1, &blanks);
            if bytes > MAX_SIGNAL_BYTES {
                *sent = Sent { refused: true, content: Fingerprint::of(text), ..*sent };
            }
        }
        self
    }

    fn push(&mut self, account: &AccountId, who: u32, event_type: &str) {
        let signal = Signal { who, request: self.number, n: self.sent.len(), event_type };
        let text = signal.text();
        let refused = event_type.trim().is_empty() || event_type.len() > MAX_IDENTIFIER_CHARS;
        // A rejected signal is stored as it was sent.
        let content = if refused { Fingerprint::of(&text) } else { Fingerprint::of(&signal.item(account).to_string()) };
        self.sent.push(Sent { who, refused, content });
        self.texts.push(text);
    }

    pub(super) fn body(&self) -> String {
        let signals = self.texts.join(",");
        match &self.identifier {
            Some(identifier) => format!(r#"{{"requestIdentifier":"{identifier}","signals":[{signals}]}}"#),
            None => format!(r#"{{"signals":[{signals}]}}"#),
        }
    }

    pub(super) fn accepted(&self) -> usize {
        self.sent.iter().filter(|sent| !sent.refused).count()
    }
}

/// The id of a customer (even numbers) or an emitter.
pub(super) fn subject_id(who: u32) -> String {
    if is_customer(who) { format!("customer-{who}") } else { format!("journey-{who}") }
}

fn is_customer(who: u32) -> bool {
    who.is_multiple_of(2)
}

struct Signal<'a> {
    who: u32,
    request: u64,
    n: usize,
    event_type: &'a str,
}

impl Signal<'_> {
    /// Every seventh signal has a field that the contract does not know.
    fn has_unknown_field(&self) -> bool {
        self.n % 7 == 3
    }

    /// 38 digits, as many as DynamoDB stores.
    fn digits(&self) -> String {
        format!("1{:036}7", self.n)
    }

    fn flow(&self) -> String {
        uuid::Builder::from_random_bytes(u128::from(self.who).to_be_bytes()).into_uuid().to_string()
    }

    fn text(&self) -> String {
        let Self { who, request, n, event_type } = self;
        let (subject, digits, flow) = (subject_id(*who), self.digits(), self.flow());
        let unknown = if self.has_unknown_field() { r#""sessionId":"s-1","# } else { "" };
        let data = format!(
            r#"{{"request":{request},"n":{n},"price":{n}.75,"digits":{digits},"brand":"Caf\u00e9 😀","tags":[1,true,null,"x",{{}}]}}"#
        );
        if is_customer(*who) {
            format!(r#"{{{unknown}"customerId":"{subject}","eventType":"{event_type}","data":{data}}}"#)
        } else {
            format!(
                r#"{{{unknown}"emitterId":"{subject}","stepNodeId":"{event_type}","eventflowIdentifier":"{flow}","data":{data}}}"#
            )
        }
    }

    /// The attributes of its item that follow from its text, as DynamoDB's JSON.
    fn item(&self, account: &AccountId) -> Value {
        let Self { who, request, n, event_type } = self;
        let (subject, action) =
            if is_customer(*who) { ("customerId", "eventType") } else { ("emitterId", "stepNodeId") };
        let data = json!({
            "request": {"N": request.to_string()},
            "n": {"N": n.to_string()},
            "price": {"N": format!("{n}.75")},
            "digits": {"N": self.digits()},
            "brand": {"S": "Café 😀"},
            "tags": {"L": [{"N": "1"}, {"BOOL": true}, {"NULL": true}, {"S": "x"}, {"M": {}}]},
        });
        let mut item = serde_json::Map::from_iter([
            ("accountId".to_owned(), json!({"S": account.as_str()})),
            (subject.to_owned(), json!({"S": subject_id(*who)})),
            (action.to_owned(), json!({"S": event_type})),
            ("data".to_owned(), json!({"M": data})),
        ]);
        if !is_customer(*who) {
            item.insert("eventflowIdentifier".to_owned(), json!({"S": self.flow()}));
        }
        if self.has_unknown_field() {
            item.insert("undocumented".to_owned(), json!({"M": {"sessionId": {"S": "s-1"}}}));
        }
        item.into()
    }
}
