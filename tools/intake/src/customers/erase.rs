//! `customers erase`: erases everything that is stored of a customer or an emitter.

use anyhow::Result;
use aws::sqs::COUNT_DELAY;
use clap::Args;
use model::timestamp::Timestamp;
use store::retry::MAX_REQUEST_DURATION;

use super::Target;
use crate::confirm::confirm;
use crate::erasure::{DoubtfulArgs, Erasure, ErasureArgs, ErasureScope, Wait};
use crate::output::Format;
use crate::stack::Stack;

fn help_of_erase() -> String {
    let seconds = (MAX_REQUEST_DURATION + COUNT_DELAY).as_secs();
    format!(
        "Examples:\n  cargo intake --stack intake-prod customers erase --account shop customer-17 --dry-run\n  \
        cargo intake --stack intake-prod customers erase --account shop customer-17\n  \
        cargo intake --stack intake-prod customers erase --account shop -- --yes   # the customer with the id --yes\n\n\
        The command refuses to run while the overflow queue or its dead-letter queue has messages, because their data would \
        be stored after the erasure. It waits {seconds} seconds before it deletes, also when it found nothing: a request \
        may still be on its way, and SQS may count a message late. After an interruption, run it again: it erases what is \
        left. Backups are not changed, and the lake only by `lake erase`."
    )
}

#[derive(Args, Debug)]
#[command(after_help = help_of_erase())]
pub(crate) struct EraseCustomer {
    #[command(flatten)]
    target: Target,

    #[command(flatten)]
    doubtful: DoubtfulArgs,

    #[command(flatten)]
    erasure: ErasureArgs,
}

impl EraseCustomer {
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Target {
            account,
            subject_id,
        } = &self.target;
        let options = &self.erasure;
        let scope = ErasureScope::Subject(subject_id);
        let erasure = Erasure::new(stack, account, scope, options, &self.doubtful.ids);
        let confirm = |question: &str| confirm(question, options.yes);
        let wait = || Wait::for_requests_before(Timestamp::now(), "");
        erasure.run(confirm, wait, format).await
    }
}
