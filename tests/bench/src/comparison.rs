//! The comparison: the same work in Intake and in implementations as a first version would be, in one run. Must not know how
//! anything is measured.

use std::time::Duration;

use anyhow::{Result, ensure};
use sandbox::fake_dynamodb::Counts;

use crate::binary_size::{BinarySize, binary_size};
use crate::instructions::{self, WARM};
use crate::markdown::{Table, megabytes, millions, milliseconds, thousands};
use crate::observation::{self, Observation};
use crate::target::{Functions, References, Target};
use crate::{Counted, requests, step};

/// Customers, and batches of 100 signals, of which the mean processor time is taken.
const WARM_REQUESTS: [u32; 2] = [400, 150];

/// What is compared: this repository, the stock SDK in Rust, Python and Node.js.
pub(crate) struct Comparison(pub(crate) [Column; 4]);

/// What was measured of an implementation.
pub(crate) struct Column {
    /// Processor time from exec through the first acknowledged customer.
    cold: Duration,
    /// Processor time of a warm customer, and of a signal in a warm batch of 100.
    warm: [Duration; 2],
    /// What these customers and batches wrote.
    writes: [Counts; 2],
    pub(crate) batch_of_500: Observation,
    pub(crate) program: Option<Program>,
}

/// What is known of a program in Rust.
pub(crate) struct Program {
    /// Instructions from exec through the first acknowledged customer.
    cold: u64,
    /// Instructions of a warm customer, and of a signal in a warm batch of 100, without SHA-256.
    pub(crate) warm: [u64; 2],
    pub(crate) size: BinarySize,
}

impl Comparison {
    /// Measures everything but the instructions of the functions, which are `counted`.
    pub(crate) async fn measure(functions: &Functions, references: &References, counted: &Counted) -> Result<Self> {
        let References { stock, python, node } = references;
        let Functions { customers, signals, .. } = functions;
        let mut columns = [
            Column::measure("Intake", customers, signals).await?,
            Column::measure(stock.name, stock, stock).await?,
            Column::measure(python.name, python, python).await?,
            Column::measure(node.name, node, node).await?,
        ];
        let writes = columns.each_ref().map(|column| &column.writes);
        ensure!(writes.windows(2).all(|pair| pair.first() == pair.last()), "they do not do the same work: {writes:?}");
        let [(_, customer), _, (_, batch), ..] = counted;
        let [intake, reference, ..] = &mut columns;
        intake.program = Some(Program {
            cold: customer.cold(),
            warm: [customer.warm.without_sha256(), batch.warm.without_sha256() / 100],
            size: binary_size(signals, "", "signals")?,
        });
        reference.program = Some(count(stock).await?);
        Ok(Self(columns))
    }

    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new("what | Intake | stock SDK in Rust | Python, boto3 | Node.js, AWS SDK v3");
        let mut row = |what: &str, of: &dyn Fn(&Column) -> String| table.row(what, self.0.iter().map(of));
        row("processor time, exec through first customer", &|column| milliseconds(column.cold, 0));
        row("processor time, warm customer", &|column| milliseconds(column.warm[0], 2));
        row("processor time, signal in a warm batch of 100", &|column| milliseconds(column.warm[1], 3));
        row("500 signals at 5 ms a call", &|column| column.batch_of_500.time());
        row("peak memory, 500 signals", &|column| megabytes(column.batch_of_500.memory));
        let mut row = |what: &str, of: &dyn Fn(&Program) -> String| {
            table.row(what, self.0.iter().map(|column| column.program.as_ref().map(of).unwrap_or_default()));
        };
        row("instructions, exec through first customer", &|program| format!("{:.2} M", millions(program.cold)));
        row("instructions, warm customer, without SHA-256", &|program| thousands(program.warm[0]));
        row("instructions, signal in a warm batch of 100, without SHA-256", &|program| thousands(program.warm[1]));
        row("binary", &|program| megabytes(program.size.bytes));
        row("crates", &|program| program.size.crates.to_string());
        table
    }
}

impl Column {
    async fn measure(name: &str, customers: &Target, signals: &Target) -> Result<Self> {
        let (customer, batch) = (requests::customer()?, requests::batch(100, None)?);
        let [of_customers, of_batches] = WARM_REQUESTS;
        step(format!("measuring {name}: starts (1 of 4)"));
        let cold = observation::cold(customers, &customer).await?;
        step(format!("measuring {name}: warm customers (2 of 4)"));
        let (customer, customer_writes) = observation::warm(customers, &customer, of_customers).await?;
        step(format!("measuring {name}: warm batches of 100 signals (3 of 4)"));
        let (batch, batch_writes) = observation::warm(signals, &batch, of_batches).await?;
        step(format!("measuring {name}: 500 signals (4 of 4)"));
        let batch_of_500 = observation::observe(signals, &requests::batch(500, None)?).await?;
        let (warm, writes) = ([customer, batch / 100], [customer_writes, batch_writes]);
        Ok(Self { cold, warm, writes, batch_of_500, program: None })
    }
}

/// Counts the stock SDK.
async fn count(stock: &Target) -> Result<Program> {
    let (customer, batch) = (requests::customer()?, requests::batch(100, None)?);
    step("counting instructions of the stock SDK: start and first customer (1 of 3)");
    let cold = instructions::profile(stock, &customer, 1).await?.instructions;
    step("counting instructions of the stock SDK: warm customers (2 of 3)");
    let customer = instructions::warm(stock, &customer, WARM).await?.without_sha256();
    step("counting instructions of the stock SDK: warm batches of 100 signals (3 of 3)");
    let signal = instructions::warm(stock, &batch, WARM).await?.without_sha256() / 100;
    Ok(Program { cold, warm: [customer, signal], size: binary_size(stock, "tests/bench/stock", "stock")? })
}
