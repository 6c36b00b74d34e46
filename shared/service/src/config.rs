//! The environment variables that `template.yaml` gives the functions. This module must not know what they are for.

use std::fmt;

use store::environment::{EnvironmentError, optional_env_var};

/// Why a function cannot start.
#[derive(thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set, or empty.
    #[error(
        "the environment variable {0} is missing: the template sets it on AWS, and `cargo dev` provides it locally"
    )]
    Missing(&'static str),
    /// A variable is set to something that it cannot be.
    #[error("the environment variable {name} is malformed: it must be {expected}")]
    Malformed {
        /// The variable.
        name: &'static str,
        /// What it must be, such as "a whole number".
        expected: &'static str,
    },
    /// There is no client of AWS.
    #[error(transparent)]
    Aws(#[from] EnvironmentError),
}

/// As displayed: this is what the runtime logs when an invocation ends in an error.
impl fmt::Debug for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The variable `name`.
///
/// # Errors
/// [`ConfigError::Missing`] when it is not set or empty.
pub fn env_var(name: &'static str) -> Result<String, ConfigError> {
    optional_env_var(name).ok_or(ConfigError::Missing(name))
}

/// The variable `name` as a whole number.
///
/// # Errors
/// [`ConfigError::Missing`] when it is not set or empty, [`ConfigError::Malformed`] when it is not a whole number.
pub fn env_u64(name: &'static str) -> Result<u64, ConfigError> {
    env_var(name)?.parse().map_err(|_| ConfigError::Malformed { name, expected: "a whole number" })
}
