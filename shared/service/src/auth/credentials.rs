//! The API key in the header `Authorization`, and what is wrong with the form of that header.
//!
//! This module must not know which keys exist: what it says depends on nothing but what the client
//! sent (docs/security.md, API keys).

use lambda_http::http::HeaderMap;
use lambda_http::http::header::AUTHORIZATION;
use model::api_key::KeyHash;

use crate::problem::AuthorizationFault;

const SCHEME: &[u8] = b"Bearer ";

/// The key in `Authorization: Bearer <key>` (RFC 6750, section 2.1). It cannot be printed.
#[derive(Clone, Copy)]
pub(super) struct Credentials<'h> {
    key: &'h [u8],
}

impl<'h> Credentials<'h> {
    pub(super) fn read(headers: &'h HeaderMap) -> Result<Self, AuthorizationFault> {
        let value = headers
            .get(AUTHORIZATION)
            .ok_or(AuthorizationFault::NoHeader)?
            .as_bytes();
        let (scheme, key) = value
            .split_at_checked(SCHEME.len())
            .ok_or_else(|| fault_without_key(value))?;
        let key = key.trim_ascii();
        if !scheme.eq_ignore_ascii_case(SCHEME) || key.is_empty() {
            return Err(fault_without_key(value));
        }
        // A key is visible ASCII: anything else needs no look-up.
        if !key.iter().all(u8::is_ascii_graphic) {
            return Err(fault_of_malformed(key));
        }
        Ok(Self { key })
    }

    pub(super) fn hash(self) -> KeyHash {
        KeyHash::from_key(self.key)
    }

    /// What is probably wrong when there is no such key.
    pub(super) fn probable_fault(self) -> Option<AuthorizationFault> {
        let is_quoted = [b'"', b'\'']
            .iter()
            .any(|mark| self.key.first() == Some(mark) && self.key.last() == Some(mark));
        is_quoted.then_some(AuthorizationFault::Quoted)
    }
}

fn fault_without_key(value: &[u8]) -> AuthorizationFault {
    let value = value.trim_ascii();
    match value.iter().position(u8::is_ascii_whitespace) {
        _ if value.eq_ignore_ascii_case(SCHEME.trim_ascii()) => AuthorizationFault::NoKey,
        Some(_) => AuthorizationFault::OtherScheme,
        None => AuthorizationFault::NoScheme,
    }
}

fn fault_of_malformed(key: &[u8]) -> AuthorizationFault {
    let has_scheme = |part: &[u8]| {
        let start = part.trim_ascii_start().get(..SCHEME.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(SCHEME))
    };
    if has_scheme(key) {
        AuthorizationFault::TwoSchemes
    } else if key.split(|byte| *byte == b',').any(has_scheme) {
        AuthorizationFault::Repeated
    } else {
        AuthorizationFault::NotVisible
    }
}

#[cfg(test)]
mod tests {
    use lambda_http::http::HeaderValue;

    use super::*;
    use crate::problem::UnauthorizedReason;

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
    }

    fn fault_of(value: &str) -> AuthorizationFault {
        Credentials::read(&headers(value)).err().unwrap()
    }

    #[test]
    fn key_follows_the_bearer_scheme_in_any_case() {
        for value in ["Bearer k", "bearer k", "BEARER  k "] {
            let headers = headers(value);
            let credentials = Credentials::read(&headers).unwrap();
            assert_eq!(credentials.hash(), KeyHash::from_key("k"), "{value}");
            assert_eq!(credentials.probable_fault(), None);
        }
    }

    #[test]
    fn header_without_a_key_has_its_fault() {
        let none = Credentials::read(&HeaderMap::new()).err().unwrap();
        assert_eq!(none, AuthorizationFault::NoHeader);
        for (value, fault) in [
            ("", AuthorizationFault::NoScheme),
            ("k", AuthorizationFault::NoScheme),
            ("a-longer-key", AuthorizationFault::NoScheme),
            ("Bearer", AuthorizationFault::NoKey),
            ("bearer ", AuthorizationFault::NoKey),
            ("Basic a2V5", AuthorizationFault::OtherScheme),
            ("Bearers k", AuthorizationFault::OtherScheme),
        ] {
            assert_eq!(fault_of(value), fault, "{value}");
            assert_eq!(fault.reason(), UnauthorizedReason::Missing);
        }
    }

    #[test]
    fn header_with_a_malformed_key_has_its_fault() {
        for (value, fault) in [
            ("Bearer a b", AuthorizationFault::NotVisible),
            ("Bearer ä", AuthorizationFault::NotVisible),
            ("Bearer Bearer k", AuthorizationFault::TwoSchemes),
            ("Bearer bearer k", AuthorizationFault::TwoSchemes),
            ("Bearer a,Bearer b", AuthorizationFault::Repeated),
            ("Bearer a, bearer b", AuthorizationFault::Repeated),
        ] {
            assert_eq!(fault_of(value), fault, "{value}");
            assert_eq!(fault.reason(), UnauthorizedReason::Malformed);
        }
    }

    #[test]
    fn key_in_quotation_marks_is_looked_up_as_it_is() {
        for key in ["\"k\"", "'k'"] {
            let headers = headers(&format!("Bearer {key}"));
            let credentials = Credentials::read(&headers).unwrap();
            assert_eq!(credentials.hash(), KeyHash::from_key(key));
            assert_eq!(
                credentials.probable_fault(),
                Some(AuthorizationFault::Quoted)
            );
        }
    }
}
