//! The headers that API Gateway adds for browser pages of other origins, as the template's `CorsConfiguration` has them. The
//! functions answer preflights themselves, as they do behind API Gateway, whose routes have the method ANY.

use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_REQUEST_METHOD, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method};
use emulator::template::Cors;

/// Which pages may call the API, and what they may do.
#[derive(Default)]
pub(crate) struct CorsPolicy {
    pub(crate) cors: Cors,
    /// As in API Gateway, an origin may be `*`, or a scheme with it: `https://*`.
    pub(crate) origins: Vec<String>,
}

impl CorsPolicy {
    /// What API Gateway adds to the response: nothing without an Origin, nor for one that is not allowed.
    pub(crate) fn headers_for(&self, method: &Method, request: &HeaderMap) -> HeaderMap {
        let Some(origin) = request.get(ORIGIN).and_then(|origin| self.allowed(origin)) else { return HeaderMap::new() };
        let is_preflight = method == Method::OPTIONS && request.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let configured = if is_preflight { &self.cors.preflight } else { &self.cors.other };
        let configured = configured
            .iter()
            .filter_map(|(name, value)| Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?)));
        configured.chain([(ACCESS_CONTROL_ALLOW_ORIGIN, origin)]).collect()
    }

    /// The origin of a page that may not call the API.
    pub(crate) fn refused_origin(&self, request: &HeaderMap) -> Option<String> {
        let origin = request.get(ORIGIN)?;
        self.allowed(origin).is_none().then(|| origin.to_str().ok().map(str::to_owned))?
    }

    /// The value of `access-control-allow-origin` for a page of `origin`, if it is allowed.
    fn allowed(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        let text = origin.to_str().ok()?;
        let matching = self.origins.iter().find(|allowed| match allowed.strip_suffix('*') {
            Some(start) => text.starts_with(start),
            None => text == *allowed,
        })?;
        Some(if matching == "*" { HeaderValue::from_static("*") } else { origin.clone() })
    }
}
