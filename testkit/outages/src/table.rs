//! What was measured, as Markdown.

use std::fmt::Write as _;

use crate::build::Build;
use crate::counts::BuildCounts;
use crate::measurement::Measurement;
use crate::options::OutageOptions;
use crate::request_kind::RequestKind;

/// A column that each build has.
struct Column {
    name: &'static str,
    figure: fn(&BuildCounts) -> String,
}

const COLUMNS: [Column; 4] = [
    Column {
        name: "deferred",
        figure: deferred,
    },
    Column {
        name: "503s",
        figure: |build| build.unavailable.to_string(),
    },
    Column {
        name: "lost",
        figure: |build| build.lost.to_string(),
    },
    Column {
        name: "environments at once",
        figure: |build| build.environments.to_string(),
    },
];

/// Renders a table for each kind of requests, and notes below them.
pub(crate) fn render(
    measured: &[Measurement],
    builds: &[Build],
    options: &OutageOptions,
) -> String {
    let mut text = String::new();
    for kind in RequestKind::ALL {
        let rows: Vec<_> = measured
            .iter()
            .filter(|measurement| measurement.run.kind == kind)
            .collect();
        if !rows.is_empty() {
            text += &table(kind, &rows, builds, options);
        }
    }
    text + &notes(measured, builds)
}

fn table(
    kind: RequestKind,
    rows: &[&Measurement],
    builds: &[Build],
    options: &OutageOptions,
) -> String {
    let mut header = vec![
        format!("{}: DynamoDB, for {} s", kind.name(), options.seconds),
        "requests a second".to_owned(),
    ];
    for Column { name, .. } in &COLUMNS {
        for build in builds {
            header.push(match builds.len() {
                1 => (*name).to_owned(),
                _ => format!("{name}, {}", build.name),
            });
        }
    }
    let mut text = line(&header);
    text += "|";
    text += &"---|".repeat(header.len());
    text += "\n";
    for Measurement { run, counts, .. } in rows {
        let mut cells = vec![run.condition.name.clone(), run.rate.to_string()];
        for Column { figure, .. } in &COLUMNS {
            cells.extend(counts.iter().map(figure));
        }
        text += &line(&cells);
    }
    text += "\n";
    text
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn deferred(build: &BuildCounts) -> String {
    let BuildCounts {
        requests_during_fault,
        deferred,
        deferred_after,
        ..
    } = build;
    let share = percent(*deferred, *requests_during_fault);
    match deferred_after {
        0 => share,
        after => format!("{share}, {after} after it"),
    }
}

/// In whole percent, but neither 0 nor 100 for a part.
fn percent(part: usize, whole: usize) -> String {
    // Adding the half rounds to the nearest percent.
    let rounded = (part * 100 + whole / 2).checked_div(whole).unwrap_or(0);
    match rounded {
        0 if part > 0 => "under 1 %".to_owned(),
        100 if part < whole => "over 99 %".to_owned(),
        percent => format!("{percent} %"),
    }
}

/// Which rows say little, and what no row says.
fn notes(measured: &[Measurement], builds: &[Build]) -> String {
    let mut text = String::new();
    for measurement in measured {
        let label = measurement.run.label();
        if measurement.is_disturbed_control() {
            let _ = writeln!(
                text,
                "{label}: not all was stored without a fault, so the machine was too slow for this rate, and the other rows say nothing."
            );
        }
        if measurement.lacks_its_fault() {
            let _ = writeln!(
                text,
                "{label}: the fault met no call of a build, so the row says nothing."
            );
        }
        if measurement.is_doubtful() {
            let busy = measurement.busy_percent.unwrap_or_default();
            let delays = measurement.counts.iter().map(|counts| counts.longest_delay);
            let longest_delay = delays.max();
            let _ = writeln!(
                text,
                "{label}: doubtful, the processors were {busy} % busy and a request was sent {} ms late.",
                longest_delay.unwrap_or_default().as_millis()
            );
        }
        for (counts, build) in measurement.counts.iter().zip(builds) {
            let BuildCounts { failed, ended, .. } = counts;
            if *failed > 0 || *ended > 0 {
                let _ = writeln!(
                    text,
                    "{label}, {}: {failed} requests got neither a 200 nor a 503, and {ended} processes ended by themselves.",
                    build.name
                );
            }
        }
    }
    text
}

impl Measurement {
    /// The result in one line, for the reader of the progress.
    pub(crate) fn summary(&self, builds: &[Build]) -> String {
        let mut summaries = Vec::new();
        for (counts, build) in self.counts.iter().zip(builds) {
            let figures: Vec<_> = COLUMNS
                .iter()
                .map(|column| format!("{} {}", column.name, (column.figure)(counts)))
                .collect();
            summaries.push(format!("{}: {}", build.name, figures.join(", ")));
        }
        let busy = self.busy_percent.unwrap_or_default();
        let doubt = if self.is_doubtful() { ", doubtful" } else { "" };
        format!("{} (processors {busy} % busy{doubt})", summaries.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn share_is_neither_nothing_nor_everything_when_it_is_a_part() {
        let shares = [(0, 400), (1, 400), (8, 400), (399, 400), (400, 400), (0, 0)];
        let shares = shares.map(|(part, whole)| percent(part, whole));
        assert_eq!(
            shares,
            ["0 %", "under 1 %", "2 %", "over 99 %", "100 %", "0 %"]
        );
    }
}
