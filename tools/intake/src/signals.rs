//! `signals`: did my signal arrive?

mod follow;
mod history;
mod list;
mod listing;

use anyhow::Result;
use clap::Subcommand;

use self::list::List;
use crate::output::Format;
use crate::stack::Stack;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the newest signals of a customer or an emitter, oldest first
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod signals list --account shop customer-17 --since 1h\n  \
        cargo intake --local signals list --account dev customer-17 --follow"
    )]
    List(List),
}

impl Command {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::List(list) => list.run(stack, format).await,
        }
    }
}
