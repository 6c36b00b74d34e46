//! The environment variables that `template.yaml` gives the functions. This module must not know what they are for.

use std::fmt;

use store::environment::{EnvironmentError, optional_env_var};

/// Why a function cannot start.
#[derive(thiserror::Error)]
pub enum ConfigError {
    /// A variable is missing or malformed.
    #[error("the environment variable {0} is missing or malformed")]
    Variable(&'static str),
    /// There is no client of AWS.
    #[error(transparent)]
    Aws(#[from] EnvironmentError),
}

/// As displayed: this is what Rust prints when `main` returns an error.
impl fmt::Debug for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The variable `name`.
///
/// # Errors
/// [`ConfigError::Variable`] when it is not set or empty.
pub fn env_var(name: &'static str) -> Result<String, ConfigError> {
    optional_env_var(name).ok_or(ConfigError::Variable(name))
}

/// The variable `name` as a whole number.
///
/// # Errors
/// [`ConfigError::Variable`] when it is not set or not a whole number.
pub fn env_u64(name: &'static str) -> Result<u64, ConfigError> {
    env_var(name)?.parse().map_err(|_| ConfigError::Variable(name))
}
