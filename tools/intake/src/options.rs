//! The commands, and the options that all of them take.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::doctor::Doctor;
use crate::import::Import;
use crate::output::Format;
use crate::stack::StackArgs;
use crate::verify::Verify;
use crate::{accounts, customers, keys, overflow, rejected, signals};

/// The version of the tool.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const EXAMPLES: &str = "\
Examples:
  cargo intake --local keys list
  cargo intake --stack intake-prod keys create --account shop --name web > key.txt

docs/cli.md has an example of each command, and the variables that stand in for --stack and --local.";

/// Manages an Intake stack: API keys, accounts, customers, signals, rejected signals, the overflow queue, imports
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

    /// Erase whole accounts
    #[command(subcommand)]
    Accounts(accounts::Command),

    /// Find, show, export or erase what is stored of a customer
    #[command(subcommand)]
    Customers(customers::Command),

    /// List the signals of a customer or a workflow journey
    #[command(subcommand)]
    Signals(signals::Command),

    /// List and redrive rejected signals
    #[command(subcommand)]
    Rejected(rejected::Command),

    /// Count and redrive the messages of the overflow queue
    #[command(subcommand)]
    Overflow(overflow::Command),

    /// Store the customers or signals of a file
    Import(Import),

    /// Prove a deployment: send requests, read everything back, compare, clean up
    Verify(Verify),

    /// Check a deployed stack, without changing anything: tables, alarms, keys, queues, version
    Doctor(Doctor),
}

impl Options {
    pub(crate) async fn run(self) -> Result<()> {
        let format = if self.json { Format::Json } else { Format::Table };
        let stack = self.stack_args.connect().await?;
        match self.command {
            Command::Keys(command) => command.run(&stack, format).await,
            Command::Accounts(command) => command.run(&stack, format).await,
            Command::Customers(command) => command.run(&stack, format).await,
            Command::Signals(command) => command.run(&stack, format).await,
            Command::Rejected(command) => command.run(&stack, format).await,
            Command::Overflow(command) => command.run(&stack, format).await,
            Command::Import(import) => import.run(&stack, format).await,
            Command::Verify(verify) => verify.run(&stack, VERSION, format).await,
            Command::Doctor(doctor) => doctor.run(&stack, VERSION, format).await,
        }
    }
}
