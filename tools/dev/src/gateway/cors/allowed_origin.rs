//! The origins that the option `--cors` names. Must not know what a page of them may do.

use std::fmt;

/// The pages that may call the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AllowedOrigin {
    /// All pages: `*`.
    Every,
    /// The pages of a scheme, as API Gateway writes it: `https://*`. Here, the part before the `*`.
    Scheme(String),
    /// The pages of a host on each port: `http://localhost:*`. Here, the part before the `*`.
    EveryPort(String),
    /// The pages of one origin, as a browser sends it.
    Origin(String),
}

impl AllowedOrigin {
    /// Parses what `--cors` has.
    ///
    /// # Errors
    /// No browser sends an origin that matches: says why, and what to do.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Every);
        }
        if text == "null" || text.starts_with("file:") {
            return Err(
                "a page that is opened as a file, or in a sandbox, has no origin: serve the page over HTTP".to_owned(),
            );
        }
        let Some((scheme, host)) = text.split_once("://") else {
            return Err(no_origin());
        };
        let is_scheme = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
        if scheme.is_empty() || !scheme.chars().all(is_scheme) || host.is_empty() {
            return Err(no_origin());
        }
        if host == "*" {
            return Ok(Self::Scheme(format!("{scheme}://")));
        }
        if let Some(name) = host.strip_suffix(":*") {
            ensure_host(name)?;
            return Ok(Self::EveryPort(format!("{scheme}://{name}:")));
        }
        let (name, port) = split_port(host);
        ensure_host(name)?;
        if let Some(port) = port {
            ensure_port(scheme, name, port)?;
        }
        Ok(Self::Origin(text.to_owned()))
    }

    /// Whether the pages of this origin are among them.
    pub(super) fn includes(&self, origin: &str) -> bool {
        match self {
            Self::Every => true,
            Self::Scheme(start) => origin.starts_with(start),
            Self::EveryPort(start) => {
                let port = origin.strip_prefix(start).unwrap_or_default();
                !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
            }
            Self::Origin(own) => origin == own,
        }
    }
}

impl fmt::Display for AllowedOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every => f.write_str("*"),
            Self::Scheme(start) | Self::EveryPort(start) => write!(f, "{start}*"),
            Self::Origin(origin) => f.write_str(origin),
        }
    }
}

fn no_origin() -> String {
    "an origin is a scheme and a host in lower case, with its port and without a path, such as http://localhost:3000"
        .to_owned()
}

/// The name and the port of a host. An IPv6 address, in brackets, has colons of its own.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}

fn ensure_host(name: &str) -> Result<(), String> {
    if name.contains('*') {
        return Err(
            "a * stands for every host, as in https://*, or for every port, as in http://localhost:*; no origin matches \
             another one"
                .to_owned(),
        );
    }
    if !name.is_ascii() {
        return Err(
            "a browser sends the name of such a host in Punycode, as in http://xn--caf-dma.example"
                .to_owned(),
        );
    }
    let is_host = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._[]:".contains(c);
    let is_address = name.starts_with('[') && name.ends_with(']');
    let has_colon = name.contains(':');
    if name.is_empty() || !name.chars().all(is_host) || (has_colon && !is_address) {
        return Err(no_origin());
    }
    Ok(())
}

fn ensure_port(scheme: &str, name: &str, port: &str) -> Result<(), String> {
    let number: Option<u16> = port.parse().ok();
    if number.is_none_or(|number| number.to_string() != port) {
        return Err(no_origin());
    }
    let is_default = matches!((scheme, port), ("http", "80") | ("https", "443"));
    if is_default {
        return Err(format!(
            "a browser leaves out the usual port: {scheme}://{name}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::AllowedOrigin;

    #[test]
    fn origin_that_no_browser_sends_is_refused_with_the_reason() {
        for (text, why) in [
            ("null", "serve the page over HTTP"),
            ("file://", "serve the page over HTTP"),
            (
                "http://localhost:80",
                "leaves out the usual port: http://localhost",
            ),
            ("https://shop.example:443", "https://shop.example"),
            ("https://*.shop.example", "a * stands for every host"),
            ("http://localhost*", "a * stands for every host"),
            ("http://localhost:30*", "an origin is a scheme and a host"),
            ("http://caf\u{e9}.example", "Punycode"),
            ("http://Shop.example", "an origin is a scheme and a host"),
            ("HTTP://shop.example", "an origin is a scheme and a host"),
            ("http://a,b", "an origin is a scheme and a host"),
            ("", "an origin is a scheme and a host"),
            ("http://shop.example/", "an origin is a scheme and a host"),
            ("http://a@shop.example", "an origin is a scheme and a host"),
            ("http://localhost:99999", "an origin is a scheme and a host"),
            ("http://a:b:1", "an origin is a scheme and a host"),
            ("localhost:3000", "an origin is a scheme and a host"),
            ("http://", "an origin is a scheme and a host"),
        ] {
            let error = AllowedOrigin::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn every_port_is_a_number_after_the_host() {
        let allowed = AllowedOrigin::parse("http://localhost:*").unwrap();
        assert!(allowed.includes("http://localhost:3000"));
        for other in [
            "http://localhost:3000.evil.example",
            "http://localhost:",
            "http://localhost",
            "https://localhost:3000",
        ] {
            assert!(!allowed.includes(other), "{other}");
        }
    }

    #[test]
    fn origin_is_shown_as_it_was_given() {
        for text in [
            "*",
            "https://*",
            "http://localhost:*",
            "http://[::1]:3000",
            "https://shop.example",
            "chrome-extension://abcdef",
        ] {
            let allowed = AllowedOrigin::parse(text).unwrap();
            assert_eq!(allowed.to_string(), text);
        }
    }
}
