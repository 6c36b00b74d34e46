//! Values that clients sent, written so that a terminal obeys none of their characters. Must not
//! know where the values come from.

use anyhow::Result;
use serde::Serialize;

/// A value as one line of JSON. A terminal obeys none of its characters: any JSON escapes the ASCII
/// control characters, and this escapes the others.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn to_json(value: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(value)?;
    let escaped = |c| format!("\\u{:04x}", u32::from(c));
    Ok(escape(&json, is_obeyed_beyond_ascii, escaped))
}

/// `text` with its control characters escaped, so that it takes one line and cannot move the
/// cursor.
pub fn escape_control(text: &str) -> String {
    let is_obeyed = |c: char| c.is_control() || is_obeyed_beyond_ascii(c);
    escape(text, is_obeyed, |c| c.escape_default().collect())
}

fn escape(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escaped: impl Fn(char) -> String,
) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            result.push_str(&escaped(c));
        } else {
            result.push(c);
        }
    }
    result
}

/// Whether it is DEL, one of the C1 control characters, a line break, or a mark that changes the
/// direction of text. The code of each has at most four hexadecimal digits.
fn is_obeyed_beyond_ascii(c: char) -> bool {
    let is_control = matches!(c, '\u{7f}'..='\u{9f}');
    let is_line_break = matches!(c, '\u{2028}' | '\u{2029}');
    let is_direction = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_control || is_line_break || is_direction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            escape_control("a\u{1b}[2Jb\nc\u{202e}\u{61c}"),
            "a\\u{1b}[2Jb\\nc\\u{202e}\\u{61c}"
        );
    }

    #[test]
    fn json_is_the_same_value_without_a_character_that_a_terminal_obeys() {
        let obeyed = [
            "\u{0}\u{1b}\u{7f}",
            "\u{80}\u{9b}2J\u{9f}",
            "\u{61c}\u{200e}\u{200f}\u{2028}\u{202a}\u{202e}\u{2066}\u{2069}",
        ];
        for text in obeyed {
            let json = to_json(&[text]).unwrap();
            assert!(json.is_ascii(), "{json}");
            assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [text]);
        }
        assert_eq!(
            to_json(&"a\u{9b}\u{202e}é李\u{a0}").unwrap(),
            "\"a\\u009b\\u202eé李\u{a0}\""
        );
    }
}
