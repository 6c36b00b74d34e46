//! Lambda's runtime: from its events to requests, and from responses to what API Gateway reads.
//!
//! `lambda_http` has both, but not for every event: see [`event`].

pub mod event;

use std::convert::Infallible;

use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpResponse;
use lambda_http::lambda_runtime::{self, LambdaEvent, service_fn};
use lambda_http::{Body, Error, Request, Response};

use crate::runtime::event::HttpApiEvent;

/// Serves invocations until the process ends: one at a time, or several where `AWS_LAMBDA_MAX_CONCURRENCY` allows it.
///
/// # Errors
/// When Lambda's runtime API cannot be reached.
pub async fn run<H, F>(handler: H) -> Result<(), Error>
where
    H: Fn(Request) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let serve = move |event: LambdaEvent<HttpApiEvent>| {
        let (event, context) = event.into_parts();
        // On the heap: the runtime's layers move this future several times before it is polled.
        let response = Box::pin(handler(event.into_request(context)));
        async move { Ok::<_, Infallible>(for_api_gateway(response.await)) }
    };
    lambda_runtime::run_concurrent(service_fn(serve)).await
}

fn for_api_gateway(response: Response<Body>) -> ApiGatewayV2httpResponse {
    let (parts, body) = response.into_parts();
    let mut response = ApiGatewayV2httpResponse::default();
    response.status_code = parts.status.as_u16().into();
    response.headers = parts.headers;
    response.is_base64_encoded = matches!(body, Body::Binary(_));
    response.body = (body != Body::Empty).then_some(body);
    response
}
