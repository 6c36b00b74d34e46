//! What a run is asked to do.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Counts what the functions cost, compares it with yardsticks and with the committed figures.
#[derive(Debug, Parser)]
#[command(name = "cargo bench --", no_binary_name = false)]
pub struct Options {
    /// Only count the instructions of the functions and compare them with bench/figures.json: no yardsticks, minutes.
    #[arg(long)]
    pub guard: bool,
    /// Make what is measured the committed figures, tables and plot. With --guard, the figures alone.
    #[arg(long)]
    pub accept: bool,
    /// Count warm requests of one function into a file for `callgrind_annotate`, and do nothing else.
    #[arg(long, value_name = "FILE", requires = "of")]
    pub profile: Option<PathBuf>,
    /// What is profiled.
    #[arg(long, value_enum)]
    pub of: Option<Request>,
    /// How many requests are profiled; none shows the start alone.
    #[arg(long, default_value_t = 20)]
    pub requests: u64,
    // What cargo adds by itself.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What is asked of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Request {
    /// One customer.
    Customer,
    /// A batch of one signal.
    Signal,
    /// A batch of a hundred signals.
    Batch,
}
