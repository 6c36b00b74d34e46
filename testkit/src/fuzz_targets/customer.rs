//! Any text as the body of `POST /api/customers`: an update with no name twice, or at least one validation error.

use std::collections::BTreeSet;

use model::customer::{CustomerUpdate, RESERVED_FIELDS};
use model::json::JsonText;

/// Tries one input.
pub(super) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let Ok(json) = JsonText::parse(text) else { return };
    match CustomerUpdate::parse(json) {
        Ok(update) => {
            let names: BTreeSet<_> = update.changes.iter().map(|(name, _)| name.as_ref()).collect();
            assert_eq!(names.len(), update.changes.len());
            assert!(RESERVED_FIELDS.iter().all(|reserved| !names.contains(reserved)));
            assert!(!update.customer_id.trim().is_empty());
        }
        Err(errors) => assert!(!errors.is_empty()),
    }
}
