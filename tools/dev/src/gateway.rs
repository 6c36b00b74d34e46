//! What API Gateway does in front of the functions. A request passes these steps:
//!
//! 1. [`server`] accepts the connection of a client, and reads the head of its request.
//! 2. [`Gateway::respond`] reads the [body], and returns the response to the server.
//! 3. [`Gateway::respond_and_keep`] runs the further steps in a task of their own, which goes on
//!    when the client leaves. It prints a line about the request, and keeps the request and its
//!    response for the inspector. The inspector begins with this step when it sends a request
//!    again.
//! 4. [`Gateway::record`] gets the response, adds the [CORS headers](cors), and makes the
//!    [`Exchange`]: what is recorded of the request and its response.
//! 5. [`Gateway::route`] refuses the request, or finds its function in the [routes] of the template.
//! 6. [`Gateway::invoke`] makes the [Lambda event](mod@lambda_event), has [`Functions::invoke`]
//!    call the function with it, and returns the function's response. [`Gateway::inject`] gives an
//!    [injected response](injected_response) to some requests instead.
//!
//! A request whose [head is no HTTP](refused_head) does not get further than the first step.
//!
//! The gateway must not know what a request means.

mod body;
pub(crate) mod cors;
pub(crate) mod host_names;
pub(crate) mod injected_response;
pub(crate) mod lambda_event;
mod own_response;
pub(crate) mod preflights;
mod recorded_stream;
mod refused_head;
pub(crate) mod routes;
pub(crate) mod server;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response, StatusCode};

use self::body::{MAX_BODY_MEGABYTES, read_body};
use self::cors::CorsPolicy;
use self::host_names::HostNames;
use self::injected_response::{InjectedResponse, InjectedResponses};
use self::lambda_event::lambda_event;
use self::own_response::{
    bad_request, internal_server_error, own_response, service_unavailable, storage_unavailable,
    too_large,
};
use self::preflights::Preflights;
use self::routes::Routes;
use self::server::{Client, Server};
use crate::exchange::Exchange;
use crate::exchange::api_key::{ApiKeyTable, SentKey, why_unauthorized};
use crate::exchange::event_contract::EventContracts;
use crate::exchange::given_response::GivenResponse;
use crate::exchange::recent_exchanges::{KeptExchange, RecentExchanges};
use crate::exchange::request_line::request_line;
use crate::exchange::sent_request::{SentBody, SentRequest};
use crate::functions::{Functions, ResponseReason};
use crate::terminal::{has_colours, print_with_time};

/// How long API Gateway waits for a function.
pub(crate) const INTEGRATION_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest Lambda event, in bytes: 6 MB ("Lambda quotas" in the Lambda developer guide).
const MAX_EVENT_BYTES: usize = 6 * 1024 * 1024;

/// The reason of an injected response.
const INJECTED: &str = "because of --answer, --next-answer or POST /answers";

pub(crate) struct Gateway {
    pub(crate) functions: Functions,
    pub(crate) routes: Routes,
    pub(crate) host_names: HostNames,
    pub(crate) cors: CorsPolicy,
    pub(crate) injected_responses: InjectedResponses,
    pub(crate) preflights: Preflights,
    /// The table in which the key of a request is looked up. `None` in tests that have no tables.
    pub(crate) keys: Option<ApiKeyTable>,
    /// With `--contracts`, those that signals are judged by.
    pub(crate) event_contracts: Option<EventContracts>,
    /// Whether a line is printed for each request.
    pub(crate) prints_lines: bool,
    pub(crate) exchanges: RecentExchanges,
}

impl Gateway {
    /// Starts to serve the requests that arrive at `listener`.
    ///
    /// # Errors
    /// The runtime cannot watch the listener.
    pub(crate) fn listen(self: &Arc<Self>, listener: TcpListener) -> Result<Server> {
        let gateway = Arc::clone(self);
        let refusing = Arc::clone(self);
        Server::start(
            listener,
            move |request, client| Arc::clone(&gateway).respond(request, client),
            move |head| refusing.keep(refused_head::exchange(&head)),
        )
    }

    /// Prints a line about a request, and keeps it with its response.
    fn keep(&self, exchange: Exchange) -> Arc<KeptExchange> {
        if self.prints_lines {
            print_with_time(&request_line(&exchange, has_colours()));
        }
        self.exchanges.add(exchange)
    }

    /// Reads the body of a client's request, and returns the response to it.
    async fn respond(self: Arc<Self>, request: Request, client: Client) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = read_body(&head.headers, body).await;
        let sent = SentRequest {
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body,
        };
        let response = match self.respond_and_keep(sent, Some(client)).await {
            Some(kept) => kept.exchange.response.clone(),
            None => internal_server_error().response,
        };
        response.map(Body::from)
    }

    /// Serves a request, prints a line about it, and keeps it with its response. All of this goes
    /// on when the future is dropped, as when a developer closes the page of the inspector while it
    /// sends a request again. A request of the inspector has no client. `None` after a defect of
    /// this program.
    pub(crate) async fn respond_and_keep(
        self: &Arc<Self>,
        sent: SentRequest,
        client: Option<Client>,
    ) -> Option<Arc<KeptExchange>> {
        let gateway = Arc::clone(self);
        let task = tokio::spawn(async move {
            let exchange = gateway.record(sent, client.as_ref()).await;
            let kept = gateway.keep(exchange);
            gateway.watch_preflight(&kept);
            kept
        });
        task.await.ok()
    }

    /// Gets the response to a request, and records what became of it.
    async fn record(&self, sent: SentRequest, client: Option<&Client>) -> Exchange {
        let start = Instant::now();
        self.preflights.end(&sent);
        let key = match &self.keys {
            Some(keys) => keys.look_up(&sent.headers).await,
            None => SentKey::default(),
        };
        let mut given = self.route(&sent, key.account.as_deref(), client).await;
        let duration = start.elapsed();
        self.apply_cors(&sent, &mut given);
        let mut exchange = Exchange::new(sent, given, duration, key);
        if let Some(contracts) = &self.event_contracts {
            contracts.judge(&mut exchange.signals).await;
        }
        // Of a body that did not arrive whole, the reason says so. The client may have closed only its
        // half of the connection.
        let is_whole = exchange.sent.body.bytes().is_some();
        exchange.has_left = is_whole && client.is_some_and(Client::has_left);
        exchange
    }

    /// If no request follows an allowed preflight, says so.
    fn watch_preflight(self: &Arc<Self>, kept: &Arc<KeptExchange>) {
        let sent = &kept.exchange.sent;
        if self.cors.refusal(&sent.method, &sent.headers).is_some() {
            return;
        }
        let Some(preflight) = self.preflights.begin(sent) else {
            return;
        };
        let gateway = Arc::clone(self);
        let kept = Arc::clone(kept);
        tokio::spawn(async move {
            if let Some(note) = gateway.preflights.why_unfollowed(preflight).await {
                kept.exchange.add_note(note);
                if gateway.prints_lines {
                    print_with_time(&request_line(&kept.exchange, has_colours()));
                }
            }
        });
    }

    /// Adds the CORS headers to the response. If a browser keeps the response from its page, adds
    /// why to the reason.
    fn apply_cors(&self, sent: &SentRequest, given: &mut GivenResponse) {
        let headers = self.cors.headers_for(&sent.method, &sent.headers);
        given.response.headers_mut().extend(headers);
        let Some(refusal) = self.cors.refusal(&sent.method, &sent.headers) else {
            return;
        };
        given.reason = match given.reason.take() {
            Some(reason) => Some(format!("{reason}; {refusal}")),
            None => Some(refusal),
        };
    }

    /// Returns the response of the function that the request's route names, an injected response, or an
    /// error of API Gateway if no function gets the request.
    async fn route(
        &self,
        sent: &SentRequest,
        account: Option<&str>,
        client: Option<&Client>,
    ) -> GivenResponse {
        if !self.host_names.include_host_of(&sent.uri, &sent.headers) {
            let why = "the Host is another one: see --host-name".to_owned();
            return own_response(StatusCode::FORBIDDEN, "Forbidden", Some(why));
        }
        if let Some(refusal) = refusal_of_body(&sent.body) {
            return refusal;
        }
        let Some(function) = self.routes.function_of(sent) else {
            let why = self.routes.no_such_path(sent);
            return own_response(StatusCode::NOT_FOUND, "Not Found", Some(why));
        };
        // After a failed preflight, a page learns only that its request failed.
        let injected = if sent.method == Method::OPTIONS {
            None
        } else {
            self.injected_responses.choose(account, sent.uri.path())
        };
        match injected {
            Some(injected) => self.inject(injected, sent, function, client).await,
            None => self.invoke(function, sent).await,
        }
    }

    /// Gives an injected response.
    async fn inject(
        &self,
        injected: InjectedResponse,
        sent: &SentRequest,
        function: &str,
        client: Option<&Client>,
    ) -> GivenResponse {
        let why = Some(INJECTED.to_owned());
        match injected {
            InjectedResponse::TooManyRequests => {
                own_response(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests", why)
            }
            InjectedResponse::Unavailable => service_unavailable(why),
            InjectedResponse::StorageUnavailable => storage_unavailable(sent, why),
            InjectedResponse::Timeout(timeout) => {
                let waiting = time_out(timeout, client);
                let (given, ()) = tokio::join!(self.invoke(function, sent), waiting);
                // The function has done its work, and the inspector shows what became of the
                // signals.
                GivenResponse {
                    batch: given.batch,
                    ..service_unavailable(why)
                }
            }
        }
    }

    /// Invokes a function with the Lambda event of a request, and returns the function's response.
    async fn invoke(&self, function: &str, sent: &SentRequest) -> GivenResponse {
        let id = format!("{:016x}", fastrand::u64(..));
        let event = lambda_event(sent, &id, |_, value| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        });
        let Ok(event) = serde_json::to_vec(&event) else {
            return internal_server_error();
        };
        if event.len() > MAX_EVENT_BYTES {
            return too_large("its Lambda event is larger than 6 MB".to_owned());
        }
        let invocation = self.functions.invoke(function, event);
        match tokio::time::timeout(INTEGRATION_TIMEOUT, invocation).await {
            Ok(Some(given)) => GivenResponse {
                response: given.response,
                reason: given.reason.map(|reason| reason_text(&reason, sent)),
                batch: given.batch,
            },
            Ok(None) => internal_server_error(),
            Err(_) => service_unavailable(None),
        }
    }
}

/// Waits until the timeout is over, or until the client has left.
async fn time_out(timeout: Duration, client: Option<&Client>) {
    let wait = tokio::time::sleep(timeout);
    match client {
        Some(client) => tokio::select! {
            () = wait => {}
            () = client.left() => {}
        },
        None => wait.await,
    }
}

/// The response to a request whose body did not arrive, or is too large. No function gets such a
/// request.
fn refusal_of_body(body: &SentBody) -> Option<GivenResponse> {
    match body {
        SentBody::Whole(_) | SentBody::NotKept | SentBody::NoRequest => None,
        SentBody::TooLarge => Some(too_large(format!("larger than {MAX_BODY_MEGABYTES} MB"))),
        // An incomplete message (RFC 9112, section 8).
        SentBody::CutOff { received } => Some(bad_request(format!(
            "the client ended the connection after {received} bytes of the body, before its end"
        ))),
        SentBody::Malformed(error) => Some(bad_request(format!(
            "the body cannot be read, because its transfer coding is malformed: {error}"
        ))),
    }
}

/// The reason of a function's response, as a person reads it.
fn reason_text(reason: &ResponseReason, sent: &SentRequest) -> String {
    match reason {
        ResponseReason::Unauthorized(unauthorized) => {
            why_unauthorized(*unauthorized, &sent.headers)
        }
        ResponseReason::Store(error) => format!("DynamoDB: {error}"),
    }
}

#[cfg(test)]
mod tests;
