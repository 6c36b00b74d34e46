//! What API Gateway does in front of the functions: it takes the requests for the template's routes
//! to them, answers all others itself, and now and then also one of these, and adds the CORS
//! headers. It keeps what it has seen for the inspector. Must not know what a request means.

use std::borrow::Cow;
use std::net::TcpListener;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::handler::HandlerWithoutStateExt as _;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, Response, StatusCode};
use axum::serve::ListenerExt as _;
use emulator::template::Route;

use crate::api_key::{Keys, why_missing};
use crate::contracts::Contracts;
use crate::cors::CorsPolicy;
use crate::deferred::DeferredSignals;
use crate::event;
use crate::exchange::Exchange;
use crate::functions::Functions;
use crate::history::{History, Kept};
use crate::injected::{self, Injected, InjectedShare};
use crate::log::{self, RequestLog};
use crate::outcome::Outcome;
use crate::own_names::OwnNames;
use crate::request_line::line;
use crate::sent::Sent;

/// How long API Gateway waits for a function.
const INTEGRATION_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest body that API Gateway takes, in bytes ("Amazon API Gateway quotas").
const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;

/// What the line of a request says when the answer is not the function's.
const BY_OPTION: &str = "because of --answer";

/// What tells of a request what its response does not.
#[derive(Default)]
pub(crate) struct Sources {
    /// Where each request has a line, if it has one.
    pub(crate) log: Option<RequestLog>,
    pub(crate) keys: Option<Keys>,
    pub(crate) deferred: Option<DeferredSignals>,
    pub(crate) contracts: Option<Contracts>,
}

#[derive(Default)]
pub(crate) struct Gateway {
    /// Once they run.
    pub(crate) functions: OnceLock<Functions>,
    pub(crate) routes: Vec<Route>,
    pub(crate) names: OwnNames,
    pub(crate) cors: CorsPolicy,
    /// Answers that are given in place of the functions'.
    pub(crate) injected: Vec<InjectedShare>,
    pub(crate) sources: Sources,
    pub(crate) history: History,
}

impl Gateway {
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
        let sent = Sent {
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body,
        };
        self.exchange(sent)
            .await
            .exchange
            .response
            .clone()
            .map(Body::from)
    }

    /// Answers a request, and keeps both.
    pub(crate) async fn exchange(&self, sent: Sent) -> Arc<Kept> {
        let start = Instant::now();
        let added = self.cors.headers_for(&sent.method, &sent.headers);
        let refusal = self.cors.refusal(&sent.method, &sent.headers);
        let expected = self.sources.log.as_ref().map(RequestLog::expect);
        let (mut response, note) = self.respond(&sent).await;
        let duration = start.elapsed();
        let logged = match expected {
            Some(expected) => expected.reason(response.headers()).await,
            None => None,
        };
        let logged = logged.map(|why| {
            if why == "missing" {
                why_missing(&sent.headers)
            } else {
                why
            }
        });
        let reasons: Vec<_> = [logged, note.map(Cow::into_owned), refusal]
            .into_iter()
            .flatten()
            .collect();
        let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        response.headers_mut().extend(added);
        let outcome = Outcome::parse(
            response.status().as_u16(),
            response.body(),
            reason.as_deref(),
        );
        let key = self
            .sources
            .keys
            .as_ref()
            .map(|keys| keys.read(&sent.headers))
            .unwrap_or_default();
        let (account, identifier) = (
            key.account.as_deref(),
            outcome.request_identifier.as_deref(),
        );
        let taken = self
            .sources
            .deferred
            .as_ref()
            .map(|deferred| deferred.take(account, identifier));
        let mut exchange = Exchange::new(
            sent,
            (response, outcome),
            duration,
            (reason, key),
            &taken.unwrap_or_default(),
        );
        if let Some(contracts) = &self.sources.contracts {
            contracts.judge(&mut exchange.signals).await;
        }
        if self.sources.log.is_some() {
            log::write(&line(&exchange, log::has_colours()));
        }
        self.history.add(exchange)
    }

    /// The response, and what the line of the request says about it.
    async fn respond(&self, sent: &Sent) -> (Response<Bytes>, Option<Cow<'static, str>>) {
        if !self.names.include_host_of(&sent.headers) {
            let why = "the Host is another one: see --host-name";
            return (
                own_response(StatusCode::FORBIDDEN, "Forbidden"),
                Some(why.into()),
            );
        }
        if sent.body.is_none() {
            let response = own_response(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large");
            return (response, Some("larger than 10 MB".into()));
        }
        let method = &sent.method;
        let Some(function) = self.function_of(method, sent.uri.path()) else {
            return (
                own_response(StatusCode::NOT_FOUND, "Not Found"),
                Some(self.no_such_path(sent).into()),
            );
        };
        // A page would learn only that its request failed.
        let injected = if *method == Method::OPTIONS {
            None
        } else {
            injected::choose(&self.injected, fastrand::f64())
        };
        let (status, message) = match injected {
            None => return (self.forward(sent, function).await, None),
            Some(Injected::TooManyRequests) => (StatusCode::TOO_MANY_REQUESTS, "Too Many Requests"),
            Some(Injected::Unavailable | Injected::Timeout) => {
                (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable")
            }
        };
        if injected == Some(Injected::Timeout) {
            tokio::join!(
                self.forward(sent, function),
                tokio::time::sleep(INTEGRATION_TIMEOUT)
            );
        }
        (own_response(status, message), Some(BY_OPTION.into()))
    }

    /// Why no function gets this request.
    fn no_such_path(&self, sent: &Sent) -> String {
        let path = sent.uri.path();
        let mistake = match path.strip_suffix('/') {
            _ if path.starts_with("//") => "remove the slash at the end of the base address: ",
            Some(path) if self.routes.iter().any(|route| route.path == path) => {
                "remove the slash at the end: "
            }
            _ if sent.method == Method::OPTIONS => "a page learns only that its request failed: ",
            _ => "",
        };
        let mut paths: Vec<_> = self
            .routes
            .iter()
            .map(|route| route.path.as_str())
            .collect();
        paths.dedup();
        format!("no such path: {mistake}the paths are {}", paths.join(", "))
    }

    /// The function that gets such requests, by its name in the template.
    pub(crate) fn function_of(&self, method: &Method, path: &str) -> Option<&str> {
        let is_method = |route: &Route| route.method == "ANY" || route.method == method.as_str();
        let route = self
            .routes
            .iter()
            .find(|route| route.path == path && is_method(route));
        route.map(|route| route.function.as_str())
    }

    /// The response of a function.
    pub(crate) async fn forward(&self, sent: &Sent, function: &str) -> Response<Bytes> {
        let unavailable = || own_response(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable");
        let Some(functions) = self.functions.get() else {
            return unavailable();
        };
        let id = format!("{:016x}", fastrand::u64(..));
        let event = event::event(sent, &id, |_, value| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        });
        let Ok(event) = serde_json::to_vec(&event) else {
            return unavailable();
        };
        match tokio::time::timeout(INTEGRATION_TIMEOUT, functions.invoke(function, event)).await {
            Ok(returned) => returned
                .and_then(|returned| event::response(&returned))
                .unwrap_or_else(|| {
                    own_response(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
                }),
            Err(_) => unavailable(),
        }
    }
}

/// A response in the shape that API Gateway's own responses have.
fn own_response(status: StatusCode, message: &str) -> Response<Bytes> {
    let mut response = Response::new(format!("{{\"message\":\"{message}\"}}").into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests;
