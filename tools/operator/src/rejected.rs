//! The signals that the service rejected: reads them, and redrives them.

mod naming;
pub mod redrive;
mod rejected_signal;
mod rejected_signal_id;
mod rejected_table;

pub use self::naming::{Naming, Wanted};
pub use self::rejected_signal::RejectedSignal;
pub use self::rejected_signal_id::{RejectedSignalId, refuse_ambiguous};
pub use self::rejected_table::{NamedSignals, RejectedTable, days};
