//! The inspector: a page and a JSON API that show what clients sent to the local stack, and what
//! became of it (docs/clients.md, Inspector). It listens on a port of its own, and must not know how
//! the gateway answers.
//!
//! Bodies are hostile, and the developer's browser has other pages open. Therefore the page may run
//! only its own script, and requests are answered only under the stack's own names, against DNS
//! rebinding. A request that changes something needs a header that another page cannot send without
//! a preflight, which is refused here.

mod query;
mod requests;
mod signals;
mod stored;

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::middleware::{self, Next};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use data_encoding::BASE64;
use emulator::development_key::API_KEY;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use self::query::{AccountQuery, Nothing};
use self::requests::{clear, lambda_event, list, one, replay};
use self::signals::{counts, reset, signals};
pub(crate) use self::stored::StoredData;
use crate::gateway::Gateway;
use crate::gateway::host_names::HostNames;
use crate::stand_ins::overflow_queue::QueueHandle;

const PAGE: &str = include_str!("inspector/page.html");

/// The header that a request must have to change something.
const OWN_HEADER: &str = "x-intake-inspector";

/// The largest body that is sent again with changes, in bytes: more than the functions accept.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// What the page and the API need.
pub(crate) struct Inspector {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) host_names: HostNames,
    pub(crate) stored: StoredData,
    pub(crate) queue: Option<QueueHandle>,
    /// The port of the API, which the page shows in its first example.
    pub(crate) api_port: u16,
}

type Shared = State<Arc<Inspector>>;

impl Inspector {
    /// Answers on `listener` until the runtime ends.
    ///
    /// # Errors
    /// The runtime cannot watch the listener.
    pub(crate) fn serve(self, listener: TcpListener) -> Result<()> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let host_names = self.host_names.clone();
        let routes = Router::new()
            .route("/", get(page))
            .route("/requests", get(list).delete(clear))
            .route("/requests/{n}", get(one))
            .route("/requests/{n}/event", get(lambda_event))
            .route("/requests/{n}/replay", post(replay))
            .route("/signals", get(signals))
            .route("/counts", get(counts))
            .route("/reset", post(reset))
            .route("/accounts", get(accounts))
            .route("/customers/{id}", get(customer))
            .route("/rejected", get(rejected))
            .route("/rejected/redrive", post(redrive))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .layer(middleware::from_fn(move |request, next| {
                guard(host_names.clone(), request, next)
            }))
            .with_state(Arc::new(self));
        tokio::spawn(axum::serve(listener, routes).into_future());
        Ok(())
    }
}

/// Refuses requests of other pages and requests to other names, and adds the headers that every
/// response has.
async fn guard(host_names: HostNames, request: Request, next: Next) -> Response<Body> {
    let mut response = match why_forbidden(&host_names, &request) {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
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
    let site = headers.get("sec-fetch-site");
    if site.is_some_and(|site| site == "cross-site") {
        return Some("The inspector answers no page of another site.");
    }
    if !host_names.include_host_of(headers) {
        return Some("The inspector answers to localhost, to addresses, and to each --host-name.");
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if changes && !headers.contains_key(OWN_HEADER) {
        return Some("This request needs the header X-Intake-Inspector: 1.");
    }
    None
}

async fn page(State(inspector): Shared, headers: HeaderMap) -> Response<Body> {
    // The script and the style are allowed by their hash, so that nothing that a client sent can run
    // or restyle the page.
    let hash = |tag: &str| {
        let inside = PAGE
            .split_once(&format!("<{tag}>"))
            .and_then(|(_, rest)| rest.split_once(&format!("</{tag}>")));
        BASE64.encode(&Sha256::digest(inside.map_or("", |(inside, _)| inside)))
    };
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash("script"),
        hash("style")
    );
    // A browser that reached the page under this name reaches the API under it too.
    let host = headers
        .get(HOST)
        .and_then(|host| Some(host.to_str().ok()?.rsplit_once(':')?.0))
        .unwrap_or("127.0.0.1");
    let base_url = format!("http://{host}:{}", inspector.api_port);
    let page = PAGE
        .replace("%BASE_URL%", &base_url)
        .replace("%API_KEY%", API_KEY);
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (CONTENT_SECURITY_POLICY, policy),
    ];
    (headers, page).into_response()
}

/// The error for an account that has no key. Without it, an assertion about a misspelt account would
/// pass.
fn unknown_account(inspector: &Inspector, wanted: Option<&str>) -> Option<Response<Body>> {
    let wanted = wanted?;
    let accounts = match inspector.stored.accounts() {
        Ok(accounts) => accounts,
        Err(error) => return Some(output(Err(error))),
    };
    if accounts.contains(wanted) {
        return None;
    }
    let known = Vec::from_iter(accounts).join(", ");
    let why = format!("account: no key belongs to this account; there are {known}");
    Some((StatusCode::BAD_REQUEST, why).into_response())
}

async fn customer(
    State(inspector): Shared,
    Path(id): Path<String>,
    Query(wanted): Query<AccountQuery>,
) -> Response<Body> {
    if let Some(response) = unknown_account(&inspector, Some(wanted.account.as_str())) {
        return response;
    }
    output(inspector.stored.customer(&wanted.account, &id))
}

async fn rejected(State(inspector): Shared, Query(wanted): Query<AccountQuery>) -> Response<Body> {
    if let Some(response) = unknown_account(&inspector, Some(wanted.account.as_str())) {
        return response;
    }
    output(inspector.stored.rejected(&wanted.account))
}

async fn redrive(
    State(inspector): Shared,
    Query(wanted): Query<AccountQuery>,
    signal: String,
) -> Response<Body> {
    if let Some(response) = unknown_account(&inspector, Some(wanted.account.as_str())) {
        return response;
    }
    output(inspector.stored.redrive(&wanted.account, &signal).await)
}

async fn accounts(State(inspector): Shared, Query(Nothing {}): Query<Nothing>) -> Response<Body> {
    match inspector.stored.accounts() {
        Ok(accounts) => json_body(&accounts),
        Err(error) => output(Err(error)),
    }
}

/// What is stored, or what a command of the operator printed: no digit of a number changes.
fn output(result: Result<String>) -> Response<Body> {
    match result {
        Ok(json) => ([(CONTENT_TYPE, "application/json")], json).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response(),
    }
}

fn json_body(value: &impl Serialize) -> Response<Body> {
    output(serde_json::to_string(value).map_err(Into::into))
}
