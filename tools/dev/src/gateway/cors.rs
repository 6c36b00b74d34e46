//! The headers that API Gateway adds for browser pages of other origins, as the template's
//! `CorsConfiguration` has them. The functions answer preflights themselves, as they do behind API
//! Gateway, whose routes have the method ANY.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderName, ORIGIN,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use emulator::template::Cors;

/// Which pages may call the API, and what they may do.
#[derive(Clone, Default)]
pub(crate) struct CorsPolicy {
    pub(crate) cors: Cors,
    /// As in API Gateway, an origin may be `*`, or a scheme with it: `https://*`.
    pub(crate) origins: Vec<String>,
}

impl CorsPolicy {
    /// What API Gateway adds to the response: nothing without an Origin, nor for one that is not
    /// allowed.
    pub(crate) fn headers_for(&self, method: &Method, request: &HeaderMap) -> HeaderMap {
        let Some(origin) = request.get(ORIGIN).and_then(|origin| self.allowed(origin)) else {
            return HeaderMap::new();
        };
        let is_preflight =
            method == Method::OPTIONS && request.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let configured = if is_preflight {
            &self.cors.preflight
        } else {
            &self.cors.other
        };
        let configured = configured.iter().filter_map(|(name, value)| {
            Some((
                HeaderName::from_static(name),
                HeaderValue::from_str(value).ok()?,
            ))
        });
        configured
            .chain([(ACCESS_CONTROL_ALLOW_ORIGIN, origin)])
            .collect()
    }

    /// Why a browser keeps the response to this request from its page, if it does.
    pub(crate) fn refusal(&self, method: &Method, request: &HeaderMap) -> Option<String> {
        let text = |name| {
            request
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let (header, origin) = (request.get(ORIGIN)?, text(ORIGIN)?);
        if self.allowed(header).is_none() {
            return Some(format!(
                "browser page at {origin} is not allowed: add --cors {origin}"
            ));
        }
        let asked = text(ACCESS_CONTROL_REQUEST_METHOD).filter(|_| method == Method::OPTIONS)?;
        let headers = text(ACCESS_CONTROL_REQUEST_HEADERS)
            .unwrap_or_default()
            .split(',')
            .map(str::trim);
        let mut asked = std::iter::once(("method", ACCESS_CONTROL_ALLOW_METHODS, asked))
            .chain(headers.map(|name| ("header", ACCESS_CONTROL_ALLOW_HEADERS, name)));
        asked.find_map(|(what, list, name)| {
            let allowed = self.cors.preflight.iter().find(|(header, _)| list == *header).map_or("", |(_, names)| names);
            // Of a method, the case counts: a browser sends `patch` as it is.
            let is_name = |one: &str| one == name || (what == "header" && one.eq_ignore_ascii_case(name));
            let is_allowed = name.is_empty() || allowed.split(',').any(|one| one == "*" || is_name(one));
            (!is_allowed).then(|| {
                format!("no page may send the {what} {name}, so the browser sends no request: allowed are {allowed}")
            })
        })
    }

    /// The value of `access-control-allow-origin` for a page of `origin`, if it is allowed.
    fn allowed(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        let text = origin.to_str().ok()?;
        let matching = self
            .origins
            .iter()
            .find(|allowed| match allowed.strip_suffix('*') {
                Some(start) => text.starts_with(start),
                None => text == *allowed,
            })?;
        Some(if matching == "*" {
            HeaderValue::from_static("*")
        } else {
            origin.clone()
        })
    }
}
