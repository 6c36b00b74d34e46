//! What clients send, generated from their seeds alone: a seed sends the same again. This module
//! must not know what is received.

use serde_json::{Value, json};

use crate::{GeneratedSignal, SentSignal};

/// More customers and emitters than an account has.
const SUBJECTS_PER_ACCOUNT: u32 = 10_000_000;

/// Part of every value that no log may contain.
pub const CANARY: &str = "canary-7e1d";

/// Fields of a customer that are written.
pub const FIELDS: [&str; 4] = ["email", "city", "phoneNumber", "nickname"];

/// The field of a customer that imports write, and no client does.
pub const IMPORTED_FIELD: &str = "zip";

/// Updates of one client before its customers are others.
const UPDATES_BEFORE_NEXT_CUSTOMERS: u64 = 25;

/// Customers that all clients of an account write at one time, of which an import writes half.
const CUSTOMERS_AT_ONCE: u32 = 8;

/// A request with signals.
#[derive(Clone, Debug)]
pub struct GeneratedBatch {
    pub number: u64,
    pub identifier: Option<String>,
    pub sent: Vec<SentSignal>,
    signals: String,
}

impl GeneratedBatch {
    /// A client's next request, of this size, with signals of so many customers and emitters. The
    /// client knows already here which of its signals break the contract.
    pub fn of_size(
        random: &mut fastrand::Rng,
        account: u32,
        number: u64,
        size: usize,
        subjects: u32,
    ) -> Self {
        let has_identifier = random.u8(..10) != 0;
        let identifier = has_identifier.then(|| uuid_of(random.u128(..)));
        let some_break = random.u8(..5) == 0;
        let mut sent = Vec::with_capacity(size);
        let mut signals = String::from("[");
        for n in 0..size {
            let subject_in_account = random.u32(..subjects);
            let is_rejected = some_break && random.u8(..20) == 0;
            let signal = GeneratedSignal {
                account_id: &account_id(account),
                subject_id: &format!("{CANARY}-{subject_in_account}"),
                subject_in_account,
                // An empty one breaks the contract.
                action: if is_rejected { "" } else { "view" },
                request: number,
                n,
                price: random.u16(..),
            };
            if n > 0 {
                signals.push(',');
            }
            sent.push(SentSignal {
                subject: subject_number(account, subject_in_account),
                is_rejected,
                content: signal.stored(is_rejected),
            });
            signals.push_str(&signal.text());
        }
        signals.push(']');
        Self {
            number,
            identifier,
            sent,
            signals,
        }
    }

    /// The body, with this identifier if there is one.
    pub fn body(&self, identifier: Option<&str>) -> String {
        let signals = &self.signals;
        match identifier {
            Some(identifier) => {
                format!(r#"{{"requestIdentifier":"{identifier}","signals":{signals}}}"#)
            }
            None => format!(r#"{{"signals":{signals}}}"#),
        }
    }
}

/// The number of a customer or an emitter of an account. No other account has the same number.
pub fn subject_number(account: u32, subject_in_account: u32) -> u32 {
    account * SUBJECTS_PER_ACCOUNT + subject_in_account
}

/// The id of the `account`-th account.
pub fn account_id(account: u32) -> String {
    format!("history-{account}")
}

/// The key of the item of a customer, as docs/data-model.md has it.
pub fn customer_key(account: u32, customer_in_account: u32) -> String {
    format!("{}#{CANARY}-{customer_in_account}", account_id(account))
}

/// The account of a customer or an emitter, and its number there: see [`subject_number`].
pub fn subject_in_account(subject: u32) -> [u32; 2] {
    [
        subject / SUBJECTS_PER_ACCOUNT,
        subject % SUBJECTS_PER_ACCOUNT,
    ]
}

fn uuid_of(bits: u128) -> String {
    uuid::Builder::from_random_bytes(bits.to_be_bytes())
        .into_uuid()
        .to_string()
}

/// An update of a customer.
#[derive(Clone, Debug)]
pub struct GeneratedUpdate {
    /// The number of the customer within the account.
    pub customer_in_account: u32,
    pub fields: Vec<(&'static str, Option<String>)>,
}

impl GeneratedUpdate {
    /// The `number`-th of a client: its customers move on with its number, so that at the end there
    /// are customers whose last writes were at any time of the run.
    /// It has so many `customers` at one time.
    pub fn of_customers(
        random: &mut fastrand::Rng,
        client: u64,
        number: u64,
        customers: u32,
    ) -> Self {
        let turn = u32::try_from(number / UPDATES_BEFORE_NEXT_CUSTOMERS).unwrap_or(u32::MAX);
        let customer_in_account = turn.saturating_mul(customers) + random.u32(..customers);
        let mut fields = FIELDS.to_vec();
        random.shuffle(&mut fields);
        fields.truncate(random.usize(1..=3));
        let value = format!("{CANARY}-{client}-{number}");
        let mut written = Vec::new();
        for field in fields {
            // One field in eight is removed.
            let is_set = random.u8(..8) != 0;
            written.push((field, is_set.then(|| value.clone())));
        }
        Self {
            customer_in_account,
            fields: written,
        }
    }

    /// The `number`-th of the import of an account. It writes every other customer that the clients
    /// write at the same time, or will write next.
    pub fn imported(random: &mut fastrand::Rng, number: u64) -> Self {
        let turn = u32::try_from(number / UPDATES_BEFORE_NEXT_CUSTOMERS).unwrap_or(u32::MAX);
        let first_customer = turn.saturating_mul(CUSTOMERS_AT_ONCE);
        let customer_in_account = first_customer + 2 * random.u32(..CUSTOMERS_AT_ONCE);
        let value = format!("{CANARY}-import-{number}");
        Self {
            customer_in_account,
            fields: vec![(IMPORTED_FIELD, Some(value))],
        }
    }

    /// The key of its item in the table of the customers, as docs/data-model.md has it.
    pub fn key(&self, account: u32) -> String {
        customer_key(account, self.customer_in_account)
    }

    pub fn body(&self) -> String {
        let data: Value = self
            .fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let customer = format!("{CANARY}-{}", self.customer_in_account);
        json!({"customerId": customer, "customerData": data}).to_string()
    }
}
