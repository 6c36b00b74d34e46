//! The variables that `template.yaml` gives the functions.

use std::fmt;

use store::trust::BadBundle;

/// Why a function cannot start in its environment.
#[derive(Debug)]
pub enum Unusable {
    /// A variable is not there, or not as it must be.
    Variable(&'static str),
    /// The file of authorities cannot be used.
    Bundle(BadBundle),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable {name} is missing or not as it must be"),
            Self::Bundle(bundle) => bundle.fmt(f),
        }
    }
}

impl std::error::Error for Unusable {}

impl From<BadBundle> for Unusable {
    fn from(bundle: BadBundle) -> Self {
        Self::Bundle(bundle)
    }
}

/// The variable called `name`.
///
/// # Errors
/// [`Unusable::Variable`] when it is not set or empty.
pub fn variable(name: &'static str) -> Result<String, Unusable> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).ok_or(Unusable::Variable(name))
}

/// The variable called `name`, as a whole number.
///
/// # Errors
/// [`Unusable::Variable`] when it is not set, or not one.
pub fn whole_number(name: &'static str) -> Result<u64, Unusable> {
    variable(name)?.parse().map_err(|_| Unusable::Variable(name))
}
