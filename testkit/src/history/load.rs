//! What clients send, generated from their seeds alone: a seed sends the same again. Must not know what is received.

use serde_json::{Value, json};

use super::record::Sent;

/// Part of every value that no log may contain.
pub(super) const CANARY: &str = "canary-7e1d";

/// Histories that signals are for.
const WHO: u32 = 400;

/// Fields of a customer that are written.
pub(super) const FIELDS: [&str; 4] = ["email", "city", "phoneNumber", "nickname"];

/// Updates of one client before its customers are others.
const UPDATES_PER_WINDOW: u64 = 25;

/// Customers that all clients write at one time.
const WINDOW: u32 = 8;

/// A request with signals.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) number: u64,
    pub(super) identifier: Option<String>,
    pub(super) sent: Vec<Sent>,
    signals: String,
}

impl Batch {
    /// A client's next one. The signals that break the contract are known as such here already.
    pub(super) fn random(random: &mut fastrand::Rng, number: u64) -> Self {
        let size = match random.u8(..10) {
            0..3 => random.usize(1..=10),
            3..7 => random.usize(25..=100),
            _ => random.usize(100..=500),
        };
        let identifier = (random.u8(..10) != 0).then(|| uuid_of(random.u128(..)));
        let some_break = random.u8(..5) == 0;
        let mut sent = Vec::with_capacity(size);
        let mut signals = String::from("[");
        for n in 0..size {
            let who = random.u32(..WHO);
            let breaks = some_break && random.u8(..20) == 0;
            if n > 0 {
                signals.push(',');
            }
            signals.push_str(&signal(random, number, n, who, breaks));
            sent.push(Sent { who, refused: breaks });
        }
        signals.push(']');
        Self { number, identifier, sent, signals }
    }

    /// The body, with this identifier if there is one.
    pub(super) fn body(&self, identifier: Option<&str>) -> String {
        let signals = &self.signals;
        match identifier {
            Some(identifier) => format!(r#"{{"requestIdentifier":"{identifier}","signals":{signals}}}"#),
            None => format!(r#"{{"signals":{signals}}}"#),
        }
    }
}

fn signal(random: &mut fastrand::Rng, request: u64, n: usize, who: u32, breaks: bool) -> String {
    let what = if breaks { "" } else { "view" };
    let data = format!(r#"{{"request":{request},"n":{n},"note":"{CANARY}","price":{}.50}}"#, random.u16(..));
    if who.is_multiple_of(2) {
        format!(r#"{{"customerId":"{CANARY}-{who}","eventType":"{what}","data":{data}}}"#)
    } else {
        let flow = uuid_of(u128::from(who));
        format!(
            r#"{{"emitterId":"{CANARY}-{who}","stepNodeId":"{what}","eventflowIdentifier":"{flow}","data":{data}}}"#
        )
    }
}

fn uuid_of(bits: u128) -> String {
    uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
}

/// An update of a customer.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) customer: u32,
    pub(super) fields: Vec<(&'static str, Option<String>)>,
}

impl Profile {
    /// The `number`-th of a client: its customers move on with its number, so that at the end there are customers whose
    /// last writes were at any time of the run.
    pub(super) fn random(random: &mut fastrand::Rng, client: u64, number: u64) -> Self {
        let window = u32::try_from(number / UPDATES_PER_WINDOW).unwrap_or(u32::MAX).saturating_mul(WINDOW);
        let customer = window.saturating_add(random.u32(..WINDOW));
        let mut fields = FIELDS.to_vec();
        random.shuffle(&mut fields);
        fields.truncate(random.usize(1..=3));
        let value = format!("{CANARY}-{client}-{number}");
        let fields = fields.into_iter().map(|field| (field, (random.u8(..8) != 0).then(|| value.clone()))).collect();
        Self { customer, fields }
    }

    pub(super) fn body(&self) -> String {
        let data: Value = self.fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        json!({"customerId": format!("{CANARY}-{}", self.customer), "customerData": data}).to_string()
    }
}
