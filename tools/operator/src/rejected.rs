//! The signals that the service rejected: reads them, and redrives them.

pub mod redrive;
mod rejected_signal;
mod rejected_signal_id;
mod rejected_table;
mod subject_matching;

pub use self::rejected_signal::RejectedSignal;
pub use self::rejected_signal_id::{RejectedSignalId, refuse_ambiguous};
pub use self::rejected_table::{MatchingSignals, RejectedTable, days};
pub use self::subject_matching::{SubjectMatch, Wanted};
