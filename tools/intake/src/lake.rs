//! `lake`: erases events from the lake of a delivery, and fills it with what was stored before
//! (delivery/README.md). Must not know how Firehose writes it.

mod backfill;
mod erase;
mod selection;

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};

use self::backfill::Backfill;
use self::erase::EraseLakeCommand;
use crate::bucket::Bucket;
use crate::output::Format;
use crate::stack::Stack;

/// Where the events are in the bucket. What could not be delivered is beside it.
const EVENTS: &str = "events/";

/// The timeout of one attempt of a call: Firehose writes up to 128 MB into an object, and an operator may
/// be on a slow line.
const ATTEMPT_TIMEOUT: Duration = Duration::from_mins(5);

#[derive(Debug, Subcommand)]
pub(crate) enum LakeCommand {
    /// Erase events of a customer, of a type or of a whole account; this reads the whole lake
    #[command(subcommand)]
    Erase(EraseLakeCommand),

    /// Write the stored signals and customers into the lake, such as those from before the delivery;
    /// this reads two whole tables
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod lake backfill\n\n\
        The event of a signal has the id that the delivery gives it. The id of a customer's event follows from the stored \
        profile. So the views of delivery/queries.sql drop events that the lake has already. After an interruption, run \
        it again."
    )]
    Backfill(Backfill),
}

impl LakeCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::Erase(command) => command.run(stack, format).await,
            Self::Backfill(backfill) => backfill.run(stack, format).await,
        }
    }
}

/// The option that names the lake.
#[derive(Args, Debug)]
pub(crate) struct LakeArgs {
    #[arg(long, value_name = "NAME")]
    #[arg(
        help = "The bucket of the lake [default: the output LakeBucketName of the stack NAME-delivery]"
    )]
    bucket: Option<String>,
}

impl LakeArgs {
    async fn find(&self, stack: &Stack) -> Result<Bucket> {
        ensure!(!stack.is_local, "The stack of `cargo dev` has no lake.");
        let name = match &self.bucket {
            Some(name) => name.clone(),
            None => stack.output_of_delivery("LakeBucketName").await?,
        };
        Ok(Bucket::new(stack, &name, ATTEMPT_TIMEOUT))
    }
}
