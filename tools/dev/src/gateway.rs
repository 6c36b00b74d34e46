//! What API Gateway does in front of the functions: it takes the requests for the template's routes to them, answers all
//! others itself, and now and then also one of these, and adds the CORS headers. It keeps what it has seen for the inspector. Must not
//! know what a request means.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::handler::HandlerWithoutStateExt as _;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use axum::http::uri::{PathAndQuery, Scheme, Uri};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::serve::ListenerExt as _;
use emulator::template::Route;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::cors::CorsPolicy;
use crate::exchange::{Exchange, Explanation, Sent};
use crate::history::{History, Kept};
use crate::injected::{self, Injected, InjectedShare};
use crate::log::{self, RequestLog};
use crate::request_line::line;

/// How long API Gateway waits for a function.
const INTEGRATION_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest body that API Gateway takes, in bytes ("Amazon API Gateway quotas").
const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;

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
    pub(crate) history: History,
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
            history: History::default(),
        }
    }

    /// Answers on `listener` until the runtime ends.
    ///
    /// # Errors
    /// The runtime cannot watch the listener.
    pub(crate) fn serve(self: &Arc<Self>, listener: TcpListener) -> Result<()> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
            // Without it, a response may only be a little later.
            let _ = stream.set_nodelay(true);
        });
        let gateway = Arc::clone(self);
        let handle = move |request: Request| {
            let gateway = Arc::clone(&gateway);
            async move { gateway.answer(request).await }
        };
        tokio::spawn(axum::serve(listener, handle.into_make_service()).into_future());
        Ok(())
    }

    async fn answer(&self, request: Request) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(body, MAX_BODY_BYTES).await.ok();
        let sent = Sent { method: head.method, uri: head.uri, headers: head.headers, body };
        self.exchange(sent).await.exchange.response.clone().map(Body::from)
    }

    /// Answers a request, and keeps both.
    pub(crate) async fn exchange(&self, sent: Sent) -> Arc<Kept> {
        let start = Instant::now();
        let added = self.cors.headers_for(&sent.method, &sent.headers);
        let refused_page = self.cors.refused_origin(&sent.headers);
        let expected = self.log.as_ref().map(RequestLog::expect);
        let (mut response, note) = self.respond(&sent).await;
        let duration = start.elapsed();
        let mut why = match expected {
            Some(expected) => expected.explanation(response.headers()).await,
            None => Explanation::default(),
        };
        why.reason = why.reason.or_else(|| note.map(str::to_owned)).or_else(|| {
            refused_page.map(|origin| format!("browser page at {origin} is not allowed: add --cors {origin}"))
        });
        response.headers_mut().extend(added);
        let exchange = Exchange { sent, response, duration, why };
        if self.log.is_some() {
            log::write(&line(&exchange));
        }
        self.history.add(exchange)
    }

    /// The response, and what the line of the request says about it.
    async fn respond(&self, sent: &Sent) -> (Response<Bytes>, Option<&'static str>) {
        let Some(body) = &sent.body else {
            let response = own_response(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large");
            return (response, Some("larger than 10 MB"));
        };
        let method = &sent.method;
        if !self.has_route(method, sent.uri.path()) {
            let note = match *method {
                Method::OPTIONS => "no such path: a page learns only that its request failed",
                _ => "no such path",
            };
            return (own_response(StatusCode::NOT_FOUND, "Not Found"), Some(note));
        }
        // A page would learn only that its request failed.
        let injected =
            if *method == Method::OPTIONS { None } else { injected::choose(&self.injected, fastrand::f64()) };
        match injected {
            None => (self.forward(sent, body).await, None),
            Some(Injected::TooManyRequests) => {
                (own_response(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests"), Some(BY_OPTION))
            }
            Some(Injected::Unavailable) => {
                (own_response(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"), Some(BY_OPTION))
            }
            Some(Injected::Timeout) => {
                let (_, ()) = tokio::join!(self.forward(sent, body), tokio::time::sleep(INTEGRATION_TIMEOUT));
                (own_response(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"), Some(BY_OPTION))
            }
        }
    }

    fn has_route(&self, method: &Method, path: &str) -> bool {
        let is_method = |route: &Route| route.method == "ANY" || route.method == method.as_str();
        self.routes.iter().any(|route| route.path == path && is_method(route))
    }

    async fn forward(&self, sent: &Sent, body: &Bytes) -> Response<Bytes> {
        let path = sent.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.functions.as_str()).path_and_query(path);
        let Ok(uri) = uri.build() else { return own_response(StatusCode::BAD_REQUEST, "Bad Request") };
        let mut request = Request::new(Body::from(body.clone()));
        *request.method_mut() = sent.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = sent.headers.clone();
        // The client sets what belongs to this body, which may be another than the one that was sent at first.
        for header in [CONTENT_LENGTH, TRANSFER_ENCODING] {
            request.headers_mut().remove(header);
        }
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
