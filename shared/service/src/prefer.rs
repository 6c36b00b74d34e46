//! The preferences of a client: the header `Prefer` (RFC 7240).

use lambda_http::http::HeaderMap;

/// What the client wants for a request with an error (RFC 7240, section 4.4). The function decides
/// what that means for its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// `handling=lenient`, or no preference.
    Lenient,
    /// `handling=strict`: its errors fail the request.
    Strict,
    /// The header has another value, which is ignored.
    NotUnderstood,
}

impl Handling {
    /// Reads the header.
    pub fn read(headers: &HeaderMap) -> Self {
        let Some(value) = headers.get("prefer") else {
            return Self::Lenient;
        };
        let Ok(value) = std::str::from_utf8(value.as_bytes()) else {
            return Self::NotUnderstood;
        };
        if value.trim().is_empty() {
            return Self::Lenient;
        }
        // The first of two equal preferences counts (RFC 7240, section 2).
        let handling = split_unquoted(value, ',').find_map(|preference| {
            // What follows a semicolon are parameters.
            let preference = split_unquoted(preference, ';').next()?;
            let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
            name.trim()
                .eq_ignore_ascii_case("handling")
                .then(|| value.trim().trim_matches('"'))
        });
        match handling {
            Some(value) if value.eq_ignore_ascii_case("strict") => Self::Strict,
            Some(value) if value.eq_ignore_ascii_case("lenient") => Self::Lenient,
            Some(_) | None => Self::NotUnderstood,
        }
    }
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
            assert_eq!(
                Handling::read(&header(strict)),
                Handling::Strict,
                "{strict}"
            );
        }
        for lenient in [
            "",
            " ",
            "handling=lenient",
            "handling=lenient, handling=strict",
        ] {
            assert_eq!(
                Handling::read(&header(lenient)),
                Handling::Lenient,
                "{lenient}"
            );
        }
        assert_eq!(Handling::read(&HeaderMap::new()), Handling::Lenient);
        for other in [
            "respond-async",
            "handling",
            "strict",
            "xhandling=strict",
            "handling, handling=strict",
            "wait=\"1,handling=strict\"",
            r#"wait="a\",handling=strict"#,
        ] {
            let handling = Handling::read(&header(other));
            assert_eq!(handling, Handling::NotUnderstood, "{other}");
        }
    }
}
