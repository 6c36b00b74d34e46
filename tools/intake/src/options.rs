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
  cargo intake --stack intake-prod keys create --account shop --name web > key.txt";

/// The variables that the tool and the AWS SDK read, and what for.
const VARIABLES: &str = "\
INTAKE_STACK stands in for --stack. Without it, --stack and --local, other variables describe the stack. A command needs those of
the tables that it uses:
  API_KEYS_TABLE         the table of API keys
  CUSTOMERS_TABLE        the table of customers
  SIGNALS_TABLE          the table of signals
  REJECTED_SIGNALS_TABLE the table of rejected signals
  IDEMPOTENCY_TABLE      the table of idempotency records, for accounts erase
  SIGNAL_RETENTION_DAYS  for how many days signals are kept, for import and redrive; 0: forever
  OVERFLOW_QUEUE_URL, DEAD_LETTER_QUEUE_URL
                         the overflow queue and its dead-letter queue, if there are, for overflow and erase
  KEY_SNAPSHOT_BUCKET    the bucket of the key snapshot, if there is one, for commands that change keys and doctor
  BASE_URL               the address of the API, for verify
  DELETION_PROTECTION    whether the tables are protected (true or false), for doctor
  INTAKE_VERSION         the version that is deployed, for doctor

Except with --local, credentials and region are those of the AWS command line:
  AWS_PROFILE            the profile to use
  AWS_REGION             the region, if the profile has none or another
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
                         credentials in place of a profile
  AWS_CA_BUNDLE          a PEM file of certificate authorities in place of Amazon's, behind a proxy that ends TLS
  AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL_CLOUDFORMATION,
  AWS_ENDPOINT_URL_CLOUDWATCH, AWS_ENDPOINT_URL_S3
                         other addresses of AWS or of single services, such as that of an emulator

--local reads them from the file of `cargo dev`: target/dev.env, or dev.env in CARGO_TARGET_DIR.";

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{VARIABLES}")
}

/// Manages an Intake stack: API keys, accounts, customers, signals, rejected signals, the overflow queue, imports
#[derive(Debug, Parser)]
#[command(name = "cargo intake", bin_name = "cargo intake", version, after_help = after_help())]
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

    /// List, show and redrive rejected signals
    #[command(subcommand)]
    Rejected(rejected::Command),

    /// Count and redrive the messages of the overflow queue
    #[command(subcommand)]
    Overflow(overflow::Command),

    /// Store the customers or signals of a file
    Import(Import),

    /// Prove a deployment: send requests, read everything back, compare, measure, clean up
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
