//! The outcomes of scenarios as a Markdown table. Must not know how they come about.

use std::fmt::Write as _;
use std::time::Duration;

use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::simulate;

/// Simulates scenarios, and makes a table of their outcomes.
pub fn table(scenarios: &[Scenario], seed: u64) -> String {
    let mut table = String::from(
        "| scenario | signals | stored at once | deferred | 503 | time to store, p50 | p99 | longest queue | drained after \
         | environments | partitions |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for scenario in scenarios {
        add_rows(&mut table, scenario, &simulate(scenario, seed));
    }
    table
}

/// A row for each source; the first one has the figures of the whole scenario, too.
fn add_rows(table: &mut String, scenario: &Scenario, outcome: &Outcome) {
    let drained_after = if outcome.longest_queue == 0 { "-".to_owned() } else { time(outcome.drained_after) };
    let mut whole = format!(
        "{} | {drained_after} | {} | {}",
        grouped(outcome.longest_queue),
        grouped(outcome.environments),
        outcome.partitions,
    );
    for (source, signals) in scenario.sources.iter().zip(&outcome.sources) {
        let at_once = signals.sent.saturating_sub(signals.deferred).saturating_sub(signals.refused);
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} | {whole} |",
            source.name,
            grouped(signals.sent),
            share(at_once, signals.sent),
            share(signals.deferred, signals.sent),
            share(signals.refused, signals.sent),
            time(signals.time_to_store(50)),
            time(signals.time_to_store(99)),
        );
        "| | |".clone_into(&mut whole);
    }
}

/// In percent, with one digit after the point.
fn share(part: usize, whole: usize) -> String {
    let per_mille = part.saturating_mul(1_000).saturating_add(whole / 2).checked_div(whole).unwrap_or_default();
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

fn time(time: Duration) -> String {
    match time.as_millis() {
        milliseconds @ ..1_000 => format!("{milliseconds} ms"),
        ..120_000 => format!("{:.0} s", time.as_secs_f64()),
        _ => format!("{:.1} min", time.as_secs_f64() / 60.0),
    }
}

/// With commas between thousands.
pub(crate) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().saturating_sub(index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
