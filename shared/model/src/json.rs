//! JSON as the client sent it: a [`Value`] is a piece of the body, and numbers and strings stay
//! text until they are used.
//!
//! [`JsonText::parse`] lets `serde_json` check the syntax of the whole body, once and without
//! recursion. After that, `serde_json` only decodes strings with escapes. It reads no other value,
//! because it would convert numbers to floats, keep one of two fields with the same name, and reject
//! the whole body for one unpaired surrogate. An [`Object`] returns its fields one after another,
//! and reports invalid names: empty, duplicate or not valid Unicode. [`Tokens`] reads a nested
//! value in one pass at all its levels.
//!
//! This module must not know which fields a customer or a signal has, which values they may have,
//! or what DynamoDB can store.

mod object;
mod string;
mod tokens;
mod value;

pub(crate) use self::object::SeenNames;
pub use self::object::{Field, Object};
pub use self::string::{RawString, UnpairedSurrogate};
pub use self::tokens::{Token, Tokens};
pub use self::value::{JsonSyntaxError, JsonText, Value};
