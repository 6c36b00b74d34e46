//! `cargo dev`: the local stack as one command. The emulator and the functions run in this process.
//!
//! Read the modules in this order: [`options`] is the command line, and [`stack`] starts the parts.
//! A request passes [`gateway`], which lists its steps, and [`functions`]. [`exchange`] is what is
//! recorded of it, and [`inspector`] shows that. [`fakes`] run in place of AWS's services,
//! [`files`] finds the files of the stack, [`stack_info`] tells people and scripts where the stack is,
//! and [`terminal`] is what a person reads meanwhile.
//!
//! It starts no other program: what `cargo intake` does too is in libraries, `operator` and
//! `contracts`.
//!
//! `cargo dev` reads from template.yaml which functions, routes, tables and variables there are.
//! Only the inspector and `exchange::api_key` know what is in an item. No part must know a rule of the
//! API.

mod exchange;
mod fakes;
mod files;
mod functions;
mod gateway;
mod inspector;
mod options;
mod stack;
mod stack_info;
mod terminal;

use std::pin::pin;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};

use crate::options::Options;
use crate::stack::LocalStack;
use crate::terminal::status;

fn main() -> ExitCode {
    let options = Options::read();
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("Cannot start")
        .and_then(|runtime| runtime.block_on(run_until_told_to_stop(&options)));
    let exit_code = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            status(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    };
    terminal::finish();
    exit_code
}

/// Runs the stack until a Unix signal asks this process to stop. It may also arrive while the
/// stack starts: then the parts that were started end when their future is dropped.
async fn run_until_told_to_stop(options: &Options) -> Result<()> {
    let mut stop_signal = pin!(stop_signal()?);
    let stack = tokio::select! {
        stack = LocalStack::start(options) => Some(stack?),
        () = &mut stop_signal => None,
    };
    if let Some(stack) = stack {
        tokio::select! {
            error = stack.run_until_failure() => return Err(error),
            () = &mut stop_signal => stack.end().await,
        }
    }
    status("Stopped.");
    Ok(())
}

/// Ends when a Unix signal asks this process to stop. SIGHUP does not where it was ignored from the
/// start, as by `nohup`: the process is then to survive its terminal.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = if is_hangup_ignored() {
        None
    } else {
        Some(signal(SignalKind::hangup())?)
    };
    Ok(async move {
        let hangup = async {
            match &mut hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup => {}
        }
    })
}

/// Whether this process ignores SIGHUP. Linux says it in a mask (proc(5), `/proc/pid/status`);
/// elsewhere it is not known.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = 1 << (SignalKind::hangup().as_raw_value() - 1);
    mask.is_some_and(|mask| mask & bit != 0)
}
