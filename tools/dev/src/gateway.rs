//! What API Gateway does in front of the functions. The gateway forwards requests for the template's
//! routes to them, answers all others itself, and adds the [CORS headers](cors). With `--answer`, it
//! also gives [answers](injected_answer) in place of the functions'. [`server`] accepts the
//! connections. The gateway keeps each request and its response for the inspector.
//!
//! It must not know what a request means.

mod answer;
pub(crate) mod cors;
pub(crate) mod injected_answer;
pub(crate) mod own_names;
pub(crate) mod server;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response, StatusCode};
use emulator::template::Route;
use service::problem::UnauthorizedReason;

use self::answer::{GatewayAnswer, own_response};
use crate::exchange::api_key::{ApiKeyTable, why_missing};
use crate::exchange::lambda_event::lambda_event;
use crate::exchange::recent_exchanges::{KeptExchange, RecentExchanges};
use crate::exchange::request_line::line;
use crate::exchange::sent_request::SentRequest;
use crate::exchange::{Exchange, Seen};
use crate::functions::{Functions, Reason};
use crate::gateway::cors::CorsPolicy;
use crate::gateway::injected_answer::{InjectedAnswer, InjectedShare, choose};
use crate::gateway::own_names::OwnNames;
use crate::gateway::server::{Client, Server};
use crate::programs::contracts::ContractsProgram;
use crate::terminal::{has_colours, print_with_time};

/// How long API Gateway waits for a function.
const INTEGRATION_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest body that API Gateway takes, in bytes ("Amazon API Gateway quotas").
const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;

/// What the line of a request says when the answer is not the function's.
const BY_OPTION: &str = "because of --answer";

/// What API Gateway says when a function has not answered in time.
const UNAVAILABLE: &str = "Service Unavailable";

/// What API Gateway says when a function failed.
const INTERNAL_SERVER_ERROR: &str = "Internal Server Error";

/// What the gateway asks about a request beside the function.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) keys: Option<ApiKeyTable>,
    pub(crate) contracts: Option<ContractsProgram>,
}

pub(crate) struct Gateway {
    pub(crate) functions: Functions,
    pub(crate) routes: Vec<Route>,
    pub(crate) names: OwnNames,
    pub(crate) cors: CorsPolicy,
    /// Answers that are given in place of the functions'.
    pub(crate) injected: Vec<InjectedShare>,
    pub(crate) sources: Sources,
    /// Whether each request has a line.
    pub(crate) has_lines: bool,
    pub(crate) exchanges: RecentExchanges,
}

impl Gateway {
    /// Answers on `listener`.
    ///
    /// # Errors
    /// The runtime cannot watch the listener.
    pub(crate) fn serve(self: &Arc<Self>, listener: TcpListener) -> Result<Server> {
        let gateway = Arc::clone(self);
        Server::start(listener, move |request, client| {
            Arc::clone(&gateway).answer(request, client)
        })
    }

    async fn answer(self: Arc<Self>, request: Request, client: Client) -> Response<Body> {
        let sent = receive(request).await;
        if sent.body.is_none() && client.has_left() {
            // The client left before it had sent the whole request, which goes to no function.
            return Response::default();
        }
        let response = match self.exchange(sent, Some(client)).await {
            Some(kept) => kept.exchange.response.clone(),
            None => own_response(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_SERVER_ERROR),
        };
        response.map(Body::from)
    }

    /// Answers a request, and keeps it with its response. This goes on when the future is dropped,
    /// as when the page of the inspector is closed while it sends a request again. A request of the
    /// inspector has no client. `None` after a defect of this program.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        sent: SentRequest,
        client: Option<Client>,
    ) -> Option<Arc<KeptExchange>> {
        let gateway = Arc::clone(self);
        let exchange = tokio::spawn(async move {
            let mut exchange = gateway.answered(sent, client.as_ref()).await;
            exchange.has_left = client.is_some_and(|client| client.has_left());
            gateway.keep(exchange)
        });
        exchange.await.ok()
    }

    /// Answers a request, and says what became of it.
    async fn answered(&self, sent: SentRequest, client: Option<&Client>) -> Exchange {
        let start = Instant::now();
        let added = self.cors.headers_for(&sent.method, &sent.headers);
        let refusal = self.cors.refusal(&sent.method, &sent.headers);
        let mut answer = self.respond(&sent, client).await;
        let duration = start.elapsed();
        answer.response.headers_mut().extend(added);
        let reasons: Vec<_> = answer.reason.into_iter().chain(refusal).collect();
        let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        let keys = self.sources.keys.as_ref();
        let key = keys.map(|keys| keys.read(&sent.headers));
        let mut exchange = Exchange::new(Seen {
            sent,
            response: answer.response,
            duration,
            reason,
            key: key.unwrap_or_default(),
            batch: answer.batch,
        });
        if let Some(contracts) = &self.sources.contracts {
            contracts.judge(&mut exchange.signals).await;
        }
        exchange
    }

    fn keep(&self, exchange: Exchange) -> Arc<KeptExchange> {
        if self.has_lines {
            print_with_time(&line(&exchange, has_colours()));
        }
        self.exchanges.add(exchange)
    }

    async fn respond(&self, sent: &SentRequest, client: Option<&Client>) -> GatewayAnswer {
        if !self.names.include_host_of(&sent.headers) {
            let why = "the Host is another one: see --host-name".to_owned();
            return GatewayAnswer::own(StatusCode::FORBIDDEN, "Forbidden", Some(why));
        }
        if sent.body.is_none() {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            let why = "larger than 10 MB".to_owned();
            return GatewayAnswer::own(status, "Request Entity Too Large", Some(why));
        }
        let method = &sent.method;
        let Some(function) = self.function_of(method, sent.uri.path()) else {
            let why = self.no_such_path(sent);
            return GatewayAnswer::own(StatusCode::NOT_FOUND, "Not Found", Some(why));
        };
        match self.choose_injected(method) {
            Some(injected) => self.inject(injected, sent, function, client).await,
            None => self.forward(sent, function).await,
        }
    }

    /// The answer that is given in place of the function's, if it is the turn of one.
    fn choose_injected(&self, method: &Method) -> Option<InjectedAnswer> {
        // After a failed preflight, a page learns only that its request failed.
        if *method == Method::OPTIONS {
            return None;
        }
        choose(&self.injected, fastrand::f64())
    }

    async fn inject(
        &self,
        injected: InjectedAnswer,
        sent: &SentRequest,
        function: &str,
        client: Option<&Client>,
    ) -> GatewayAnswer {
        let why = Some(BY_OPTION.to_owned());
        match injected {
            InjectedAnswer::TooManyRequests => {
                GatewayAnswer::own(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests", why)
            }
            InjectedAnswer::Unavailable => {
                GatewayAnswer::own(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, why)
            }
            InjectedAnswer::Timeout => {
                let (answer, ()) = tokio::join!(self.forward(sent, function), time_out(client));
                // The function has done its work: what became of its signals is shown.
                GatewayAnswer {
                    batch: answer.batch,
                    ..GatewayAnswer::own(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, why)
                }
            }
        }
    }

    /// Why no function gets this request.
    fn no_such_path(&self, sent: &SentRequest) -> String {
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
    fn function_of(&self, method: &Method, path: &str) -> Option<&str> {
        let is_method = |route: &Route| route.method == "ANY" || route.method == method.as_str();
        let route = self
            .routes
            .iter()
            .find(|route| route.path == path && is_method(route));
        route.map(|route| route.function.as_str())
    }

    /// The answer of a function.
    async fn forward(&self, sent: &SentRequest, function: &str) -> GatewayAnswer {
        let failed = || {
            GatewayAnswer::own(
                StatusCode::INTERNAL_SERVER_ERROR,
                INTERNAL_SERVER_ERROR,
                None,
            )
        };
        let id = format!("{:016x}", fastrand::u64(..));
        let event = lambda_event(sent, &id, |_, value| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        });
        let Ok(event) = serde_json::to_vec(&event) else {
            return failed();
        };
        let handled = self.functions.handle(function, event);
        match tokio::time::timeout(INTEGRATION_TIMEOUT, handled).await {
            Ok(Some(handled)) => GatewayAnswer {
                response: handled.response,
                reason: handled.reason.map(|why| why_answered(&why, sent)),
                batch: handled.batch,
            },
            Ok(None) => failed(),
            Err(_) => GatewayAnswer::own(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, None),
        }
    }
}

/// Waits as long as API Gateway waits for a function, or until the client has left.
async fn time_out(client: Option<&Client>) {
    let wait = tokio::time::sleep(INTEGRATION_TIMEOUT);
    match client {
        Some(client) => tokio::select! {
            () = wait => {}
            () = client.left() => {}
        },
        None => wait.await,
    }
}

/// Reads a request with its body.
async fn receive(request: Request) -> SentRequest {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY_BYTES).await;
    SentRequest {
        method: head.method,
        uri: head.uri,
        headers: head.headers,
        body: body.ok(),
    }
}

fn why_answered(reason: &Reason, sent: &SentRequest) -> String {
    match reason {
        Reason::Unauthorized(UnauthorizedReason::Missing) => why_missing(&sent.headers),
        Reason::Unauthorized(reason) => reason.as_str().to_owned(),
        Reason::Store(error) => format!("DynamoDB: {error}"),
    }
}

#[cfg(test)]
mod tests;
