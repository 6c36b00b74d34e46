//! The variables that `template.yaml` gives the functions.

use std::fmt;

/// A variable that is not there, or not as it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing(&'static str);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the variable {} is missing or not as it must be", self.0)
    }
}

impl std::error::Error for Missing {}

/// The variable called `name`.
///
/// # Errors
/// [`Missing`] when it is not set or empty.
pub fn variable(name: &'static str) -> Result<String, Missing> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).ok_or(Missing(name))
}

/// The variable called `name`, as a whole number.
///
/// # Errors
/// [`Missing`] when it is not set, or not one.
pub fn whole_number(name: &'static str) -> Result<u64, Missing> {
    variable(name)?.parse().map_err(|_| Missing(name))
}
