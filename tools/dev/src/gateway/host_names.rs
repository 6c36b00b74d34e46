//! The host names under which the gateway and the inspector respond. Must not know what a request
//! asks for.

use std::net::IpAddr;

use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri};

/// The names of `--host-name`. `localhost` and every address count as host names too.
///
/// They protect against DNS rebinding. The owner of a page can give the page's own name the address
/// of this machine, and then the browser lets the page read what listens here. But the browser
/// sends the page's name in `Host`.
#[derive(Clone, Default)]
pub(crate) struct HostNames(pub(crate) Vec<String>);

impl HostNames {
    /// Whether a request was sent to one of these names. A target that names a host counts, too: a
    /// server has to prefer it to `Host` (RFC 9112, section 3.2.2).
    pub(crate) fn include_host_of(&self, target: &Uri, headers: &HeaderMap) -> bool {
        let is_own = |host: &HeaderValue| host.to_str().is_ok_and(|host| self.include(host));
        let host_of_target = target.authority().map(Authority::as_str);
        host_of_target.is_none_or(|host| self.include(host))
            && headers.get_all(HOST).iter().all(is_own)
    }

    fn include(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        // A host has no user name before it.
        if host.contains('@') {
            return false;
        }
        let name = authority.host().to_ascii_lowercase();
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        is_address || name == "localhost" || self.0.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::HOST;
    use axum::http::{HeaderMap, Uri};

    use super::HostNames;

    #[test]
    fn addresses_localhost_and_given_names_are_host_names() {
        let names = HostNames(vec!["intake".to_owned()]);
        let path = Uri::from_static("/api/customers");
        for (host, expected) in [
            ("127.0.0.1:9000", true),
            ("192.168.1.17", true),
            ("[::1]:9000", true),
            ("LocalHost:1", true),
            ("Intake:9001", true),
            ("page.example:9000", false),
            ("intake.page.example", false),
            ("127.0.0.1.page.example", false),
            ("page.example@localhost", false),
            ("localhost@localhost", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
            assert_eq!(names.include_host_of(&path, &headers), expected, "{host}");
        }
        assert!(names.include_host_of(&path, &HeaderMap::new()));
    }

    #[test]
    fn host_of_the_target_and_every_host_header_are_checked() {
        let names = HostNames::default();
        let mut headers = HeaderMap::from_iter([(HOST, "localhost".parse().unwrap())]);
        for (target, expected) in [
            ("http://localhost:9000/api/customers", true),
            ("http://page.example/api/customers", false),
            ("http://page.example@localhost/api/customers", false),
            ("page.example:80", false),
        ] {
            let target = Uri::from_static(target);
            assert_eq!(
                names.include_host_of(&target, &headers),
                expected,
                "{target}"
            );
        }
        headers.append(HOST, "page.example".parse().unwrap());
        let path = Uri::from_static("/api/customers");
        assert!(!names.include_host_of(&path, &headers));
    }
}
