//! The names by which the API and the inspector are called. Must not know what they are asked for.

use std::net::IpAddr;

use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue};

/// Names beside `localhost` and every address. A page can give its own name the address of this
/// machine, and so be of one origin with what listens here; but the browser then sends that name in
/// `Host`.
#[derive(Clone, Default)]
pub(crate) struct OwnNames(pub(crate) Vec<String>);

impl OwnNames {
    /// Whether a request with these headers was sent to one of them.
    pub(crate) fn include_host_of(&self, request: &HeaderMap) -> bool {
        request
            .get(HOST)
            .is_none_or(|host| self.include(host).unwrap_or(false))
    }

    fn include(&self, host: &HeaderValue) -> Option<bool> {
        let authority: Authority = host.to_str().ok()?.parse().ok()?;
        let name = authority.host().to_ascii_lowercase();
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        Some(is_address || name == "localhost" || self.0.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::HOST;

    use super::OwnNames;

    #[test]
    fn addresses_localhost_and_given_names_are_own_names() {
        let names = OwnNames(vec!["intake".to_owned()]);
        for (host, expected) in [
            ("127.0.0.1:9000", true),
            ("192.168.1.17", true),
            ("[::1]:9000", true),
            ("LocalHost:1", true),
            ("Intake:9001", true),
            ("page.example:9000", false),
            ("intake.page.example", false),
            ("127.0.0.1.page.example", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
            assert_eq!(names.include_host_of(&headers), expected, "{host}");
        }
        assert!(names.include_host_of(&HeaderMap::new()));
    }
}
