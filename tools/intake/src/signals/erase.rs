//! `signals erase`: erases the signals of one type that an account sent in one period.

use anyhow::{Result, ensure};
use clap::Args;
use model::timestamp::Timestamp;

use crate::confirm::confirm_by_name;
use crate::erasure::{DoubtfulArgs, Erasure, ErasureArgs, ErasureScope, Wait};
use crate::output::Format;
use crate::signals_of_type::SignalsOfType;
use crate::stack::Stack;

// Deletes the signals of one type that an account sent in one period, for a client that sent what it must
// not. The table has no index by type, so the command reads all of it: once to count, once to delete.
#[derive(Args, Debug)]
pub(crate) struct EraseSignals {
    #[command(flatten)]
    signals: SignalsOfType,

    #[command(flatten)]
    doubtful: DoubtfulArgs,

    #[command(flatten)]
    erasure: ErasureArgs,
}

impl EraseSignals {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Self {
            signals,
            doubtful,
            erasure: options,
        } = self;
        signals.ensure_period()?;
        let SignalsOfType {
            account,
            signal_type,
            since,
            until,
        } = signals;
        ensure!(
            *until <= Timestamp::now(),
            "--until must not be in the future: signals that arrive after the erasure would not be erased."
        );
        let scope = ErasureScope::Type {
            signal_type,
            since: *since,
            until: *until,
        };
        let erasure = Erasure::new(stack, account, scope, options, &doubtful.ids);
        let confirm = |question: &str| confirm_by_name(question, signal_type, options.yes);
        let wait = || Wait::for_requests_before(*until, " --until");
        erasure.run(confirm, wait, format).await
    }
}
