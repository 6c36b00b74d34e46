//! `customers`: what is stored of one, and getting rid of it.

mod erase;
mod show;

use anyhow::Result;
use clap::Subcommand;
use model::account::AccountId;

use crate::output::Format;
use crate::stack::StackArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the profile of a customer
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod customers show --account shop customer-17")]
    Show {
        /// Whose customer
        #[arg(long, value_name = "NAME")]
        account: AccountId,

        /// The customerId, as the client sent it
        #[arg(value_name = "ID", allow_hyphen_values = true)]
        id: String,
    },

    /// Erase everything that is stored of a customer or an emitter: the profile, the signals, the rejected signals
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod customers erase --account shop customer-17\n\n\
        It can be run again after an interruption, and goes on with what is left. Backups are not changed."
    )]
    Erase {
        /// Whose customer
        #[arg(long, value_name = "NAME")]
        account: AccountId,

        /// The customerId or emitterId, as the client sent it
        #[arg(value_name = "ID", allow_hyphen_values = true)]
        id: String,

        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

impl Command {
    pub(crate) async fn run(self, stack_args: &StackArgs, format: Format) -> Result<()> {
        let stack = stack_args.connect().await?;
        match self {
            Self::Show { account, id } => show::show(&stack, &account, &id, format).await,
            Self::Erase { account, id, yes } => erase::erase(&stack, &account, &id, yes, format).await,
        }
    }
}
