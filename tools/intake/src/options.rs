//! The commands, and the options that all of them take.

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

Without --stack and --local, the variables API_KEYS_TABLE, CUSTOMERS_TABLE, SIGNALS_TABLE, REJECTED_SIGNALS_TABLE and
SIGNAL_RETENTION_DAYS describe the stack. Credentials and region are those of the AWS command line.";

/// Manages an Intake stack: API keys, customers, signals, rejected signals, imports
#[derive(Debug, Parser)]
#[command(name = "cargo intake", bin_name = "cargo intake", version, after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    stack_args: StackArgs,

    /// Write results as JSON, one value on each line
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create, import, list, rotate and revoke the API keys of accounts
    #[command(subcommand)]
    Keys(keys::Command),

    /// Show or erase what is stored of a customer
    #[command(subcommand)]
    Customers(customers::Command),

    /// List the signals of a customer or a workflow journey
    #[command(subcommand)]
    Signals(signals::Command),

    /// List, show and redrive rejected signals
    #[command(subcommand)]
    Rejected(rejected::Command),

    /// Store the customers or signals of a file
    Import(Import),
}

impl Options {
    pub(crate) async fn run(self) -> Result<()> {
        let format = if self.json { Format::Json } else { Format::Table };
        let stack = self.stack_args.connect().await?;
        match self.command {
            Command::Keys(command) => command.run(&stack, format).await,
            Command::Customers(command) => command.run(&stack, format).await,
            Command::Signals(command) => command.run(&stack, format).await,
            Command::Rejected(command) => command.run(&stack, format).await,
            Command::Import(import) => import.run(&stack, format).await,
        }
    }
}
