//! The commands there are, and the options that all of them take.

use clap::{Parser, Subcommand};

use crate::error::Error;
use crate::keys;
use crate::output::Output;
use crate::stack::Place;

const EXAMPLES: &str = "\
Examples:
  cargo intake --local keys list
  cargo intake --stack intake-prod keys create --account shop --name web > key.txt

Without --stack and --local, the tables are those of the variables API_KEYS_TABLE, CUSTOMERS_TABLE, SIGNALS_TABLE,
REQUESTS_TABLE and REJECTED_SIGNALS_TABLE. Credentials and region come from where the AWS command line has them.";

/// What the operator of an Intake stack does: keys, customers, signals, what was rejected, imports.
#[derive(Debug, Parser)]
#[command(name = "cargo intake", bin_name = "cargo intake", version, after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,

    /// Write one JSON value a line, for programs
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make, list, rotate and revoke the keys of accounts
    #[command(subcommand)]
    Keys(keys::Command),
}

impl Options {
    pub(crate) async fn run(self) -> Result<(), Error> {
        let output = if self.json { Output::Programs } else { Output::People };
        match self.command {
            Command::Keys(command) => command.run(&self.place, output).await,
        }
    }
}
