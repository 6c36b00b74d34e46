//! The story of a broken promise: what happened to one customer or one request, a line a call.

use std::fmt::Write as _;

use crate::promises::BrokenPromise;
use crate::trace::Line;

/// The lines that are printed at most: the last ones.
const MAX_LINES: usize = 60;

/// The lines about what a promise was broken for.
pub fn tell(broken: &BrokenPromise, lines: &[Line]) -> String {
    let about: Vec<_> = lines
        .iter()
        .filter(|line| line.who == broken.about || is_about(&line.text, &broken.about))
        .collect();
    let mut story = format!("{}\n", broken.text);
    let left_out = about.len().saturating_sub(MAX_LINES);
    if left_out > 0 {
        let _ = writeln!(story, "  ({left_out} earlier lines)");
    }
    for line in about.into_iter().skip(left_out) {
        let at = line.at.as_secs_f64();
        let _ = writeln!(story, "  {at:8.3} s  {:<14} {}", line.who, line.text);
    }
    story
}

/// Whether a line has the text, and not as the beginning of a longer name.
fn is_about(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(position, _)| {
        let after = line[position + text.len()..].chars().next();
        after.is_none_or(|after| !after.is_ascii_alphanumeric())
    })
}
