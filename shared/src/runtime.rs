//! Lambda's runtime, and the one thing that is done to an event before it becomes a request.
//!
//! An event becomes an [`http::Request`](lambda_http::Request) with a URI made of its Host header and query string.
//! Nobody here reads either, callers choose both, and a URI that cannot be made of them would end the invocation in an
//! error. So they are left out.

use std::fmt::Debug;

use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use lambda_http::aws_lambda_events::query_map::QueryMap;
use lambda_http::http::header::HOST;
use lambda_http::lambda_runtime::{self, Diagnostic, LambdaEvent};
use lambda_http::request::LambdaRequest;
use lambda_http::tower::{Service, ServiceExt as _};
use lambda_http::{Adapter, Error, IntoResponse, Request};
use serde::Deserialize;

/// Serves invocations until the process ends: one at a time, or several where `AWS_LAMBDA_MAX_CONCURRENCY` allows it.
///
/// # Errors
/// When Lambda's runtime API cannot be reached.
pub async fn run<S, R, E>(service: S) -> Result<(), Error>
where
    S: Service<Request, Response = R, Error = E> + Clone + Send + 'static,
    S::Future: Send + 'static,
    R: IntoResponse + Send + Sync + 'static,
    E: Debug + Into<Diagnostic> + Send + 'static,
{
    let tidied = |event: LambdaEvent<HttpApiEvent>| {
        LambdaEvent::new(without_host_and_query(LambdaRequest::ApiGatewayV2(event.payload.0)), event.context)
    };
    lambda_runtime::run_concurrent(Adapter::from(service).map_request(tidied)).await
}

/// An event of an HTTP API, payload format 2.0: the only kind that template.yaml has sent. [`LambdaRequest`] finds out
/// which of several kinds an event is, and reads it twice for that.
#[derive(Deserialize)]
#[serde(transparent)]
struct HttpApiEvent(ApiGatewayV2httpRequest);

/// The event without what nobody reads.
#[must_use]
pub fn without_host_and_query(mut event: LambdaRequest) -> LambdaRequest {
    if let LambdaRequest::ApiGatewayV2(request) = &mut event {
        request.headers.remove(HOST);
        request.request_context.domain_name = None;
        request.raw_query_string = None;
        request.query_string_parameters = QueryMap::default();
    }
    event
}
