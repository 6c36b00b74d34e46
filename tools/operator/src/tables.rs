//! The tables of a stack, as an import and a redrive need them. Must not know what is done with them.

use std::time::Duration;

use aws_sdk_dynamodb::Client;

/// The timeout of a write with all its attempts. No client waits for it, as one waits for a
/// function.
pub const WRITE_TIMEOUT: Duration = Duration::from_mins(1);

/// How often a long operation says how far it is.
pub const NOTE_INTERVAL: Duration = Duration::from_secs(5);

/// Takes a sentence for the operator while an operation goes on: how far it is, or what it left out.
pub type Note = fn(&str);

/// The tables that an import and a redrive read and write.
#[derive(Clone, Debug)]
pub struct Tables {
    /// A client with credentials that may do so.
    pub dynamodb: Client,
    /// The name of the table Customers.
    pub customers: String,
    /// The name of the table Signals.
    pub signals: String,
    /// The name of the table RejectedSignals.
    pub rejected_signals: String,
    /// How long signals are kept; `None` means forever. It must be that of the functions: with
    /// another one, a stored signal would be kept longer than the others, or not as long.
    pub retention: Option<Duration>,
    /// Where sentences for the operator go.
    pub note: Note,
}
