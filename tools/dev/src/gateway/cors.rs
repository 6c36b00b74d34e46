//! The headers that API Gateway adds for browser pages of other origins, as the template's
//! `CorsConfiguration` has them. The functions respond to preflights themselves, as they do behind API
//! Gateway, whose routes have the method ANY. Must not know which functions there are.

pub(crate) mod allowed_origin;

use self::allowed_origin::AllowedOrigin;
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
    pub(crate) origins: Vec<AllowedOrigin>,
}

impl CorsPolicy {
    /// The headers that API Gateway adds to the response. It adds none if the request has no
    /// `Origin`, or one that is not allowed.
    pub(crate) fn headers_for(&self, method: &Method, request: &HeaderMap) -> HeaderMap {
        let Some(origin) = request
            .get(ORIGIN)
            .and_then(|origin| self.allow_origin_for(origin))
        else {
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
        let origin = text(ORIGIN)?;
        let header = request.get(ORIGIN)?;
        if self.allow_origin_for(header).is_none() {
            let advice = match AllowedOrigin::parse(origin) {
                Ok(_) => format!("add --cors {origin}"),
                Err(why) => why,
            };
            return Some(format!("browser page at {origin} is not allowed: {advice}"));
        }
        if method != Method::OPTIONS {
            return None;
        }
        let asked_method = text(ACCESS_CONTROL_REQUEST_METHOD)?;
        let asked_headers = text(ACCESS_CONTROL_REQUEST_HEADERS).unwrap_or_default();
        self.method_refusal(asked_method)
            .or_else(|| self.header_refusal(asked_headers))
    }

    /// Why a page may not send a request with this method, if it may not.
    fn method_refusal(&self, method: &str) -> Option<String> {
        let allowed = self.preflight_header(&ACCESS_CONTROL_ALLOW_METHODS);
        // The case counts: a browser sends `patch` as it is.
        let is_allowed = |one: &str| one == "*" || one == method;
        if method.is_empty() || allowed.split(',').any(is_allowed) {
            return None;
        }
        Some(format!(
            "no page may send the method {method}, so the browser sends no request: allowed are {allowed}"
        ))
    }

    /// Why a page may not send a request with these headers, if it may not.
    fn header_refusal(&self, headers: &str) -> Option<String> {
        let allowed = self.preflight_header(&ACCESS_CONTROL_ALLOW_HEADERS);
        let is_allowed = |header: &str| {
            let mut names = allowed.split(',');
            names.any(|one| one == "*" || one.eq_ignore_ascii_case(header))
        };
        let mut headers = headers.split(',').map(str::trim);
        let refused_header = headers.find(|header| !header.is_empty() && !is_allowed(header))?;
        Some(format!(
            "no page may send the header {refused_header}, so the browser sends no request: add --cors-header {refused_header}"
        ))
    }

    /// The value of a header of preflights, or nothing if the template has none.
    fn preflight_header(&self, name: &HeaderName) -> &str {
        let mut headers = self.cors.preflight.iter();
        let found = headers.find(|(header, _)| name == *header);
        found.map_or("", |(_, value)| value)
    }

    /// The value of `access-control-allow-origin` for a page of `origin`, if it is allowed.
    fn allow_origin_for(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        let text = origin.to_str().ok()?;
        let matching = self.origins.iter().find(|allowed| allowed.includes(text))?;
        Some(match matching {
            AllowedOrigin::Every => HeaderValue::from_static("*"),
            _ => origin.clone(),
        })
    }
}
