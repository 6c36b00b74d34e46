//! The same work in Intake and in what else a user would choose, each written as a first version would be, in one run. Must not
//! know how anything is measured.

use anyhow::{Result, ensure};

use crate::observation::{cold, warm};
use crate::program::{Program, function, node, python};
use crate::report::{megabytes, milliseconds, step};
use crate::workload::{Workload, batch};

/// The table: Intake, Python, Node.js.
pub(crate) async fn table() -> Result<Vec<[String; 4]>> {
    let (customers, signals, python, node) = (function("customers")?, function("signals")?, python()?, node()?);
    let intake = column("Intake", [&customers, &signals]).await?;
    let python = column(python.name, [&python, &python]).await?;
    let node = column(node.name, [&node, &node]).await?;
    let rows = [
        "what",
        "exec through first customer",
        "warm customer",
        "warm batch of 100 signals",
        "warm batch of 500 signals",
        "peak memory, 500 signals",
    ];
    let cells = intake.into_iter().zip(python).zip(node);
    let rows = rows.into_iter().zip(cells);
    Ok(rows.map(|(what, ((intake, python), node))| [what.to_owned(), intake, python, node]).collect())
}

async fn column(name: &str, [customers, signals]: [&Program; 2]) -> Result<[String; 6]> {
    step(format!("measuring {name}"));
    let customer = Workload::Customer.event()?;
    let first_customer = cold(customers, &customer).await?;
    let customer = warm(customers, &customer).await?;
    let of_100 = warm(signals, &batch(100)?).await?;
    let of_500 = warm(signals, &batch(500)?).await?;
    ensure!([customer.calls, of_100.calls, of_500.calls] == [1, 4, 20], "{name} does other work");
    Ok([
        name.to_owned(),
        milliseconds(first_customer),
        milliseconds(customer.time),
        milliseconds(of_100.time),
        milliseconds(of_500.time),
        megabytes(of_500.memory),
    ])
}
