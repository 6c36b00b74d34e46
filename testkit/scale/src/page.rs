//! The tables in docs/scale.md. Must not know what is in them.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::{SEED, report, scenario, sizing};

/// Reads a page of the repository at `root`.
///
/// # Errors
/// When it cannot be read.
pub fn read(root: &Path, page: &str) -> Result<String> {
    std::fs::read_to_string(root.join(page)).with_context(|| format!("{page} cannot be read"))
}

/// The page with new tables. `operations` is docs/operations.md, which has the prices.
///
/// # Errors
/// When the page has no place for a table, or `operations` no price.
pub fn updated(page: &str, operations: &str) -> Result<String> {
    let page = with_table(page, "sizing", &sizing::table(operations)?)?;
    with_table(&page, "scenarios", &report::table(&scenario::all(), SEED))
}

/// The page with `table` after the marker with this name.
fn with_table(page: &str, name: &str, table: &str) -> Result<String> {
    let marker = format!("<!-- simulated: {name} -->\n");
    let (before, after) = page.split_once(&marker).with_context(|| format!("the page has no {marker}"))?;
    let (_, after) = after.split_once("<!-- end -->").with_context(|| format!("{marker} has no end"))?;
    Ok(format!("{before}{marker}\n{table}\n<!-- end -->{after}"))
}
