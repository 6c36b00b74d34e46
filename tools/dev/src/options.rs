//! The command line, and what can be checked before anything starts. Must not know how anything is started.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use dev::template::Cors;
use dev::{Storage, Template};

use crate::workspace::Workspace;

const EXAMPLES: &str = "\
Examples:
  cargo dev                                   everything in memory, on ports 9000 and 8000
  cargo dev --seed                            with sample customers and a week of their signals
  cargo dev --data target/dev.sqlite          keep what is stored for the next time
  cargo dev --port 0 --dynamodb-port 0        on free ports, which target/dev.env names
  cargo dev --cors http://localhost:3000      for a browser page that is served from there
  cargo dev --release --concurrency 8         for measurements

Stop it with Ctrl-C. Functions are rebuilt when a file of the repository changes.";

/// Run the local stack: a DynamoDB emulator with the tables of template.yaml, and both functions behind one address.
#[derive(Debug, Parser)]
#[command(name = "cargo dev", bin_name = "cargo dev", after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Port of the HTTP API on 127.0.0.1; 0 chooses a free port
    #[arg(long, default_value_t = 9000, value_name = "PORT")]
    port: u16,

    /// Port of the DynamoDB emulator on 127.0.0.1; 0 chooses a free port
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    dynamodb_port: u16,

    /// Keep the data in this file; without it, everything is in memory
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,

    /// Allow browser pages of this origin to call the API; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub(crate) cors: Vec<String>,

    /// Store the sample customers and signals of events/seed, the signals as if they had arrived in the last seven days
    #[arg(long)]
    pub(crate) seed: bool,

    /// Concurrent instances of each function
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) concurrency: u16,

    /// Build the functions with optimizations
    #[arg(long)]
    pub(crate) release: bool,

    /// File for the variables of the running stack [default: target/dev.env]
    #[arg(long, value_name = "PATH")]
    pub(crate) env_file: Option<PathBuf>,
}

impl Options {
    /// The port for the HTTP API: the one asked for if it is free, or any.
    ///
    /// # Errors
    /// It is taken, or the same as the emulator's.
    pub(crate) fn free_port(&self) -> Result<u16> {
        if self.port == self.dynamodb_port && self.port != 0 {
            bail!("--port and --dynamodb-port are both {}: give two ports.", self.port);
        }
        free(self.port, "--port")
    }

    /// The port for the emulator: the one asked for if it is free, or any.
    ///
    /// # Errors
    /// It is taken.
    pub(crate) fn free_dynamodb_port(&self) -> Result<u16> {
        free(self.dynamodb_port, "--dynamodb-port")
    }

    /// What pages of other origins may do, when any may call the API at all.
    ///
    /// # Errors
    /// The template says nothing of it.
    pub(crate) fn cors(&self, template: &Template) -> Result<Option<Cors>> {
        match (self.cors.is_empty(), &template.cors) {
            (true, _) => Ok(None),
            (false, Some(cors)) => Ok(Some(cors.clone())),
            (false, None) => bail!("--cors needs a CorsConfiguration in template.yaml, and there is none."),
        }
    }

    /// Where the emulator keeps its items; the folder of a file is created.
    ///
    /// # Errors
    /// The file lies where every write to it would restart the functions, or its folder cannot be created.
    pub(crate) fn storage(&self, workspace: &Workspace) -> Result<Storage> {
        let Some(file) = &self.data else { return Ok(Storage::Memory) };
        let cannot_use = || format!("Cannot use the data file {}", file.display());
        let file = std::path::absolute(file).with_context(cannot_use)?;
        if file.starts_with(&workspace.root) && !file.starts_with(&workspace.target) {
            bail!(
                "The data file {} is among the sources, where each write restarts the functions: put it under {}, or \
                 outside the repository.",
                file.display(),
                workspace.target.display(),
            );
        }
        file.parent().map_or(Ok(()), |folder: &Path| std::fs::create_dir_all(folder)).with_context(cannot_use)?;
        Ok(Storage::File(file))
    }
}

/// A port for `cargo lambda watch` where something else listens on the one for the HTTP API.
///
/// # Errors
/// There is none.
pub(crate) fn free_port_of_the_functions() -> Result<u16> {
    free(0, "--cors")
}

/// An origin as a browser sends it, or what API Gateway allows in its place.
fn origin(text: &str) -> Result<String, &'static str> {
    let host = text.split_once("://").map_or("", |(_, host)| host);
    let is_plain = !text.contains(|c: char| c.is_ascii_uppercase() || c.is_whitespace() || c == ',');
    if text == "*" || (is_plain && !host.is_empty() && !host.contains(['/', '?', '#', '@'])) {
        Ok(text.to_owned())
    } else {
        Err(
            "an origin is a scheme and a host in lower case, with its port and without a path, such as http://localhost:3000",
        )
    }
}

fn free(port: u16, option: &str) -> Result<u16> {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| listener.local_addr());
    if address.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse) {
        bail!(
            "Port {port} of 127.0.0.1 is taken: stop what listens there, or choose another with {option} (0 takes any \
             free one)."
        );
    }
    Ok(address.with_context(|| format!("Cannot listen on port {port} of 127.0.0.1 ({option})"))?.port())
}
