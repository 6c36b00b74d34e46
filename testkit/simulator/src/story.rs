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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::promises::Promise;

    #[test]
    fn story_has_the_lines_that_a_promise_names_and_those_of_its_environment() {
        let lines = [
            ("client 1", "sends request 7; an-identifier;"),
            (
                "signals 1",
                "BatchWriteItem SignalsTable, 2 items, request 7; -> 200",
            ),
            (
                "signals 1",
                "BatchWriteItem SignalsTable, 2 items, request 71; -> 200",
            ),
            ("signals 11", "GET /keys -> 503"),
        ];
        let lines = lines.map(|(who, text)| Line {
            at: Duration::ZERO,
            who: who.to_owned(),
            text: text.to_owned(),
        });
        let told = |about: &str| {
            let broken = BrokenPromise {
                promise: Promise::Response,
                text: String::new(),
                about: about.to_owned(),
            };
            let story = tell(&broken, &lines);
            lines.clone().map(|line| story.contains(&line.text))
        };
        assert_eq!(told("request 7;"), [true, true, false, false]);
        assert_eq!(told("signals 1"), [false, true, true, false]);
        assert_eq!(told("signals 11"), [false, false, false, true]);
        assert_eq!(told(""), [true; 4]);
    }
}
