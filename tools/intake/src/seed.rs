//! `seed`: a few hundred made-up customers and their journeys, so that there is something to look at.
//!
//! The same every time, and of the week before today: run again on the same day, it writes the same items.

mod journeys;
mod people;

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use fastrand::Rng;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::Serialize;
use shared::invocation::Budget;
use shared::model::account::AccountId;
use shared::model::customer::CustomerUpdate;
use shared::model::place::Path;
use shared::model::signal::Signal;
use shared::model::timestamp::Timestamp;
use shared::model::token::JsonText;
use shared::store::customers::Customers;
use shared::store::rejected_signals::{Kept, RejectedSignals, day};
use shared::store::signals::{Origin, Signals};

use self::journeys::Visit;
use self::people::Person;
use crate::error::store_error;
use crate::output::{Format, json, line};
use crate::progress;
use crate::stack::{Stack, StackArgs, Table, WRITE_TIMEOUT};

/// Where the random numbers begin: with another, other people come.
const SEED: u64 = 17;

/// Customers that are written at once.
const CUSTOMERS_AT_ONCE: usize = 8;

/// The key that `cargo dev` makes, so the one that rejected signals came by.
const KEY_ID: &str = "key_development";

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  cargo intake --local seed")]
pub(crate) struct Seed {
    /// Whose customers
    #[arg(long, value_name = "NAME", default_value = "dev")]
    account: AccountId,

    /// How many
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    customers: u32,
}

/// What was written.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    customers: usize,
    signals: usize,
    rejected_signals: usize,
}

struct Tables {
    account: AccountId,
    customers: Customers,
    signals: Signals,
    rejected: RejectedSignals,
}

impl Seed {
    pub(crate) async fn run(self, stack_args: &StackArgs, format: Format) -> Result<()> {
        let stack = stack_args.connect().await?;
        if !stack.is_local() {
            bail!("Made-up customers belong into a local stack only: add --local.");
        }
        let tables = Tables::of(&stack, self.account)?;
        let today = midnight(Timestamp::now());
        let mut rng = Rng::with_seed(SEED);
        let bar = progress::of(self.customers.into(), "customers");
        // Drawn one after another, so that each gets the same whatever is written first.
        let drawn = (0..self.customers).map(|number| {
            let person = people::draw(number, &mut rng);
            let visits = journeys::draw(&person, today, &mut rng);
            (person, visits)
        });
        let all = stream::iter(drawn)
            .map(|(person, visits)| tables.write(person, visits, today))
            .buffer_unordered(CUSTOMERS_AT_ONCE)
            .inspect(|_| bar.inc(1))
            .try_fold(Written::default(), async |sum, one| Ok(sum.and(&one)))
            .await?;
        bar.finish_and_clear();
        match format {
            Format::Json => json(&all),
            Format::Table => line(&format!(
                "Seeded the account {} with {} customers, {} signals and {} rejected ones.",
                tables.account, all.customers, all.signals, all.rejected_signals
            )),
        }
    }
}

impl Written {
    fn and(&self, other: &Self) -> Self {
        Self {
            customers: self.customers.saturating_add(other.customers),
            signals: self.signals.saturating_add(other.signals),
            rejected_signals: self.rejected_signals.saturating_add(other.rejected_signals),
        }
    }
}

impl Tables {
    fn of(stack: &Stack, account: AccountId) -> Result<Self> {
        let client = &stack.client;
        Ok(Self {
            account,
            customers: Customers::new(client.clone(), stack.table(Table::Customers)?),
            signals: Signals::new(client.clone(), stack.table(Table::Signals)?, stack.retention()?),
            rejected: RejectedSignals::new(client.clone(), stack.table(Table::RejectedSignals)?),
        })
    }

    async fn write(&self, person: Person, visits: Vec<Visit>, today: Timestamp) -> Result<Written> {
        let cannot = |error| store_error("the local tables", &error);
        let defect = || anyhow!("A made-up customer is not valid: this is a defect of `cargo intake`.");
        let profile = person.json();
        let update =
            JsonText::parse(&profile).ok().and_then(|text| CustomerUpdate::parse(text).ok()).ok_or_else(defect)?;
        let since = visits.iter().map(|visit| visit.at).min().unwrap_or(today);
        self.customers.upsert(&self.account, &update, since, Budget::lasting(WRITE_TIMEOUT)).await.map_err(cannot)?;
        let mut written = Written { customers: 1, ..Written::default() };
        for visit in visits {
            let origin =
                Origin { account_id: &self.account, request_identifier: &visit.request, received_at: visit.at };
            let (mut valid, mut rejected) = (Vec::new(), Vec::new());
            for (index, signal) in visit.signals.iter().enumerate() {
                let signals = Path::Member(&Path::Root, "signals");
                let text = JsonText::parse(signal).map_err(|_| defect())?;
                match Signal::parse(text, index, &Path::Element(&signals, index)) {
                    Ok(signal) => valid.push(signal),
                    Err(signal) => rejected.push(signal),
                }
            }
            let kept: Vec<Kept<'_>> = rejected.iter().map(Kept::from).collect();
            self.signals.put(origin, &valid, Budget::lasting(WRITE_TIMEOUT)).await.map_err(cannot)?;
            self.rejected.keep(origin, KEY_ID, &kept, Budget::lasting(WRITE_TIMEOUT)).await.map_err(cannot)?;
            written = written.and(&Written { customers: 0, signals: valid.len(), rejected_signals: kept.len() });
        }
        Ok(written)
    }
}

/// The begin of the day of a moment, in UTC.
fn midnight(moment: Timestamp) -> Timestamp {
    format!("{}T00:00:00.000Z", day(moment)).parse().unwrap_or(moment)
}

/// `moment`, `minutes` earlier.
fn earlier(moment: Timestamp, minutes: u64) -> Timestamp {
    let millis = u64::try_from(Duration::from_mins(minutes).as_millis()).unwrap_or(u64::MAX);
    Timestamp::from_millis(moment.millis().saturating_sub(millis))
}
