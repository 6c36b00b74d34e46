//! What is sent. Must not know what is received.

use consistency::{Fingerprint, Sent, Signal};
use model::account::AccountId;
use model::limits::{MAX_IDENTIFIER_CHARS, MAX_SIGNAL_BYTES};

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
        let signal = Signal {
            account_id: account.as_str(),
            subject_id: &subject_id(who),
            who,
            action: event_type,
            request: self.number,
            n: self.sent.len(),
            price: u16::try_from(self.sent.len()).unwrap_or_default(),
        };
        let refused = event_type.trim().is_empty() || event_type.len() > MAX_IDENTIFIER_CHARS;
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
