//! The environment variables of a function, which Lambda and the template set. The caller
//! hands them in, so that several functions can run in one process. This module must not know what a
//! variable is for.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::tls::CaBundleError;

/// Why a function cannot start.
#[derive(thiserror::Error)]
pub enum ConfigError {
    /// A variable that Lambda sets is missing.
    #[error(
        "the environment variable {0} is missing: Lambda sets it, and `cargo dev` provides it locally"
    )]
    MissingFromLambda(&'static str),
    /// A variable that the function's template, `template.yaml` or `delivery/template.yaml`, sets is
    /// missing or empty. `cargo dev` does not run the functions of `delivery/template.yaml`.
    #[error("the environment variable {0} is missing: the template of the function sets it")]
    Missing(&'static str),
    /// The function's template sets one of two variables: both are set, or neither.
    #[error("exactly one of the environment variables {either} and {or} must be set")]
    NotOne {
        either: &'static str,
        or: &'static str,
    },
    /// A variable is set to something else than a whole number.
    #[error("the environment variable {0} is malformed: it must be a whole number")]
    NotANumber(&'static str),
    /// The file of certificate authorities cannot be used.
    #[error(transparent)]
    CaBundle(#[from] CaBundleError),
}

/// The same text as `Display`: the runtime logs an error of an invocation by its `Debug`.
impl fmt::Debug for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The variables that a function is made from.
#[derive(Clone, Default)]
pub struct Variables(Arc<HashMap<String, String>>);

/// Shows the names without the values, because credentials are among the values.
impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }
}

impl Variables {
    /// The variables of this process. A variable that is not UTF-8 counts as not set.
    pub fn from_process() -> Self {
        let variables = std::env::vars_os();
        variables
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The variable `name`; `None` when it is not set or empty.
    pub fn optional(&self, name: &str) -> Option<String> {
        let value = self.0.get(name)?;
        (!value.is_empty()).then(|| value.clone())
    }

    /// The variable `name`.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] when it is not set or empty.
    pub fn required(&self, name: &'static str) -> Result<String, ConfigError> {
        self.optional(name).ok_or(ConfigError::Missing(name))
    }

    /// The variable `name` as a whole number.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] when it is not set or empty, [`ConfigError::NotANumber`] when it is
    /// not a whole number.
    pub fn whole_number(&self, name: &'static str) -> Result<u64, ConfigError> {
        let value = self.required(name)?;
        value.parse().map_err(|_| ConfigError::NotANumber(name))
    }

    /// The variable `name`, which Lambda sets.
    ///
    /// # Errors
    /// [`ConfigError::MissingFromLambda`] when it is not set or empty.
    pub(crate) fn required_from_lambda(&self, name: &'static str) -> Result<String, ConfigError> {
        self.optional(name)
            .ok_or(ConfigError::MissingFromLambda(name))
    }
}
