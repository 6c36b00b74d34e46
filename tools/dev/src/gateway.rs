//! What API Gateway does in front of the functions: it takes the requests for the template's routes to them, answers all
//! others itself, and now and then also one of these, and adds the CORS headers. Must not know what a request means.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::handler::HandlerWithoutStateExt as _;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::uri::{PathAndQuery, Scheme, Uri};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::serve::ListenerExt as _;
use emulator::template::Route;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::cors::CorsPolicy;
use crate::injected::{self, Injected, InjectedShare};
use crate::log::RequestLog;
use crate::request_line::Answered;

/// How long API Gateway waits for a function.
const INTEGRATION_TIMEOUT: Duration = Duration::from_secs(30);

/// What the line of a request says when the answer is not the function's.
const BY_OPTION: &str = "because of --answer";

pub(crate) struct Gateway {
    client: Client<HttpConnector, Body>,
    /// The address of the functions.
    functions: String,
    routes: Vec<Route>,
    cors: CorsPolicy,
    /// Answers that are given in place of the functions'.
    injected: Vec<InjectedShare>,
    /// Where each request has a line, if it has one.
    log: Option<RequestLog>,
}

impl Gateway {
    /// A gateway in front of the functions on `functions_port` of 127.0.0.1.
    pub(crate) fn new(
        functions_port: u16,
        routes: Vec<Route>,
        cors: CorsPolicy,
        injected: Vec<InjectedShare>,
        log: Option<RequestLog>,
    ) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            functions: format!("127.0.0.1:{functions_port}"),
            routes,
            cors,
            injected,
            log,
        }
    }

    /// Answers on `listener` until the runtime ends.
    ///
    /// # Errors
    /// The runtime cannot watch the listener.
    pub(crate) fn serve(self, listener: TcpListener) -> Result<()> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
            // Without it, a response may only be a little later.
            let _ = stream.set_nodelay(true);
        });
        let gateway = Arc::new(self);
        let handle = move |request: Request| {
            let gateway = Arc::clone(&gateway);
            async move { gateway.answer(request).await }
        };
        tokio::spawn(axum::serve(listener, handle.into_make_service()).into_future());
        Ok(())
    }

    async fn answer(&self, request: Request) -> Response<Body> {
        let start = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let added = self.cors.headers_for(&method, request.headers());
        let refused_page = self.cors.refused_origin(request.headers());
        let line = self.log.as_ref().map(RequestLog::expect);
        let (mut response, note) = self.respond(request).await;
        if let Some(line) = line {
            let note = note.map(str::to_owned).or_else(|| {
                refused_page.map(|origin| format!("browser page at {origin} is not allowed: add --cors {origin}"))
            });
            let (status, body) = (response.status(), response.body().clone());
            // Of a 401, the function logs the reason.
            let id = response.headers().get("x-request-id").filter(|_| status == StatusCode::UNAUTHORIZED);
            let id = id.and_then(|id| id.to_str().ok()).map(str::to_owned);
            line.answered(Answered { method, path, status, body, duration: start.elapsed(), note }, id);
        }
        response.headers_mut().extend(added);
        response.map(Body::from)
    }

    /// The response, and what the line of the request says about it.
    async fn respond(&self, request: Request) -> (Response<Bytes>, Option<&'static str>) {
        let method = request.method();
        if !self.has_route(method, request.uri().path()) {
            let note = match method {
                &Method::OPTIONS => "no such path: a page learns only that its request failed",
                _ => "no such path",
            };
            return (own_response(StatusCode::NOT_FOUND, "Not Found"), Some(note));
        }
        // A page would learn only that its request failed.
        let injected = if method == Method::OPTIONS { None } else { injected::choose(&self.injected, fastrand::f64()) };
        match injected {
            None => (self.forward(request).await, None),
            Some(Injected::TooManyRequests) => {
                (own_response(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests"), Some(BY_OPTION))
            }
            Some(Injected::Unavailable) => {
                (own_response(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"), Some(BY_OPTION))
            }
            Some(Injected::Timeout) => {
                let (_, ()) = tokio::join!(self.forward(request), tokio::time::sleep(INTEGRATION_TIMEOUT));
                (own_response(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"), Some(BY_OPTION))
            }
        }
    }

    fn has_route(&self, method: &Method, path: &str) -> bool {
        let is_method = |route: &Route| route.method == "ANY" || route.method == method.as_str();
        self.routes.iter().any(|route| route.path == path && is_method(route))
    }

    async fn forward(&self, mut request: Request) -> Response<Bytes> {
        let path = request.uri().path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.functions.as_str()).path_and_query(path);
        let Ok(uri) = uri.build() else { return own_response(StatusCode::BAD_REQUEST, "Bad Request") };
        *request.uri_mut() = uri;
        mark_as_binary(request.headers_mut());
        // The functions do not run yet, or are being stopped.
        let Ok(response) = self.client.request(request).await else {
            return own_response(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable");
        };
        let (head, body) = response.into_parts();
        match axum::body::to_bytes(Body::new(body), usize::MAX).await {
            Ok(body) => Response::from_parts(head, body),
            Err(_) => own_response(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
        }
    }
}

/// Has `cargo lambda watch` take a compressed body for binary: it answers 500 to one whose type begins with
/// `application/json` in lower case, because it takes it for text. Media types are not case-sensitive.
fn mark_as_binary(headers: &mut HeaderMap) {
    let rest = headers.get(CONTENT_TYPE).and_then(|value| value.as_bytes().strip_prefix(b"application/json"));
    let marked = rest.and_then(|rest| HeaderValue::from_bytes(&[b"Application/json", rest].concat()).ok());
    if let Some(marked) = marked.filter(|_| headers.contains_key(CONTENT_ENCODING)) {
        headers.insert(CONTENT_TYPE, marked);
    }
}

/// A response in the shape that API Gateway's own responses have.
fn own_response(status: StatusCode, message: &str) -> Response<Bytes> {
    let mut response = Response::new(format!("{{\"message\":\"{message}\"}}").into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests;
