//! The commands there are, and the options that all of them take.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::import::Import;
use crate::output::Format;
use crate::stack::StackArgs;
use crate::{customers, keys, rejected, signals};

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
    stack_args: StackArgs,

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

    /// Show or erase what is stored of a customer
    #[command(subcommand)]
    Customers(customers::Command),

    /// List what a customer did, or how far a workflow journey came
    #[command(subcommand)]
    Signals(signals::Command),

    /// List, show and redrive signals that were refused
    #[command(subcommand)]
    Rejected(rejected::Command),

    /// Store the customers or the signals of a file
    Import(Import),
}

impl Options {
    pub(crate) async fn run(self) -> Result<()> {
        let format = if self.json { Format::Json } else { Format::Table };
        match self.command {
            Command::Keys(command) => command.run(&self.stack_args, format).await,
            Command::Customers(command) => command.run(&self.stack_args, format).await,
            Command::Signals(command) => command.run(&self.stack_args, format).await,
            Command::Rejected(command) => command.run(&self.stack_args, format).await,
            Command::Import(import) => import.run(&self.stack_args, format).await,
        }
    }
}
