//! The id of a key on the command line. Must not know which keys there are.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};

/// What every id begins with.
const PREFIX: &str = "key_";

/// A bound above all ids.
const MAX_CHARS: usize = 64;

/// Parses an id. It never prints another value, which may be a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyIdParser;

impl TypedValueParser for KeyIdParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let id = value.to_str().filter(|id| is_id(id));
        id.map(ToOwned::to_owned).ok_or_else(|| {
            let sentence = "this is not the id of a key, which begins with key_: `keys list` has the ids. It is not shown here, \
                            because it may be a key.\n";
            Error::raw(ErrorKind::ValueValidation, sentence).with_cmd(command)
        })
    }
}

fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    text.starts_with(PREFIX) && text.len() <= MAX_CHARS && text.bytes().all(is_plain)
}
