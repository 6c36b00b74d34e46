//! Ctrl-C or SIGTERM as the regular end of a command, as a reason to clean up, or as the end of the
//! process with a sentence on how to go on. Must not know what the command does.

use std::io::stdin;
use std::mem;
use std::process;
use std::sync::Mutex;
use std::sync::PoisonError;

use anyhow::{Context as _, Result};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use crate::output::note;

/// Who ends the command after a signal. A signal is one for the whole process, and so is this.
static END: Mutex<End> = Mutex::new(End::Process(String::new()));

/// Wakes a command that ends itself.
static INTERRUPTED: Notify = Notify::const_new();

/// How the terminal was before a command hid what the operator types.
static SHOWING_TERMINAL: Mutex<Option<Termios>> = Mutex::new(None);

enum End {
    /// The process ends with this sentence.
    Process(String),
    /// The command ends itself.
    Command,
}

/// Has both signals end the process, from here on, with this sentence on how to go on. A later call
/// replaces the sentence. During [`until_interrupted`], it does nothing.
pub(crate) fn say_at_interrupt(how_to_go_on: impl Into<String>) {
    let mut end = END.lock().unwrap_or_else(PoisonError::into_inner);
    if let End::Process(sentence) = &mut *end {
        *sentence = how_to_go_on.into();
    }
}

/// Has each of the signals end the process or, during [`until_interrupted`], its work.
///
/// # Errors
/// The system does not hand the signals over.
pub(crate) fn end_at_interrupt() -> Result<()> {
    let mut signals = Signals::listen()?;
    // A task of its own: the main one may be waiting for the operator's answer.
    tokio::spawn(async move {
        loop {
            signals.next().await;
            let end = END.lock().unwrap_or_else(PoisonError::into_inner);
            match &*end {
                End::Process(sentence) => {
                    show_typed_text();
                    note(&format!("error: Interrupted. {sentence}"));
                    process::exit(1);
                }
                End::Command => INTERRUPTED.notify_one(),
            }
        }
    });
    Ok(())
}

/// Calls `read`, which hides what the operator types. An interrupt has the terminal show it again.
pub(crate) fn while_hidden<T>(read: impl FnOnce() -> T) -> T {
    let set = |terminal| {
        *SHOWING_TERMINAL
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = terminal;
    };
    set(tcgetattr(stdin()).ok());
    let text = read();
    set(None);
    text
}

fn show_typed_text() {
    let terminal = SHOWING_TERMINAL
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = &*terminal {
        // The process ends in any case.
        let _ = tcsetattr(stdin(), OptionalActions::Now, before);
    }
}

/// Does `work`. Returns `None` when the operator pressed Ctrl-C first, or a pipeline sent SIGTERM:
/// then `work` is dropped. After this call, both signals end the process again.
pub(crate) async fn until_interrupted<T>(
    work: impl Future<Output = Result<T>>,
) -> Result<Option<T>> {
    let before = replace_end(End::Command);
    let ended = tokio::select! {
        result = work => result.map(Some),
        () = INTERRUPTED.notified() => Ok(None),
    };
    replace_end(before);
    ended
}

/// Returns who ended the command so far.
fn replace_end(new: End) -> End {
    let mut end = END.lock().unwrap_or_else(PoisonError::into_inner);
    mem::replace(&mut *end, new)
}

struct Signals {
    ctrl_c: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("Cannot listen for Ctrl-C and SIGTERM");
        Ok(Self {
            ctrl_c: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for the next of both.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.ctrl_c.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
