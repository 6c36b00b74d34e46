//! The variables that `template.yaml` gives the functions.

use std::fmt;

use store::tls::CaBundleError;

/// Why a function cannot start in its environment.
#[derive(Debug)]
pub enum ConfigError {
    /// A variable is not there, or not as it must be.
    Variable(&'static str),
    /// The file of authorities cannot be used.
    Bundle(CaBundleError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable {name} is missing or not as it must be"),
            Self::Bundle(bundle) => bundle.fmt(f),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<CaBundleError> for ConfigError {
    fn from(bundle: CaBundleError) -> Self {
        Self::Bundle(bundle)
    }
}

/// The variable called `name`.
///
/// # Errors
/// [`ConfigError::Variable`] when it is not set or empty.
pub fn env_var(name: &'static str) -> Result<String, ConfigError> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).ok_or(ConfigError::Variable(name))
}

/// The variable called `name`, as a whole number.
///
/// # Errors
/// [`ConfigError::Variable`] when it is not set, or not one.
pub fn env_u64(name: &'static str) -> Result<u64, ConfigError> {
    env_var(name)?.parse().map_err(|_| ConfigError::Variable(name))
}
