//! The id of a customer or an emitter on the command line. Must not know what is stored of it.

use model::limits::MAX_IDENTIFIER_CHARS;

/// Parses an id, which may be any text of the contract's length (docs/api.md, Limits).
pub(crate) fn subject_id(text: &str) -> Result<String, String> {
    let chars = text.chars().count();
    if !(1..=MAX_IDENTIFIER_CHARS).contains(&chars) {
        return Err(format!(
            "an id has 1 to {MAX_IDENTIFIER_CHARS} characters, and this one has {chars}"
        ));
    }
    Ok(text.to_owned())
}
