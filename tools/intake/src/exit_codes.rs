//! When each command exits with 1 (docs/cli.md has those with a reason of their own). Must not know how a command ends.

use clap::Command;

/// When a command exits with 1, beside an error such as a call that failed.
pub(crate) struct CommandExit {
    /// The words of the command.
    command: &'static str,
    fails_when: &'static str,
}

const fn exit(command: &'static str, fails_when: &'static str) -> CommandExit {
    CommandExit {
        command,
        fails_when,
    }
}

/// What a command says that has no reason of its own.
const AN_ERROR: &str = "an error";

const SNAPSHOT: &str = "an error, or the key snapshot could not be written";

const STAYS: &str = "an error, or a line or an object of the lake stays";

/// All commands, in the order of `--help`.
const COMMANDS: [CommandExit; 28] = [
    exit("keys create", SNAPSHOT),
    exit("keys list", AN_ERROR),
    exit("keys rotate", SNAPSHOT),
    exit(
        "keys revoke",
        "an error, or the key table and the key snapshot do not both have the revocation",
    ),
    exit("keys import", SNAPSHOT),
    exit("keys publish", SNAPSHOT),
    exit("accounts usage", AN_ERROR),
    exit(
        "accounts erase",
        "an error, the account has neither a key nor data, or something of it may be left: run it again",
    ),
    exit("customers show", "an error, or there is no such customer"),
    exit("customers find", AN_ERROR),
    exit(
        "customers export",
        "an error, or a rejected signal that may belong to the customer was left out",
    ),
    exit(
        "customers erase",
        "an error, or something of the customer may be left: run it again",
    ),
    exit("signals list", AN_ERROR),
    exit(
        "signals erase",
        "an error, or something of the type may be left: run it again",
    ),
    exit("rejected list", AN_ERROR),
    exit(
        "rejected redrive",
        "an error, a given id is missing, or there were signals and none was accepted",
    ),
    exit("overflow status", AN_ERROR),
    exit("overflow redrive", AN_ERROR),
    exit("lake erase customer", STAYS),
    exit("lake erase signals", STAYS),
    exit("lake erase account", STAYS),
    exit(
        "lake backfill",
        "an error, or an item is not as Intake writes it, and was left out",
    ),
    exit("contracts infer", AN_ERROR),
    exit(
        "contracts check",
        "an error, or a signal breaks its event contract",
    ),
    exit(
        "import",
        "an error, a line was rejected (unless `--keep-going` is given), or there were lines and none is in the table",
    ),
    exit(
        "verify",
        "an error, a promise did not hold, or something was not removed",
    ),
    exit("doctor", "an error, or a check failed"),
    exit("completions", AN_ERROR),
];

/// Puts the exit codes of each command into its help.
pub(crate) fn with_exit_codes(command: Command) -> Command {
    command.mut_subcommands(|subcommand| with_exit_codes_below(subcommand, ""))
}

fn with_exit_codes_below(command: Command, parent: &str) -> Command {
    let words = format!("{parent} {}", command.get_name());
    if command.has_subcommands() {
        return command.mut_subcommands(|subcommand| with_exit_codes_below(subcommand, &words));
    }
    let found = COMMANDS.iter().find(|exit| exit.command == words.trim());
    let Some(exit) = found else {
        return command;
    };
    let examples = command.get_after_help().map(ToString::to_string);
    let examples = examples.map_or_else(String::new, |examples| examples + "\n\n");
    command.after_help(format!(
        "{examples}Exit code: 1 after {}; 2 for an invalid command line; otherwise 0.",
        exit.fails_when
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::command_line::CommandLine;

    fn leaves(command: &Command, parent: &str, found: &mut Vec<String>) {
        for subcommand in command.get_subcommands() {
            let words = format!("{parent} {}", subcommand.get_name());
            if subcommand.has_subcommands() {
                leaves(subcommand, &words, found);
            } else {
                found.push(words.trim().to_owned());
            }
        }
    }

    #[test]
    fn every_command_says_when_it_exits_with_1() {
        let mut commands = Vec::new();
        leaves(&CommandLine::command(), "", &mut commands);
        let listed: Vec<_> = COMMANDS.iter().map(|exit| exit.command).collect();
        assert_eq!(listed, commands, "COMMANDS has each command, in this order");
    }

    #[test]
    fn page_has_the_exit_codes_of_commands_with_a_reason_of_their_own() {
        let page = include_str!("../../../docs/cli.md");
        let (_, table) = page
            .split_once("| command | exits with 1 after |\n|---|---|\n")
            .expect("docs/cli.md has the table");
        let rows: Vec<_> = table
            .lines()
            .take_while(|line| line.starts_with('|'))
            .collect();
        // The page says of all others that they exit with 1 after an error.
        let expected: Vec<_> = COMMANDS
            .iter()
            .filter(|exit| exit.fails_when != AN_ERROR)
            .map(|exit| format!("| `{}` | {} |", exit.command, exit.fails_when))
            .collect();
        assert_eq!(rows, expected);
    }
}
