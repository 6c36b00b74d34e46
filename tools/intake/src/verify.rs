//! `verify`: proves a deployment. It sends requests as clients do, reads back what is stored,
//! compares, and removes what it stored.
//!
//! Each phase is a module that adds checks to a [`Run`]. What API Gateway or Lambda alone can show
//! is skipped on other stacks.

mod api;
mod batch;
mod compare;
mod report;
mod requests;
mod run;
mod stored;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use model::account::{AccountId, VERIFICATION_PREFIX};
use model::timestamp::Timestamp;

use self::api::{Api, Call, PING};
use self::report::Report;
use self::requests::SIGNALS_OF_ROUND;
use self::run::Run;
use self::stored::clean_up;
use crate::check_result::CheckResult;
use crate::confirm::confirm;
use crate::interrupt::until_interrupted;
use crate::keys::VerificationKey;
use crate::output::{Format, note};
use crate::stack::{OWN_VERSION, Stack};

/// How long the keys are valid, should the command not be able to delete them.
const KEY_LIFETIME: Duration = Duration::from_hours(1);

/// How long a function may still work on a request that was given up.
const ABANDONED_REQUESTS: Duration = Duration::from_secs(12);

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo intake --stack intake-dev verify --report report.md\n  \
    cargo intake --local verify --signals 2000\n\n\
    The exit code is 1 when a promise of docs/api.md did not hold. Everything is stored under an account of its own and \
    removed at the end, also after Ctrl-C or SIGTERM."
)]
pub(crate) struct Verify {
    /// About how many signals to send: a multiple of 526
    #[arg(long, value_name = "N", default_value_t = SIGNALS_OF_ROUND)]
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

impl Verify {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        if !stack.is_local {
            let question = "Write about {N} signals into this stack, under an account of their own, and remove them at the end?";
            confirm(
                &question.replace("{N}", &self.signals.to_string()),
                self.yes,
            )?;
        }
        let (began, began_at) = (Instant::now(), Timestamp::now());
        let random = uuid::Uuid::new_v4().simple().to_string();
        let account: AccountId = format!(
            "{VERIFICATION_PREFIX}{}",
            random.get(..12).unwrap_or(&random)
        )
        .parse()?;
        let base_url = self
            .base_url
            .as_deref()
            .map_or_else(|| stack.base_url(), |url| Ok(url.trim_end_matches('/')))?;
        let key = VerificationKey::new(stack, &account, began_at.plus(KEY_LIFETIME))?;
        let run = Run::new(
            Api::new(
                base_url.to_owned(),
                self.host.clone(),
                key.expose_secret().to_owned(),
            )?,
            &account,
            began_at,
        );
        let work = async {
            key.store().await?;
            self.phases(&run, stack).await
        };
        let outcome = until_interrupted(Box::pin(work)).await;
        let remove_all = async || {
            note("Cleaning up ...");
            clean_up(stack, &key, &run).await
        };
        let mut removed_at_once = Vec::new();
        if !matches!(outcome, Ok(Some(_))) {
            // At once: a pipeline that sends SIGTERM kills the process some seconds later.
            removed_at_once = remove_all().await.removed;
            note(&format!(
                "Once more in {} s: functions may still work on requests.",
                ABANDONED_REQUESTS.as_secs()
            ));
            tokio::time::sleep(ABANDONED_REQUESTS).await;
        }
        let cleanup = remove_all().await;
        let Some(signals) = outcome.inspect_err(|_| note_left(&cleanup.left))? else {
            note_left(&cleanup.left);
            bail!("Interrupted. Removed: {}.", removed_at_once.join(", "));
        };
        let report = Report {
            version: OWN_VERSION,
            began_at,
            seconds: began.elapsed().as_secs(),
            account: account.to_string(),
            signals,
            checks: run.checks.into_inner(),
            cleanup,
        };
        if let Some(path) = &self.report {
            std::fs::write(path, report.to_markdown())
                .with_context(|| format!("Cannot write {}", path.display()))?;
        }
        report.print(format)?;
        let failed = report.with_result(CheckResult::Failed).count();
        ensure!(failed == 0, "{failed} promise(s) did not hold.");
        Ok(())
    }

    /// Returns how many signals are stored.
    async fn phases(&self, run: &Run<'_>, stack: &Stack) -> Result<usize> {
        note(&format!(
            "1/3 Keys, customers, API Gateway, under the account {} ...",
            run.account
        ));
        run.api
            .send(&Call::new("GET", PING))
            .await
            .context("The API does not answer")?;
        requests::keys(run).await;
        requests::customers(run).await;
        requests::handed_over(run).await;
        requests::gateway(
            run,
            !stack.is_local && run.api.base_url.starts_with("https:"),
        )
        .await;
        note("2/3 Batches ...");
        requests::batches(run, self.signals.get()).await;
        note("3/3 Reading back ...");
        compare::compare(run, stack).await
    }
}

fn note_left(left: &[String]) {
    for left in left {
        note(&format!("Not removed: {left}"));
    }
}
