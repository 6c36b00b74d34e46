//! The page of the inspector. Its script shows the responses of the inspector's API. Must not know what
//! that is.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse as _;
use data_encoding::BASE64;
use emulator::development_key::API_KEY;
use sha2::{Digest as _, Sha256};

use super::Shared;

const PAGE: &str = include_str!("page/page.html");
/// One script, whose parts use each other.
const SCRIPT: &str = concat!(
    include_str!("page/common.js"),
    include_str!("page/json_text.js"),
    include_str!("page/rows.js"),
    include_str!("page/filter.js"),
    include_str!("page/list.js"),
    include_str!("page/lists.js"),
    include_str!("page/detail.js"),
    include_str!("page/signal.js"),
    include_str!("page/curl.js"),
    include_str!("page/editor.js"),
    include_str!("page/customers.js"),
    include_str!("page/rejected.js"),
    include_str!("page/keys.js"),
    include_str!("page/start.js"),
);
const STYLE: &str = concat!(
    include_str!("page/page.css"),
    include_str!("page/lists.css"),
);

pub(super) async fn page(State(inspector): Shared, headers: HeaderMap) -> Response<Body> {
    // A browser that reached the page under this name reaches the API under it too.
    let host = headers
        .get(HOST)
        .and_then(|host| Some(host.to_str().ok()?.rsplit_once(':')?.0))
        .unwrap_or("127.0.0.1");
    let base_url = format!("http://{host}:{}", inspector.api_port);
    let page = PAGE
        .replace("%BASE_URL%", &base_url)
        .replace("%API_KEY%", API_KEY)
        .replace("%STYLE%", STYLE)
        .replace("%SCRIPT%", SCRIPT);
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (CONTENT_SECURITY_POLICY, content_security_policy()),
    ];
    (headers, page).into_response()
}

/// Allows the script and the style by their hashes, so that nothing that a client sent can run in
/// the page or restyle it.
fn content_security_policy() -> String {
    let script = BASE64.encode(&Sha256::digest(SCRIPT));
    let style = BASE64.encode(&Sha256::digest(STYLE));
    format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}
