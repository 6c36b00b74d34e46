//! The preferences of a client: the header `Prefer` (RFC 7240).

use lambda_http::http::HeaderMap;

/// Whether the client wants its errors to fail the request: `Prefer: handling=strict` (RFC 7240,
/// section 4.4). The function decides what that means for its requests.
pub fn prefers_strict_handling(headers: &HeaderMap) -> bool {
    // The first of two equal preferences counts (RFC 7240, section 2).
    let value = headers
        .get("prefer")
        .and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
        .unwrap_or_default();
    let handling = split_unquoted(value, ',').find_map(|preference| {
        // What follows a semicolon are parameters.
        let preference = split_unquoted(preference, ';').next()?;
        let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
        name.trim()
            .eq_ignore_ascii_case("handling")
            .then(|| value.trim().trim_matches('"').to_owned())
    });
    handling.is_some_and(|value| value.eq_ignore_ascii_case("strict"))
}

/// The parts of a header's value between separators that are outside of quoted strings (RFC 9110,
/// section 5.6.4).
fn split_unquoted(value: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    value.split(move |c: char| {
        if is_escaped {
            is_escaped = false;
            return false;
        }
        match c {
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        c == separator && !is_quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(
            lambda_http::http::HeaderName::from_static("prefer"),
            value.parse().unwrap(),
        )])
    }

    #[test]
    fn strict_handling_is_read_among_other_preferences() {
        for strict in [
            "handling=strict",
            "Handling=Strict",
            "respond-async, handling=\"strict\"; x=1",
            "wait=\"ä\",handling = strict",
            r#"wait="a\"b", handling=strict"#,
            r#"wait="a\\", handling=strict"#,
        ] {
            assert!(prefers_strict_handling(&header(strict)), "{strict}");
        }
        for other in [
            "",
            "handling=lenient",
            "handling",
            "strict",
            "xhandling=strict",
            "handling=lenient, handling=strict",
            "handling, handling=strict",
            "wait=\"1,handling=strict\"",
            r#"wait="a\",handling=strict"#,
        ] {
            assert!(!prefers_strict_handling(&header(other)), "{other}");
        }
    }
}
