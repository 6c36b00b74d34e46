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
    let mut is_quoted = false;
    let ends_preference = |c: char| {
        if c == '"' {
            is_quoted = !is_quoted;
        }
        c == ',' && !is_quoted
    };
    let mut preferences = value.split(ends_preference);
    let handling = preferences.find_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("handling")
            .then(|| value.trim().trim_matches('"').to_owned())
    });
    handling.is_some_and(|value| value.eq_ignore_ascii_case("strict"))
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
            "wait=\"1,handling=strict\"",
        ] {
            assert!(!prefers_strict_handling(&header(other)), "{other}");
        }
    }
}
