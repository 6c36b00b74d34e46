//! What `cargo bench` does.

use anyhow::Result;
use clap::Parser;

use crate::baseline::{self, InstructionCounts};
use crate::instructions::Instructions;
use crate::report::{print_table, step};
use crate::tables::CountedWorkloads;
use crate::workload::Workload;
use crate::{instructions, peers, program, tables};

/// Counts the instructions of the functions, compares them with the baseline, and measures the
/// goals.
#[derive(Debug, Parser)]
#[command(name = "cargo bench --", no_binary_name = false, after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct BenchOptions {
    /// Makes the counts the new baseline
    #[arg(long)]
    accept: bool,
    /// Counts nothing and needs no valgrind: measures the functions beside the same work in Python
    /// and in Node.js, whose packages it installs into target/peers (needs Python 3.11 with venv)
    #[arg(long, conflicts_with = "accept")]
    peers: bool,
    /// Only builds the functions: what is measured later then starts at once
    #[arg(long, conflicts_with_all = ["accept", "peers"])]
    build: bool,
    // Cargo adds it.
    #[arg(long, hide = true)]
    bench: bool,
}

const EXAMPLES: &str = "\
Examples:
  cargo bench                 Counts instructions, compares them with the baseline, measures the goals
  cargo bench -- --accept     Makes what was counted the baseline
  cargo bench -- --peers      The table beside Python and Node.js in docs/internals/performance.md";

/// Does what the command line says; `false` when counts differ from the baseline.
///
/// # Errors
/// When something cannot be built or measured, or there are other calls or more connections than
/// there must be.
pub async fn run(options: &BenchOptions) -> Result<bool> {
    program::build_functions()?;
    if options.build {
        return Ok(true);
    }
    if options.peers {
        let peers = peers::install()?;
        let table = tables::peers(&peers).await?;
        print_table(&table);
        return Ok(true);
    }
    let mut counts = InstructionCounts::new();
    let customer = count(Workload::Customer, &mut counts).await?;
    let signal = count(Workload::Signal, &mut counts).await?;
    let batch = count(Workload::Batch, &mut counts).await?;
    let counted = CountedWorkloads {
        customer,
        signal,
        batch,
    };
    let goals = tables::goals(counted).await?;
    print_table(&goals);
    if options.accept {
        baseline::write(&counts)?;
        return Ok(true);
    }
    let committed = baseline::read()?;
    let deviations = baseline::deviations(&counts, &committed);
    if !deviations.is_empty() {
        println!(
            "\n{}\nIf this is intended: cargo bench -- --accept",
            deviations.join("\n")
        );
    }
    Ok(deviations.is_empty())
}

/// Counts the instructions of a workload, prints them and adds them to `counts`.
async fn count(workload: Workload, counts: &mut InstructionCounts) -> Result<Instructions> {
    step(format!("counting instructions: {workload:?}"));
    let instructions = instructions::count(workload).await?;
    let Instructions { start, first, warm } = instructions;
    let mut add = |what: &str, count: u64| {
        let name = format!("{workload:?}: {what}");
        println!("{name}: {count} instructions");
        counts.insert(name, count);
    };
    add("start", start);
    add("first request", first);
    add("warm request", warm.instructions);
    Ok(instructions)
}
