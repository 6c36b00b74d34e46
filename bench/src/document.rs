//! Writes the generated parts of docs/performance.md, each between two comments that name it. Must not know their content.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::target::root;

/// Replaces, for each part, the text of the page between `<!-- measured: name -->` and `<!-- end -->`.
///
/// # Errors
/// When the page has no such place, or cannot be written.
pub fn write(parts: &[(&str, String)]) -> Result<()> {
    let path = page();
    let mut text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    for (name, content) in parts {
        text = replaced(&text, name, content).with_context(|| format!("{} has no place for {name}", path.display()))?;
    }
    std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Where the plot belongs.
pub fn plot() -> PathBuf {
    root().join("docs/performance-growth.svg")
}

fn page() -> PathBuf {
    root().join("docs/performance.md")
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
