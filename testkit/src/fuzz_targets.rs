//! What each fuzz target does with an input. `cargo test` tries the inputs of tests/fuzz/corpus; `.ci/fuzz` looks for new ones.
//! Must not know who calls it.

mod event;
mod headers;
mod request;

/// Tries one input, and panics when it does not hold.
pub type Check = fn(&[u8]);

/// Every target: the name of its folder in tests/fuzz/corpus, and what it does.
pub const TARGETS: [(&str, Check); 3] =
    [("event", event::check), ("headers", headers::check), ("request", request::check)];
