//! `customers`: finds, shows, exports or erases what is stored of a customer.

mod erase;
mod export;
mod find;
mod profile;
mod show;

use anyhow::Result;
use clap::{Args, Subcommand};
use model::account::AccountId;

use self::erase::EraseCustomer;
use crate::output::Format;
use crate::stack::Stack;

#[derive(Debug, Subcommand)]
pub(crate) enum CustomersCommand {
    /// Show the profile of a customer
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod customers show --account shop customer-17\n  \
        cargo intake --stack intake-prod customers show --account shop customer-17 --times"
    )]
    Show {
        #[command(flatten)]
        target: Target,

        /// Print when each field was last changed instead, also fields that were removed
        #[arg(long)]
        times: bool,
    },

    /// Find the customers with an email address; this reads the whole table
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod customers find --account shop --email ada@example.com"
    )]
    Find {
        /// The account
        #[arg(long, value_name = "NAME")]
        account: AccountId,

        /// The email address, exactly as it is stored
        #[arg(long, value_name = "ADDRESS")]
        email: String,
    },

    /// Export everything that is stored of a customer or an emitter as one JSON document, such as
    /// for an access request
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod customers export --account shop customer-17 > customer-17.json"
    )]
    Export(Target),

    /// Erase everything that is stored of a customer or an emitter: the profile, the signals, the
    /// rejected signals
    Erase(EraseCustomer),
}

#[derive(Args, Debug)]
pub(crate) struct Target {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The customerId (or the emitterId, to export or erase), as the client sent it
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    subject_id: String,
}

impl CustomersCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::Show { target, times } => show::show(stack, &target, times, format).await,
            Self::Find { account, email } => find::find(stack, &account, &email, format).await,
            Self::Export(Target {
                account,
                subject_id,
            }) => export::export(stack, &account, &subject_id, format).await,
            Self::Erase(erase) => erase.run(stack, format).await,
        }
    }
}
