//! The commands, and the options that all of them take. Must not know what a command does.

use std::ffi::OsString;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::exit_codes::with_exit_codes;
use crate::import::ImportArgs;
use crate::interrupt::{end_at_interrupt, say_at_interrupt};
use crate::output::{Format, note, print_line};
use crate::output::{as_typed, name_stack_in_commands, own_name};
use crate::stack::{Stack, StackArgs, local_account};
use crate::verify::Verify;
use crate::{accounts, contracts, customers, doctor, keys, lake, overflow, rejected, signals};

const EXAMPLES: &str = "\
Examples:
  cargo intake --local keys list
  cargo intake --stack intake-prod keys create --account shop --name web > key.txt

docs/cli.md has an example of each command, and the variables that stand in for --stack and --local.";

/// Manages an Intake stack: API keys, accounts, customers, signals, rejected signals, the overflow
/// queue, imports
#[derive(Debug, Parser)]
#[command(name = "cargo intake", bin_name = "cargo intake", version = env!("INTAKE_VERSION_AND_COMMIT"), after_help = EXAMPLES)]
pub(crate) struct CommandLine {
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
    #[command(flatten)]
    OnStack(StackCommand),

    /// Write a script that completes the commands of an installed `intake` in this shell
    #[command(
        after_help = "Example:\n  intake completions bash > ~/.local/share/bash-completion/completions/intake"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The commands that work on a stack.
#[derive(Debug, Subcommand)]
enum StackCommand {
    /// Create, import, list, rotate and revoke the API keys of accounts
    #[command(subcommand)]
    Keys(keys::KeysCommand),

    /// Show what accounts send, or erase one
    #[command(subcommand)]
    Accounts(accounts::AccountsCommand),

    /// Find, show, export or erase what is stored of a customer
    #[command(subcommand)]
    Customers(customers::CustomersCommand),

    /// List the signals of a customer or a workflow journey, or erase those of one type
    #[command(subcommand)]
    Signals(signals::SignalsCommand),

    /// List and redrive rejected signals
    #[command(subcommand)]
    Rejected(rejected::RejectedCommand),

    /// Count and redrive the messages of the overflow queue
    #[command(subcommand)]
    Overflow(overflow::OverflowCommand),

    /// Erase events from the lake of a delivery, or write into it what is stored
    #[command(subcommand)]
    Lake(lake::LakeCommand),

    /// Write JSON Schemas of the data of stored signals, or check stored signals against them
    #[command(subcommand)]
    Contracts(contracts::EventContractsCommand),

    /// Store the customers or signals of a file
    Import(ImportArgs),

    /// Prove a deployment: send requests, read everything back, compare, clean up
    Verify(Verify),

    /// Check a deployed stack, without changing anything: tables, alarms, keys, queues, version
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod doctor")]
    Doctor,
}

impl CommandLine {
    /// Reads the command line. With `--local`, a command that needs an account and is given none has
    /// the account of the local stack.
    pub(crate) fn read() -> Self {
        let mut arguments: Vec<OsString> = std::env::args_os().collect();
        let error = match Self::parse(&arguments) {
            Ok(options) => return options,
            Err(error) => error,
        };
        if !is_missing_account(&error) {
            error.exit();
        }
        let account = match local_account(&arguments) {
            Some(Ok(account)) => account,
            // The account is missing because the file of the local stack cannot be read.
            Some(Err(error)) => {
                note(&format!("error: {error:#}"));
                std::process::exit(1)
            }
            None => error.exit(),
        };
        // The option is put before `--`: clap takes what follows `--` for an id.
        let end = arguments
            .iter()
            .position(|argument| argument == "--")
            .unwrap_or(arguments.len());
        arguments.splice(end..end, ["--account".into(), account.into()]);
        let options = Self::parse(&arguments).unwrap_or_else(|error| error.exit());
        if !options.stack_args.is_local() {
            // The text is the value of another option.
            error.exit();
        }
        options
    }

    fn parse(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let command = Self::command()
            .bin_name(own_name())
            .display_name(own_name());
        let matches = named_as_typed(with_exit_codes(command)).try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }

    pub(crate) async fn run(self) -> Result<()> {
        let format = if self.json {
            Format::Json
        } else {
            Format::Text
        };
        match self.command {
            Command::Completions { shell } => completions(shell),
            Command::OnStack(command) => {
                say_at_interrupt("To continue, run the same command again.");
                end_at_interrupt()?;
                name_stack_in_commands(self.stack_args.as_typed());
                let stack = self.stack_args.connect().await?;
                if command.adds() {
                    stack.ensure_not_deleted()?;
                }
                command.run(&stack, format).await
            }
        }
    }
}

impl StackCommand {
    /// Whether the command adds what only a stack that stays has a use for.
    fn adds(&self) -> bool {
        match self {
            Self::Keys(command) => command.adds(),
            Self::Import(_) | Self::Verify(_) => true,
            Self::Accounts(_)
            | Self::Contracts(_)
            | Self::Customers(_)
            | Self::Doctor
            | Self::Lake(_)
            | Self::Overflow(_)
            | Self::Rejected(_)
            | Self::Signals(_) => false,
        }
    }

    async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::Keys(command) => command.run(stack, format).await,
            Self::Accounts(command) => command.run(stack, format).await,
            Self::Customers(command) => command.run(stack, format).await,
            Self::Signals(command) => command.run(stack, format).await,
            Self::Rejected(command) => command.run(stack, format).await,
            Self::Overflow(command) => command.run(stack, format).await,
            Self::Lake(command) => command.run(stack, format).await,
            Self::Contracts(command) => command.run(stack).await,
            Self::Import(import) => import.run(stack, format).await,
            Self::Verify(verify) => verify.run(stack, format).await,
            Self::Doctor => doctor::run(stack, format).await,
        }
    }
}

/// Whether only the option `--account` is missing.
fn is_missing_account(error: &clap::Error) -> bool {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return false;
    }
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
        return false;
    };
    matches!(&missing[..], [name] if name.starts_with("--account"))
}

/// Puts the name by which the operator calls this program into all examples.
fn named_as_typed(command: clap::Command) -> clap::Command {
    let examples = command
        .get_after_help()
        .map(|text| as_typed(&text.to_string()));
    command
        .after_help(examples.unwrap_or_default())
        .mut_subcommands(named_as_typed)
}

fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(
        shell,
        &mut CommandLine::command().name("intake"),
        "intake",
        &mut script,
    );
    print_line(String::from_utf8_lossy(&script).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands without an example on the page, and their options.
    fn missing_on(page: &str, command: &clap::Command, words: &str, missing: &mut Vec<String>) {
        for option in command.get_arguments().filter_map(clap::Arg::get_long) {
            if !page.contains(&format!("--{option}")) {
                missing.push(format!("{words} --{option}"));
            }
        }
        for subcommand in command.get_subcommands() {
            let words = format!("{words} {}", subcommand.get_name());
            missing_on(page, subcommand, &words, missing);
        }
        if !command.has_subcommands() && !page.contains(words) {
            missing.push(words.to_owned());
        }
    }

    #[test]
    fn page_has_every_command_and_option() {
        let page = include_str!("../../../docs/cli.md");
        let mut missing = Vec::new();
        missing_on(page, &CommandLine::command(), "intake", &mut missing);
        assert_eq!(missing, Vec::<String>::new());
    }
}
