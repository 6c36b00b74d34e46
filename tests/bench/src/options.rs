//! The command line of the benchmark. Must not know how it is carried out.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Measures what the functions cost, beside reference implementations, and compares instructions with the baseline.
#[derive(Debug, Parser)]
#[command(name = "cargo bench --", no_binary_name = false)]
pub struct Options {
    /// Only count what is compared: instructions with tests/bench/baseline.json, and costs with docs/operations.md
    #[arg(long)]
    pub guard: bool,
    /// Accept the results: write the baseline and the tables; with --guard, only the baseline and the table of costs
    #[arg(long)]
    pub accept: bool,
    /// Only count requests of one function into a file for `callgrind_annotate`
    #[arg(long, value_name = "FILE", requires = "of")]
    pub profile: Option<PathBuf>,
    /// What is profiled
    #[arg(long, value_enum)]
    pub of: Option<Workload>,
    /// How many requests are profiled; 0 shows the start alone
    #[arg(long, default_value_t = 20)]
    pub requests: u64,
    // Cargo adds it.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A request to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// One customer.
    Customer,
    /// A batch of one signal.
    Signal,
    /// A batch of a hundred signals.
    Batch,
}
