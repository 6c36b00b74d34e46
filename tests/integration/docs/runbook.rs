//! docs/runbook.md says what to do about each cause that a log line can have.

use std::collections::BTreeSet;

use crate::support::page::{Page, quoted, root};

/// The files with the errors that are printed as `storeError` or `cause`.
const ERRORS: [&str; 6] = [
    "shared/aws/src/call_error.rs",
    "shared/aws/src/s3.rs",
    "shared/store/src/error.rs",
    "shared/store/src/overflow_messages/format.rs",
    "functions/overflow/src/lib.rs",
    "delivery/function/src/target_error.rs",
];

/// The names that errors have in these files: the texts of one word in `#[error("...")]`.
fn causes_of_the_code() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in ERRORS {
        let code = std::fs::read_to_string(root().join(path)).unwrap();
        let texts = code
            .split("#[error(\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        let words: Vec<_> = texts
            .filter(|text| text.chars().all(char::is_alphanumeric))
            .map(ToOwned::to_owned)
            .collect();
        assert!(!words.is_empty(), "{path} names no cause");
        names.extend(words);
    }
    names
}

#[test]
fn each_cause_that_the_code_prints_has_a_row() {
    let page = Page::read("docs/runbook.md");
    let rows = page.table("Find out why a request failed", "cause");
    let mut listed = BTreeSet::new();
    for row in rows {
        // The other rows are about the codes of AWS, and statuses.
        let is_about_codes = row[0].starts_with("another code") || row[0].starts_with("`HTTP`");
        if is_about_codes {
            continue;
        }
        for name in quoted(&row[0]) {
            assert!(listed.insert(name.to_owned()), "{name} has two rows");
        }
    }
    assert_eq!(listed, causes_of_the_code());
}
