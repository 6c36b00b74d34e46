//! The one error of this package: a sentence for the person at the terminal.
//! Nothing branches on what went wrong, so there are no kinds to match.

use std::fmt;

/// What failed, of what, and what to do about it: one sentence.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// An error that reads as `sentence`.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
