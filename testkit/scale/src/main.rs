//! Prints or updates the figures of docs/scale.md: `cargo run --locked --bin scale -- --help`.
#![expect(clippy::print_stdout, reason = "a command: this is how it speaks")]

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::Parser;
use scale::page::{read, updated};
use scale::{SEED, report, scenario, sizing};

/// Sizes the service for rates of signals, and simulates it on tables that throttle. Needs no AWS and takes some seconds.
#[derive(Debug, Parser)]
#[command(
    name = "scale",
    after_help = "Examples:\n  \
        cargo run --locked --bin scale                 print both tables\n  \
        cargo run --locked --bin scale -- --seed 2     the same with other random numbers\n  \
        cargo run --locked --bin scale -- --accept     write the tables into docs/scale.md"
)]
struct Arguments {
    /// Chooses the intervals of the requests, the subjects and the waits; the same again for the same seed
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Simulate scenarios that take minutes, in place of the others
    #[arg(long)]
    long: bool,
    /// Write the tables into docs/scale.md in place of printing them
    #[arg(long, conflicts_with_all = ["seed", "long"])]
    accept: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let operations = read(&root, "docs/operations.md")?;
    if arguments.accept {
        let page = updated(&read(&root, "docs/scale.md")?, &operations)?;
        return std::fs::write(root.join("docs/scale.md"), page).context("docs/scale.md cannot be written");
    }
    let scenarios = if arguments.long { scenario::long() } else { scenario::all() };
    println!("{}\n{}", sizing::table(&operations)?, report::table(&scenarios, arguments.seed));
    Ok(())
}
