//! What was measured, as Markdown: a row for each condition, two columns for each rate.

use std::fmt::Write as _;

use super::conditions::Condition;
use super::measurement::Measurement;
use super::{OutageOptions, RequestKind};

/// The first lines of a table.
pub(super) fn header(kind: RequestKind, options: &OutageOptions) -> String {
    let mut names = format!("| {}: DynamoDB, for {} s |", kind.name(), options.seconds);
    let mut line = "|---|".to_owned();
    for rate in &options.rate {
        let _ = write!(names, " deferred at {rate}/s | environments at {rate}/s |");
        line += "---|---|";
    }
    format!("{names}\n{line}")
}

/// The row of a condition.
pub(super) fn row(condition: &Condition, measured: &[Measurement]) -> String {
    let mut row = format!("| {} |", condition.name);
    for measurement in measured {
        let Measurement {
            during_fault,
            deferred,
            refused,
            lost,
            environments,
            calls: _,
        } = measurement;
        let share = percent(*deferred, *during_fault);
        let _ = write!(row, " {share} | {environments} |");
        if refused + lost > 0 {
            let _ = write!(row, " {refused} REFUSED, {lost} LOST |");
        }
    }
    row
}

/// In whole percent, but neither 0 nor 100 for a part.
pub(super) fn percent(part: usize, whole: usize) -> String {
    // Adding the half rounds to the nearest percent.
    let rounded = (part * 100 + whole / 2).checked_div(whole).unwrap_or(0);
    match rounded {
        0 if part > 0 => "under 1 %".to_owned(),
        100 if part < whole => "over 99 %".to_owned(),
        percent => format!("{percent} %"),
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
