//! `verify`: proves a deployment. It sends requests as clients do, reads back what is stored,
//! compares, and removes what it stored.
//!
//! [`requests`] sends, [`compare`] reads back, and each adds checks to a [`CheckContext`];
//! [`stored`] removes, [`report`] writes what was found. What API Gateway or Lambda alone can show is
//! skipped on other stacks.

mod api;
mod compare;
mod report;
mod requests;
mod sender;
mod stored;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use model::account::{AccountId, VERIFICATION_PREFIX};
use model::timestamp::Timestamp;

use self::api::{Api, ApiRequest, PING};
use self::report::{CheckContext, Report};
use self::requests::{PASS_THROUGH_SIGNALS, SIGNALS_OF_ROUND};
use self::stored::{clean_up, clean_up_abandoned};
use crate::check_result::CheckResult;
use crate::confirm::confirm;
use crate::interrupt::{say_at_interrupt, until_interrupted};
use crate::keys::VerificationKey;
use crate::output::{Format, note, own_command};
use crate::stack::{OWN_VERSION, Stack};

/// How long the key is valid, should the command not be able to delete it.
const KEY_LIFETIME: Duration = Duration::from_hours(1);

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo intake --stack intake-dev verify --report report.md\n  \
    cargo intake --local verify --signals 2000\n\n\
    The command stores everything under a new account and removes it at the end, also after Ctrl-C or SIGTERM."
)]
pub(crate) struct Verify {
    #[arg(long, value_name = "N", default_value_t = SIGNALS_OF_ROUND, help = help_of_signals())]
    signals: NonZeroUsize,

    /// Also write the report in Markdown
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Another address of the API than the stack's own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// The Host header, where it is not the address's own
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

fn help_of_signals() -> String {
    format!(
        "How many signals to send, rounded up to a multiple of {SIGNALS_OF_ROUND}; {PASS_THROUGH_SIGNALS} more come in compressed \
         and large batches"
    )
}

impl Verify {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        if !stack.is_local {
            let question = format!(
                "Write about {} signals into this stack, under an account of their own, and remove them at the end?",
                self.signals
            );
            confirm(&question, self.yes)?;
        }
        let began = Instant::now();
        let began_at = Timestamp::now();
        let account = new_account()?;
        let key = VerificationKey::new(stack, &account, began_at.plus(KEY_LIFETIME))?;
        let base_url = self.base_url(stack)?.to_owned();
        let secret = key.expose_secret().to_owned();
        let api = Api::new(base_url, self.host.clone(), secret, stack.is_local)?;
        let context = CheckContext::new(api, &account, began_at);
        let work = async {
            key.store().await?;
            self.run_phases(&context, stack).await
        };
        // Also while it removes what it stored.
        say_at_interrupt(format!(
            "Something may be left: `{} accounts erase {account}` removes it.",
            own_command()
        ));
        let finished = until_interrupted(Box::pin(work)).await;
        let signals = match finished {
            Ok(Some(signals)) => signals,
            Ok(None) => {
                let removed = clean_up_abandoned(stack, &key, &context).await;
                bail!("Interrupted. Removed: {}.", removed.join(", "));
            }
            Err(error) => {
                clean_up_abandoned(stack, &key, &context).await;
                return Err(error);
            }
        };
        let cleanup = clean_up(stack, &key, &context).await;
        let report = Report {
            version: OWN_VERSION,
            began_at,
            seconds: began.elapsed().as_secs(),
            account: account.to_string(),
            signals,
            checks: context.checks.into_vec(),
            cleanup,
        };
        self.publish(&report, format)
    }

    /// Prints and writes the report.
    ///
    /// # Errors
    /// A promise did not hold, something was not removed, or the report cannot be written.
    fn publish(&self, report: &Report, format: Format) -> Result<()> {
        let printed = report.print(format);
        let written = self.write(report);
        let mut faults = Vec::new();
        let failed = report.with_result(CheckResult::Failed).count();
        if failed > 0 {
            faults.push(format!("{failed} promise(s) did not hold."));
        }
        if !report.cleanup.left.is_empty() {
            faults.push("Something was not removed: the report says what.".to_owned());
        }
        if let Err(error) = written {
            faults.push(format!("{error:#}"));
        }
        ensure!(faults.is_empty(), faults.join(" "));
        // A reader that closes standard output does not change the exit code.
        printed
    }

    fn write(&self, report: &Report) -> Result<()> {
        let Some(path) = &self.report else {
            return Ok(());
        };
        std::fs::write(path, report.to_markdown())
            .with_context(|| format!("Cannot write {}", path.display()))
    }

    fn base_url<'a>(&'a self, stack: &'a Stack) -> Result<&'a str> {
        match &self.base_url {
            Some(url) => Ok(url.trim_end_matches('/')),
            None => stack.base_url(),
        }
    }

    /// Sends all requests and reads back what is stored. Returns how many signals are stored.
    async fn run_phases(&self, context: &CheckContext<'_>, stack: &Stack) -> Result<usize> {
        note(&format!(
            "1/3 Keys, customers, API Gateway, under the account {} ...",
            context.account
        ));
        let ping = ApiRequest::new("GET", PING);
        let response = context.sender.api.send(&ping).await;
        response.context("The API does not respond")?;
        requests::check_keys(context).await;
        requests::update_customer(context).await;
        requests::check_pass_through(context).await;
        let is_gateway = !stack.is_local && context.sender.api.base_url.starts_with("https:");
        requests::check_gateway(context, is_gateway).await;
        note("2/3 Batches ...");
        requests::send_batches(context, self.signals.get()).await;
        note("3/3 Reading back ...");
        compare::compare(context, stack).await
    }
}

/// An account that no other run has.
fn new_account() -> Result<AccountId> {
    let random = uuid::Uuid::new_v4().simple().to_string();
    let random = random.get(..12).unwrap_or(&random);
    Ok(format!("{VERIFICATION_PREFIX}{random}").parse()?)
}
