//! `verify`: proves a deployment. It sends requests as clients do, reads back what is stored, compares, measures, and removes
//! what it stored.
//!
//! Each phase is a module that adds checks to a [`Run`]. What API Gateway or Lambda alone can show is skipped on other stacks.

mod api;
mod batches;
mod check;
mod clean_up;
mod compare;
mod contract;
mod gateway;
mod lake;
mod limits;
mod load;
mod measure;
mod report;
mod run;
mod starts;
mod stored;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use model::account::AccountId;
use model::api_key::Endpoint;
use model::timestamp::Timestamp;

use self::api::{Api, Call, PING};
use self::clean_up::Cleanup;
use self::contract::OtherKeys;
use self::lake::Delays;
use self::report::Report;
use self::run::Run;
use self::starts::Starts;
use self::stored::Found;
use crate::check_result::CheckResult;
use crate::confirm::confirm;
use crate::error::call_error;
use crate::interrupt::until_interrupted;
use crate::keys::TemporaryKeys;
use crate::output::{Format, note};
use crate::stack::{SIGNALS, Stack};
use crate::time_args::duration;

/// How long a function may still work on a request that was given up.
const ABANDONED_REQUESTS: Duration = Duration::from_secs(12);

/// How long all phases may take, up to this many signals; cleaning up takes less than a minute.
const TIME_LIMIT: Duration = Duration::from_mins(9);
const TIMED_SIGNALS: usize = 30_000;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  cargo intake --stack intake-dev verify --report report.md\n  \
    cargo intake --local verify --signals 2000\n\n\
    The exit code is 1 when a promise of docs/api.md did not hold. Everything is stored under an account of its own and \
    removed at the end, also after Ctrl-C or SIGTERM.")]
pub(crate) struct Verify {
    /// About how many signals to send; never fewer than 1,300
    #[arg(long, value_name = "N", default_value = "10000")]
    signals: NonZeroUsize,

    /// Also send more requests than a route takes at once: other clients may get a 429 meanwhile
    #[arg(long)]
    burst: bool,

    /// The stack of delivery/template.yaml: also look for the signals in its lake, where they stay
    #[arg(long, value_name = "NAME")]
    delivery: Option<String>,

    /// How long to wait for the lake, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = lake::TIMEOUT, requires = "delivery")]
    delivery_timeout: Duration,

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

/// What the phases measured.
struct Measured {
    first_request_ms: u128,
    found: Found,
    starts: Starts,
    lake: Option<Delays>,
}

impl Verify {
    /// `version` is that of the tool.
    pub(crate) async fn run(self, stack: &Stack, version: &'static str, format: Format) -> Result<()> {
        if stack.is_local && self.delivery.is_some() {
            bail!("The stack of `cargo dev` has no delivery.");
        }
        self.ask(stack).await?;
        let (began, began_at) = (Instant::now(), Timestamp::now());
        let random = uuid::Uuid::new_v4().simple().to_string();
        let account: AccountId = format!("verify-{}", random.get(..12).unwrap_or(&random)).parse()?;
        let base_url =
            self.base_url.as_deref().map_or_else(|| stack.base_url(), |url| Ok(url.trim_end_matches('/')))?;
        let mut keys = TemporaryKeys::new(stack, &account)?;
        let mut run = None;
        let work = async {
            let key = keys.create(None).await?;
            let others = OtherKeys {
                expired: keys.create_expired().await?,
                restricted: keys.create(Some(Endpoint::Customers)).await?,
            };
            let api = Api::new(base_url.to_owned(), self.host.clone(), key.expose_secret().to_owned())?;
            let run = run.insert(Run::new(api, &account));
            let phases = self.phases(run, stack, &others, began_at);
            if self.signals.get() > TIMED_SIGNALS {
                return phases.await;
            }
            let limit = self.delivery().map_or(TIME_LIMIT, |(_, timeout)| TIME_LIMIT.saturating_add(timeout));
            let took = tokio::time::timeout(limit, phases).await;
            took.with_context(|| format!("It took longer than {} minutes", limit.as_secs() / 60))?
        };
        let outcome = until_interrupted(Box::pin(work)).await;
        let mut removed_at_once = Vec::new();
        if !matches!(outcome, Ok(Some(_))) {
            // At once: a pipeline that sends SIGTERM kills the process some seconds later.
            note("Cleaning up ...");
            removed_at_once = clean_up(stack, &keys, &account, run.as_ref(), began_at).await.removed;
            note(&format!("Once more in {} s: functions may still work on requests.", ABANDONED_REQUESTS.as_secs()));
            tokio::time::sleep(ABANDONED_REQUESTS).await;
        }
        note("Cleaning up ...");
        let cleanup = clean_up(stack, &keys, &account, run.as_ref(), began_at).await;
        let (Some(measured), Some(run)) = (outcome.inspect_err(|_| note_left(&cleanup.left))?, run) else {
            note_left(&cleanup.left);
            bail!("Interrupted. Removed: {}.", removed_at_once.join(", "));
        };
        let cold = measured.starts.cold_requests();
        let report = Report {
            version,
            began_at,
            seconds: began.elapsed().as_secs(),
            account: account.to_string(),
            signals: measured.found.stored.signals.len(),
            requests: run.attempts(),
            checks: run.checks(),
            first_request_ms: measured.first_request_ms,
            latencies: measure::latencies(&run.latencies(), cold.as_ref(), &measured.found.sizes),
            write_units_per_signal: measure::units_per_signal(&measured.found.sizes),
            starts: measured.starts,
            lake: measured.lake,
            cleanup,
        };
        self.write(&report, format)
    }

    fn delivery(&self) -> Option<(&str, Duration)> {
        self.delivery.as_deref().map(|name| (name, self.delivery_timeout))
    }

    /// Asks the operator before it writes into tables with deletion protection, which usually hold the data of real customers.
    async fn ask(&self, stack: &Stack) -> Result<()> {
        if self.yes {
            return Ok(());
        }
        let table = stack.table(SIGNALS)?;
        let described = stack.client.describe_table().table_name(table).send().await;
        let described = described.map_err(|error| call_error(table, error))?;
        if described.table.and_then(|table| table.deletion_protection_enabled) == Some(true) {
            let question = format!(
                "The tables of this stack have deletion protection. Write about {} signals under an account of their own, and \
                 remove them at the end?",
                self.signals
            );
            confirm(&question, false)?;
        }
        Ok(())
    }

    async fn phases(&self, run: &Run<'_>, stack: &Stack, keys: &OtherKeys, began_at: Timestamp) -> Result<Measured> {
        let is_gateway = !stack.is_local && run.api.is_https();
        note(&format!("1/4 Keys, customers, errors, under the account {} ...", run.account));
        let first = run.api.send_on_new_connection(&Call::new("GET", PING)).await;
        let first = first.context("The API does not answer")?;
        contract::keys(run, keys).await;
        contract::customers(run).await;
        contract::signals(run).await;
        contract::errors(run).await;
        note("2/4 Limits, API Gateway, browsers ...");
        limits::check(run, is_gateway).await;
        gateway::own_responses(run, is_gateway).await;
        gateway::pages(run, stack).await;
        note("3/4 Batches ...");
        batches::send(run, self.signals.get()).await;
        if self.burst {
            gateway::burst(run, stack).await;
        }
        note("4/4 Reading back ...");
        let found = compare::compare(run, stack, began_at).await?;
        let starts = Starts::read(stack, began_at).await;
        let lake = lake::check(run, stack, self.delivery(), &found.ids, began_at).await?;
        Ok(Measured { first_request_ms: first.took.as_millis(), found, starts, lake })
    }

    fn write(&self, report: &Report, format: Format) -> Result<()> {
        if let Some(path) = &self.report {
            std::fs::write(path, report.to_markdown()).with_context(|| format!("Cannot write {}", path.display()))?;
        }
        report.print(format)?;
        let failed = report.count(CheckResult::Failed);
        if failed > 0 {
            bail!("{failed} promise(s) did not hold.");
        }
        Ok(())
    }
}

async fn clean_up(
    stack: &Stack,
    keys: &TemporaryKeys<'_>,
    account: &AccountId,
    run: Option<&Run<'_>>,
    began_at: Timestamp,
) -> Cleanup {
    let identifiers = run.map(Run::identifiers).unwrap_or_default();
    let mut cleanup = clean_up::clean_up(stack, keys, account, &identifiers, began_at).await;
    let deferred = run.map(Run::deferred).unwrap_or_default();
    if deferred > 0 {
        cleanup.left.push(format!("those of {deferred} deferred signals that the overflow function stores after this"));
    }
    if !cleanup.left.is_empty() {
        cleanup.left.push(format!("to remove the rest: `cargo intake accounts erase {account}`"));
    }
    if stack.name.is_some() {
        cleanup.left.push("log lines and metrics, stream records (24 hours), backups (35 days)".to_owned());
        let lake = "where delivery/template.yaml is deployed, the events of this account in the lake: delivery/README.md, Erasure";
        cleanup.left.push(lake.to_owned());
    }
    cleanup
}

fn note_left(left: &[String]) {
    for left in left {
        note(&format!("Not removed: {left}"));
    }
}
