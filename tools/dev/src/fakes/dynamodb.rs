//! The DynamoDB emulator of the stack. Must not know what the functions store.

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::Result;
use emulator::{Emulator, Storage, Template, development_key};
use tokio::sync::mpsc;

use crate::terminal::{print_with_time, status};

/// Starts the emulator with the template's tables and the development key.
///
/// # Errors
/// The data file cannot be used.
pub(crate) fn start(
    template: &Template,
    storage: &Storage,
    listener: TcpListener,
) -> Result<Arc<Emulator>> {
    let (failures, failed) = mpsc::unbounded_channel();
    let emulator = Emulator::start_on(template, storage, listener, Some(failures))?;
    tokio::spawn(show_failures(failed));
    development_key::load(&emulator, template)?;
    status(&format!(
        "DynamoDB emulator: {} tables at {}",
        template.tables.len(),
        emulator.endpoint()
    ));
    Ok(Arc::new(emulator))
}

/// Prints why the emulator fails. A reason that repeats is printed once.
async fn show_failures(mut failed: mpsc::UnboundedReceiver<String>) {
    let mut last = String::new();
    while let Some(reason) = failed.recv().await {
        if reason != last {
            print_with_time(&format!("ERROR the DynamoDB emulator fails: {reason}"));
        }
        last = reason;
    }
}
