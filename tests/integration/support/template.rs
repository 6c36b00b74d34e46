//! The templates of the repository as they are written.

use emulator::yaml;
use serde_json::Value;

use super::page::root;

/// The template at `path`, which counts from the root of the repository.
pub(crate) fn read_template(path: &str) -> Value {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    yaml::parse(&text).unwrap()
}
