//! The host names under which the gateway and the inspector answer. Must not know what a request
//! asks for.

use std::net::IpAddr;

use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue};

/// The names of `--host-name`. `localhost` and every address count as host names too.
///
/// They protect against DNS rebinding. The owner of a page can give the page's own name the address
/// of this machine, and then the browser lets the page read what listens here. But the browser
/// sends the page's name in `Host`.
#[derive(Clone, Default)]
pub(crate) struct HostNames(pub(crate) Vec<String>);

impl HostNames {
    /// Whether a request with these headers was sent to one of these names.
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

    use super::HostNames;

    #[test]
    fn addresses_localhost_and_given_names_are_host_names() {
        let names = HostNames(vec!["intake".to_owned()]);
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
