//! The table of outages: what requests get while DynamoDB fails, and how many environments they hold.
//!
//! Requests come at a constant rate, from some seconds before the fault to some after it. Clients never
//! retry. SQS and S3 are available. A request goes to an idle environment, or else to a new one, which
//! starts at once and looks its key up in a table that fails like the others. So the figures leave out
//! the time that a start takes on Lambda.

mod choices;
mod conditions;
mod markdown_table;
mod measurement;

use clap::{Args, value_parser};

pub use self::choices::table as table_of_choices;
use self::conditions::Condition;
use self::measurement::Measurement;
use crate::aws::dynamodb::{CUSTOMERS, SIGNALS};
use crate::output::print_line;

/// What the requests of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// Updates of customers.
    Updates,
    /// Batches of 1 to 5 signals, with a requestIdentifier.
    Batches,
    /// Batches of 500 signals, with a requestIdentifier.
    LargeBatches,
}

/// Prints the table of outages: what requests get while DynamoDB fails, and how many environments they
/// hold. Ends with 1 when a request was lost or refused, or deferred without a fault.
#[derive(Debug, Args)]
pub struct OutageOptions {
    /// Requests a second; several, with commas between them, are columns of one table
    #[arg(long, value_delimiter = ',', default_values_t = [100])]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    rate: Vec<u64>,
    /// How long a fault lasts, or is repeated
    #[arg(long, default_value_t = 6, value_parser = value_parser!(u64).range(1..))]
    seconds: u64,
    /// Only rows whose condition has this text
    #[arg(long, default_value = "", value_parser = part_of_a_condition)]
    only: String,
}

/// The kinds that have a table each.
const TABLES: [RequestKind; 2] = [RequestKind::Updates, RequestKind::Batches];

/// A text that the condition of some row has in it.
fn part_of_a_condition(text: &str) -> Result<String, &'static str> {
    let mut conditions = TABLES.into_iter().flat_map(Condition::all);
    if conditions.any(|condition| condition.name.contains(text)) {
        Ok(text.to_owned())
    } else {
        Err("no row has a condition with this text: without --only, all rows are printed")
    }
}

impl RequestKind {
    fn name(self) -> &'static str {
        match self {
            Self::Updates => "updates",
            Self::Batches => "batches",
            Self::LargeBatches => "batches of 500",
        }
    }

    /// The table that has what is sent.
    fn table(self) -> &'static str {
        match self {
            Self::Updates => CUSTOMERS,
            Self::Batches | Self::LargeBatches => SIGNALS,
        }
    }
}

/// Measures and prints all rows. Returns whether nothing was lost and nothing refused.
pub fn print(options: &OutageOptions) -> bool {
    let mut holds = true;
    for kind in TABLES {
        print_line(&markdown_table::header(kind, options));
        for condition in Condition::all(kind) {
            if !condition.name.contains(&options.only) {
                continue;
            }
            let rates = options.rate.iter();
            let measure = |rate: &u64| Measurement::take(kind, *rate, options.seconds, &condition);
            let measured: Vec<_> = rates.map(measure).collect();
            print_line(&markdown_table::row(&condition, &measured));
            holds &= measured.iter().all(|row| row.holds(&condition));
        }
        print_line("");
    }
    holds
}
