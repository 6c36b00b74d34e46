//! The options that select the signals of one type that an account sent in one period: for the erasure in the
//! tables, and for the one in the lake.

use anyhow::{Result, ensure};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;

use crate::time_args::time_or_age;

#[derive(Args, Debug)]
pub(crate) struct SignalsOfType {
    /// The account
    #[arg(long, value_name = "NAME")]
    pub(crate) account: AccountId,

    /// The eventType or the stepNodeId, as the client sent it
    #[arg(long = "type", value_name = "TYPE", allow_hyphen_values = true)]
    pub(crate) signal_type: String,

    /// Only signals received at or after this time, such as 7d (ago) or 2026-11-20T22:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    pub(crate) since: Timestamp,

    /// Only signals received before this time
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    pub(crate) until: Timestamp,
}

impl SignalsOfType {
    /// # Errors
    /// The period ends before it begins.
    pub(crate) fn ensure_period(&self) -> Result<()> {
        ensure!(self.since < self.until, "--since must be before --until.");
        Ok(())
    }
}
