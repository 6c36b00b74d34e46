//! Tables and numbers as Markdown, and the pages that tables are written to, each between two comments that name it. Must
//! not know what they say.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::target::root;

/// What the functions cost.
pub(crate) const PERFORMANCE: &str = "docs/performance.md";

/// What a stack costs.
pub(crate) const OPERATIONS: &str = "docs/operations.md";

/// A table, as far as it is written.
pub(crate) struct Table(pub(crate) String);

impl Table {
    /// The header has its cells between bars, such as `a | b`.
    pub(crate) fn new(header: &str) -> Self {
        Self(format!("| {header} |\n|{}\n", "---|".repeat(header.split('|').count())))
    }

    pub(crate) fn row<Cell: Display>(&mut self, what: &str, cells: impl IntoIterator<Item = Cell>) {
        // Writing to a String cannot fail.
        let _ = write!(self.0, "| {what} |");
        for cell in cells.into_iter().map(|cell| cell.to_string()) {
            let _ = write!(self.0, "{}{cell} |", if cell.is_empty() { "" } else { " " });
        }
        self.0.push('\n');
    }
}

/// The text of a page.
pub(crate) fn read(page: &str) -> Result<String> {
    std::fs::read_to_string(root().join(page)).with_context(|| format!("{page} cannot be read"))
}

/// Replaces, for each table, the text of the page between `<!-- measured: name -->` and `<!-- end -->`.
pub(crate) fn write(page: &str, tables: &[(&str, Table)]) -> Result<()> {
    let mut text = read(page)?;
    for (name, Table(table)) in tables {
        text = replaced(&text, name, table).with_context(|| format!("{page} has no place for {name}"))?;
    }
    std::fs::write(root().join(page), text).with_context(|| format!("{page} cannot be written"))
}

fn replaced(text: &str, name: &str, content: &str) -> Option<String> {
    let begin = format!("<!-- measured: {name} -->\n");
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once("<!-- end -->")?;
    Some(format!("{before}{begin}\n{content}\n<!-- end -->{after}"))
}

#[expect(clippy::cast_precision_loss, reason = "what is counted has fewer than 53 bits")]
pub(crate) fn millions(count: u64) -> f64 {
    count as f64 / 1e6
}

pub(crate) fn thousands(count: u64) -> String {
    format!("{:.1} k", millions(count) * 1e3)
}

/// Of a million bytes each.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", millions(bytes))
}

pub(crate) fn milliseconds(duration: Duration, decimals: usize) -> String {
    format!("{:.decimals$} ms", duration.as_secs_f64() * 1e3)
}

pub(crate) fn ratio(part: u64, whole: u64) -> String {
    format!("{:.2}", millions(part) / millions(whole.max(1)))
}

/// With commas between thousands.
pub(crate) fn grouped(count: u64) -> String {
    if count < 1_000 { count.to_string() } else { format!("{},{:03}", grouped(count / 1_000), count % 1_000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_page_is_replaced_alone() {
        let page = "a\n<!-- measured: x -->\nold\n<!-- end -->\nb <!-- end -->";
        let changed = "a\n<!-- measured: x -->\n\nnew\n\n<!-- end -->\nb <!-- end -->";
        assert_eq!(replaced(page, "x", "new\n").as_deref(), Some(changed));
        assert_eq!(replaced(page, "y", "new"), None);
    }

    #[test]
    fn thousands_of_a_count_are_separated() {
        assert_eq!([0, 999, 1_000, 1_002_000].map(grouped), ["0", "999", "1,000", "1,002,000"]);
    }
}
