//! Writes the generated parts of the pages, each between two comments that name it. Must not know their content.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::target::root;

/// What the functions cost.
pub const PERFORMANCE: &str = "docs/performance.md";

/// What a stack costs.
pub const OPERATIONS: &str = "docs/operations.md";

/// The text of a page.
///
/// # Errors
/// When it cannot be read.
pub fn read(page: &str) -> Result<String> {
    std::fs::read_to_string(root().join(page)).with_context(|| format!("{page} cannot be read"))
}

/// Replaces, for each part, the text of the page between `<!-- measured: name -->` and `<!-- end -->`.
///
/// # Errors
/// When the page has no such place, or cannot be written.
pub fn write(page: &str, parts: &[(&str, String)]) -> Result<()> {
    let mut text = read(page)?;
    for (name, content) in parts {
        text = replaced(&text, name, content).with_context(|| format!("{page} has no place for {name}"))?;
    }
    std::fs::write(root().join(page), text).with_context(|| format!("{page} cannot be written"))
}

/// Where the plot belongs.
pub fn plot() -> PathBuf {
    root().join("docs/performance-growth.svg")
}

fn replaced(text: &str, name: &str, content: &str) -> Option<String> {
    let begin = format!("<!-- measured: {name} -->\n");
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once("<!-- end -->")?;
    Some(format!("{before}{begin}\n{content}\n<!-- end -->{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_page_is_replaced_alone() {
        let page = "a\n<!-- measured: x -->\nold\n<!-- end -->\nb <!-- end -->";
        assert_eq!(
            replaced(page, "x", "new\n").unwrap(),
            "a\n<!-- measured: x -->\n\nnew\n\n<!-- end -->\nb <!-- end -->"
        );
        assert_eq!(replaced(page, "y", "new"), None);
    }
}
