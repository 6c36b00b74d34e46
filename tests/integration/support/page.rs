//! A page of the documentation: its sections, tables and code blocks.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

/// A Markdown file.
pub(crate) struct Page {
    /// Its path from the root.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(root().join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        Self {
            path: path.to_owned(),
            text,
        }
    }

    /// All pages of the documentation.
    pub(crate) fn all() -> Vec<Self> {
        let docs = ["docs", "docs/internals"].into_iter().flat_map(|folder| {
            let entries = std::fs::read_dir(root().join(folder))
                .unwrap()
                .map(|entry| entry.unwrap().path());
            let pages =
                entries.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
            pages.map(move |path| {
                format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap())
            })
        });
        ["README.md", "CHANGELOG.md", "delivery/README.md"]
            .into_iter()
            .map(str::to_owned)
            .chain(docs)
            .map(|path| Self::read(&path))
            .collect()
    }

    /// All code blocks in this language.
    pub(crate) fn blocks(&self, language: &str) -> Vec<&str> {
        code_blocks(&self.text, language)
    }

    /// The text of all headings, of every level.
    pub(crate) fn headings(&self) -> Vec<&str> {
        let outside_of_code = self.text.split("```").step_by(2).flat_map(str::lines);
        outside_of_code
            .filter(|line| line.starts_with('#'))
            .map(|line| line.trim_start_matches('#').trim())
            .collect()
    }

    /// What is below the second-level heading, up to the next one.
    pub(crate) fn section(&self, heading: &str) -> &str {
        let begin = format!("\n## {heading}\n");
        let after = self
            .text
            .split_once(&begin)
            .unwrap_or_else(|| panic!("{} has no heading {heading}", self.path))
            .1;
        after.split("\n## ").next().unwrap_or_default()
    }

    /// The rows, as cells, of the table in this section whose first row begins with `header`.
    pub(crate) fn table(&self, heading: &str, header: &str) -> Vec<Vec<String>> {
        let lines = self
            .section(heading)
            .lines()
            .skip_while(|line| !line.starts_with(&format!("| {header} |")));
        let cells = |row: &str| {
            row.trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect()
        };
        let rows: Vec<_> = lines
            .take_while(|line| line.starts_with('|'))
            .skip(2)
            .map(cells)
            .collect();
        assert!(
            !rows.is_empty(),
            "{}, {heading} has no table with the header {header}",
            self.path
        );
        rows
    }

    /// The code blocks of this language in this section.
    pub(crate) fn code(&self, heading: &str, language: &str) -> Vec<&str> {
        code_blocks(self.section(heading), language)
    }
}

fn code_blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let blocks = text.split("```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'))
        .collect()
}

/// The texts between single backticks.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
