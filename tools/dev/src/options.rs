//! The command line: its options, and what they say together with the template. Must not know how
//! anything is started.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::builder::BoolishValueParser;
use clap::{ArgAction, ArgGroup, Command, CommandFactory as _, FromArgMatches as _, Parser};
use emulator::{Storage, Template};

use crate::fakes::overflow_queue::VISIBILITY_TIMEOUT;
use crate::files;
use crate::gateway::INTEGRATION_TIMEOUT;
use crate::gateway::cors::CorsPolicy;
use crate::gateway::cors::allowed_origin::AllowedOrigin;
use crate::gateway::injected_response::{InjectedResponseShare, NextResponse, is_possible};
use crate::gateway::server::GRACE;

const EXAMPLES: &str = "\
Examples:
  cargo dev                                   everything in memory, on ports 9000, 9001 and 8000
  cargo dev --seed                            with sample customers and a week of their signals
  cargo dev --data target/dev.sqlite          keep what is stored for the next time
  cargo dev --cors http://localhost:3000      for a browser page that is served from there
  cargo dev --faults 0.5                      with faults of DynamoDB: signals and updates of customers may be deferred
  cargo dev --answer 429:0.1 --answer timeout:0.01
                                              with responses of API Gateway that a client has to retry
  cargo dev --next-answer 503,503,200         with these responses to the next three requests
  cargo dev --contracts events/contracts      and say in the line of a request what breaks the event contract of its type
  cargo dev --raw | grep storage-unavailable  the log of the functions as it is, in JSON
  cargo dev --port 0 --dynamodb-port 0 --env-file target/second.env
                                              a second stack, on free ports that its env file names
  cargo dev --host 0.0.0.0                    for a phone in this network, or in a container

Each option has a variable, which applies if the option is not given: INTAKE_DEV_HOST_NAME=intake,stack INTAKE_DEV_SEED=true

In another terminal, `. target/dev.env` sets BASE_URL and API_KEY, and `cargo intake --local` works on what is stored.";

/// The beginning of the names of the options' variables.
const VARIABLE_PREFIX: &str = "INTAKE_DEV_";

/// Run the local stack: a DynamoDB emulator with the tables of template.yaml, and both functions
/// behind one address.
#[derive(Debug, Parser)]
#[command(name = "cargo dev", bin_name = "cargo dev", version = env!("INTAKE_VERSION_AND_COMMIT"), after_help = after_help())]
#[command(group = ArgGroup::new("shares").args(["faults", "queue_faults", "injected_responses"]).multiple(true))]
pub(crate) struct Options {
    /// Address of the HTTP API and the inspector; 0.0.0.0 lets other machines use both, with a key
    /// that is public
    #[arg(long, default_value_t = Ipv4Addr::LOCALHOST.into(), value_name = "ADDRESS")]
    pub(crate) host: IpAddr,

    /// Name by which clients may call the HTTP API and the inspector, beside localhost and
    /// addresses; may be repeated
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    pub(crate) host_name: Vec<String>,

    /// Port of the HTTP API; 0 chooses a free port
    #[arg(long, default_value_t = 9000, value_name = "PORT")]
    pub(crate) port: u16,

    /// Port of the DynamoDB emulator on 127.0.0.1; 0 chooses a free port
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    pub(crate) dynamodb_port: u16,

    /// Port of the inspector; 0 chooses a free port [default: 9001, or a free port if that is
    /// taken]
    #[arg(long, value_name = "PORT")]
    pub(crate) inspector_port: Option<u16>,

    /// Keep the data in this file, and the overflow queue in FILE.queue; without it, everything is
    /// in memory
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,

    /// Allow browser pages of this origin to call the API; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = AllowedOrigin::parse)]
    pub(crate) cors: Vec<AllowedOrigin>,

    /// Allow these pages to send this header, beside those of template.yaml; may be repeated
    #[arg(long, value_name = "NAME", value_parser = header_name, requires = "cors")]
    cors_header: Vec<String>,

    /// Judge the data of signals by the JSON Schemas of this folder, a file TYPE.json for each
    /// eventType or stepNodeId
    #[arg(long = "contracts", value_name = "DIR")]
    pub(crate) event_contracts: Option<PathBuf>,

    /// Store the sample customers and signals of events/seed, the signals as if they had arrived in
    /// the last seven days
    #[arg(long)]
    pub(crate) seed: bool,

    #[arg(long, value_name = "SHARE", value_parser = share, help = faults_help())]
    pub(crate) faults: Option<f64>,

    /// Make this share of the functions' calls to the overflow queue fail, from 0 to 1. With
    /// --faults 1 --queue-faults 1, signals and updates of customers get the function's own 503
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) queue_faults: Option<f64>,

    #[arg(
        long = "answer",
        value_name = "429|503|timeout:SHARE",
        value_parser = InjectedResponseShare::parse,
        help = injected_responses_help()
    )]
    pub(crate) injected_responses: Vec<InjectedResponseShare>,

    /// Draw the shares of --answer, --faults and --queue-faults from this number: in each run, an
    /// account gets the same answers, and the same calls in the same order have the same faults
    #[arg(long, value_name = "NUMBER", requires = "shares")]
    pub(crate) random_seed: Option<u64>,

    #[arg(
        long = "next-answer",
        value_name = "ANSWER",
        value_parser = NextResponse::parse,
        help = next_responses_help()
    )]
    pub(crate) next_responses: Vec<NextResponse>,

    /// Print the log of the functions as it is, in JSON, instead of a line for each request
    #[arg(long)]
    pub(crate) raw: bool,

    /// File for the variables of the running stack, which replaces only a file that an earlier stack
    /// has written [default: dev.env, in the folder target of the repository if there is one]
    #[arg(long, value_name = "PATH")]
    pub(crate) env_file: Option<PathBuf>,
}

impl Options {
    /// Reads the options from the command line and from variables. Ends the process if one is
    /// wrong, or if the user asks for the help.
    pub(crate) fn read() -> Self {
        Self::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit())
    }

    /// What pages of other origins may do. Without --cors, no page may call the API.
    ///
    /// # Errors
    /// There is a --cors, and the template has no `CorsConfiguration`.
    pub(crate) fn cors_policy(&self, template: &Template) -> Result<CorsPolicy> {
        if self.cors.is_empty() {
            return Ok(CorsPolicy::default());
        }
        let Some(cors) = &template.cors else {
            bail!("--cors needs a CorsConfiguration in template.yaml, and there is none.");
        };
        let mut cors = cors.clone();
        cors.allow_headers(&self.cors_header);
        Ok(CorsPolicy {
            cors,
            origins: self.cors.clone(),
        })
    }

    /// Checks that the injected responses have at most all requests together.
    ///
    /// # Errors
    /// They have more.
    pub(crate) fn ensure_possible_shares(&self) -> Result<()> {
        ensure!(
            is_possible(&self.injected_responses),
            "The shares of --answer are more than 1 together."
        );
        Ok(())
    }

    /// Where the emulator keeps its items.
    ///
    /// # Errors
    /// The folder of the file does not exist.
    pub(crate) fn storage(&self) -> Result<Storage> {
        match &self.data {
            Some(file) => Storage::file(file),
            None => Ok(Storage::Memory),
        }
    }
}

/// The command line. Each option has a variable, since a service of CI takes no arguments. In a
/// release, the help names the programs of the release.
fn command() -> Command {
    let mut command = Options::command();
    if files::release_folder().is_some() {
        let help = after_help()
            .replace("cargo dev", "./dev")
            .replace("cargo intake", "./intake")
            .replace("target/", "");
        command = command.bin_name("./dev").display_name("./dev");
        command = command.after_help(help);
    }
    command.mut_args(|option| {
        let name = option
            .get_long()
            .unwrap_or_default()
            .to_uppercase()
            .replace('-', "_");
        // The text has to live as long as the process, which has one command line.
        let variable: &'static str = format!("{VARIABLE_PREFIX}{name}").leak();
        // In a file of variables, an empty one stands for an option that is not given.
        let is_empty = std::env::var_os(variable).is_some_and(|value| value.is_empty());
        let option = if is_empty {
            option
        } else {
            option.env(variable).hide_env(true)
        };
        match option.get_action() {
            ArgAction::SetTrue => option.value_parser(BoolishValueParser::new()),
            ArgAction::Append => option.value_delimiter(','),
            _ => option,
        }
    })
}

/// The text after the options.
fn after_help() -> String {
    let seconds = GRACE.as_secs();
    format!(
        "{EXAMPLES}
Stop it with Ctrl-C: requests in progress get their responses, for up to {seconds} seconds. After a change of the code, start \
it again."
    )
}

fn faults_help() -> String {
    let seconds = VISIBILITY_TIMEOUT.as_secs();
    format!(
        "Make this share of the functions' calls to DynamoDB fail, from 0 to 1: throttled, failed, or lost. Signals and \
         updates of customers that retries do not store are deferred to the overflow queue. A message of the queue is \
         drained again {seconds} seconds after a drain that failed, and becomes a dead letter after many such drains"
    )
}

fn injected_responses_help() -> String {
    let seconds = INTEGRATION_TIMEOUT.as_secs();
    format!(
        "Respond to this share of the requests as API Gateway does on its own, from 0 to 1: 429 or 503 without the \
         function, or a 503 after {seconds} seconds although it did its work (timeout); may be repeated"
    )
}

fn next_responses_help() -> String {
    let seconds = INTEGRATION_TIMEOUT.as_secs();
    format!(
        "Give the next requests these responses in this order: 429 or 503 of API Gateway, storage-unavailable (the \
         function's own 503), timeout:2s (a 503 after up to {seconds} seconds although the function did its work) or 200 \
         (the function's answer); may be repeated"
    )
}

fn share(text: &str) -> Result<f64, &'static str> {
    let share = text
        .parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share));
    share.ok_or("a share is a number from 0 to 1, such as 0.1")
}

/// As template.yaml has it for the parameter `CorsHeaders`.
fn header_name(text: &str) -> Result<String, &'static str> {
    let is_name = !text.is_empty()
        && text
            .chars()
            .all(|c| "-_".contains(c) || c.is_ascii_alphanumeric());
    if is_name {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(
            "the name of a header has letters, digits, hyphens and underscores, such as x-shop-session",
        )
    }
}

fn host_name(text: &str) -> Result<String, &'static str> {
    let is_name = !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
    if is_name {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("a host name has no port, such as intake")
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn share_is_a_number_from_0_to_1() {
        assert_eq!(share("0"), Ok(0.0));
        assert_eq!(share("1"), Ok(1.0));
        for text in ["1.1", "-0.1", "NaN", "inf", "10%", ""] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
