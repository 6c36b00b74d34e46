//! JSON as the client sent it: a [`Value`] is a piece of the body, and numbers and strings stay text until they are used.
//!
//! [`JsonText::parse`] has `serde_json` check the syntax of the whole body, once and without recursion. It does not have
//! it read the values: a general reader turns numbers into floats, keeps one of two fields with the same name, and gives
//! up on the whole body for one unpaired surrogate. An [`Object`] gives its fields one after another, and reports the
//! names that are wrong in any object: empty, not Unicode text, or there twice. The [`Lexer`] is for a nested value that
//! is read in one pass at all its levels.
//!
//! What is in here must not know which fields a customer or a signal has, what their values may be, or what DynamoDB
//! can store.

mod lexer;
mod object;
mod string;
mod text;
mod value;

pub use self::lexer::{Lexer, Token};
pub(crate) use self::object::SeenKeys;
pub use self::object::{Field, Object};
pub use self::string::{RawString, UnpairedSurrogate};
pub use self::text::{JsonSyntaxError, JsonText};
pub use self::value::Value;
