//! What is sent. Must not know what is received.

use consistency::{Sent, Signal};
use model::account::AccountId;

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

    /// With a further signal, which is invalid: its type is blank.
    pub(super) fn with_invalid(mut self, account: &AccountId) -> Self {
        self.push(account, 0, "");
        self
    }

    pub(super) fn identifier(self, identifier: Option<String>) -> Self {
        Self { identifier, ..self }
    }

    fn push(&mut self, account: &AccountId, who: u32, event_type: &str) {
        let signal = Signal {
            account_id: account.as_str(),
            subject_id: &subject_id(who),
            who,
            action: event_type,
            request: self.number,
            n: self.sent.len(),
            price: u16::try_from(self.sent.len()).unwrap_or_default(),
        };
        let refused = event_type.is_empty();
        self.sent.push(Sent { who, refused, content: signal.stored(refused) });
        self.texts.push(signal.text());
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
    if who.is_multiple_of(2) { format!("customer-{who}") } else { format!("journey-{who}") }
}
