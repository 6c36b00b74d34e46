//! The guard of the inspector refuses requests that other pages in the developer's browser make, but for a link
//! to the page.
//! Must not know what the inspector responds.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, Response, StatusCode};
use axum::middleware::Next;
use axum::response::IntoResponse as _;

use super::response::ApiError;
use crate::gateway::host_names::HostNames;

/// The header that a request must have to change something. Another page cannot send it without a
/// preflight, which the inspector refuses.
const OWN_HEADER: &str = "x-intake-inspector";

/// Refuses requests of other pages, but for a link, and requests to other names, and adds the headers that every
/// response has.
pub(super) async fn guard(host_names: HostNames, request: Request, next: Next) -> Response<Body> {
    let mut response = match why_forbidden(&host_names, &request) {
        Some(why) => ApiError::new(StatusCode::FORBIDDEN, why).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Why a request is refused, if it is.
fn why_forbidden(host_names: &HostNames, request: &Request) -> Option<&'static str> {
    let headers = request.headers();
    let has = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    // A link on another site may lead to the page, in a tab of its own: that site cannot read it.
    let opens_page = *request.method() == Method::GET
        && request.uri().path() == "/"
        && has("sec-fetch-dest", "document");
    if has("sec-fetch-site", "cross-site") && !opens_page {
        return Some("The inspector refuses requests from pages of other sites.");
    }
    if !host_names.include_host_of(request.uri(), headers) {
        return Some(
            "The inspector accepts these hosts: localhost, IP addresses, and each --host-name.",
        );
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if changes && !headers.contains_key(OWN_HEADER) {
        return Some("This request needs the header X-Intake-Inspector: 1.");
    }
    None
}
