//! A function behind the HTTP API: from an event of API Gateway to the function's request, and from the
//! result of the request to the response.
//!
//! An invocation never ends in an error: a panic becomes a 500, and the process goes on.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws::call_stats::CallStats;
use aws::variables::ConfigError;
use futures_util::FutureExt as _;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpResponse;
use lambda_http::http::Method;
use lambda_http::{Body, Request, Response};
use lambda_runtime::{Error, LambdaEvent};
use model::timestamp::Timestamp;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::http_api_event::HttpApiEvent;
use super::{InvocationOutcome, run};
use crate::auth::Authenticator;
use crate::context::RequestContext;
use crate::outcome::{EndpointOutcome, Failure, Reply, Served};
use crate::problem::Problem;
use crate::process::Process;
use crate::response::respond;
use crate::route::Route;
use crate::telemetry::log::Log;
use crate::telemetry::request_log;

/// A function behind the HTTP API.
pub trait HttpFunction: Sync {
    /// The outcome of a request that it has handled.
    type Outcome: EndpointOutcome + Send;

    const ROUTES: &'static [Route];

    /// The authenticator, which is warmed up before the first request.
    fn authenticator(&self) -> &Authenticator;

    /// Handles a request to one of its routes, with any method but OPTIONS.
    fn handle(
        &self,
        route: &Route,
        request: &Request,
        context: &mut RequestContext,
    ) -> impl Future<Output = Result<Self::Outcome, Failure<Self::Outcome>>> + Send;
}

/// A function behind the HTTP API, in a process.
struct HttpProcess<F> {
    function: F,
    log: Log,
    init_duration: Duration,
    is_warm: AtomicBool,
}

/// Serves the invocations of a function behind the HTTP API. If there is no function, each invocation fails
/// with the reason. See [`run`].
///
/// # Errors
/// As [`run`].
pub async fn run_http(
    function: Result<impl HttpFunction + Send + 'static, ConfigError>,
    process: &Process,
) -> Result<(), Error> {
    if let Ok(function) = &function {
        function.authenticator().warm_up(Timestamp::now()).await;
    }
    let http_process = function.map(|function| HttpProcess {
        function,
        log: process.log.clone(),
        init_duration: process.started.elapsed(),
        is_warm: AtomicBool::new(false),
    });
    run(http_process, |process, event| async {
        Ok(process.invoke(event).await)
    })
    .await
}

impl<F: HttpFunction> HttpProcess<F> {
    async fn invoke(
        &self,
        event: LambdaEvent<HttpApiEvent>,
    ) -> InvocationOutcome<ApiGatewayV2httpResponse> {
        let (event, lambda) = event.into_parts();
        let request = event.into_request(lambda);
        let now = Timestamp::now();
        let mut context = RequestContext::from_request(&request, now, self.log.clone());
        let is_first = !self.is_warm.swap(true, Ordering::Relaxed);
        context.init_duration = is_first.then_some(self.init_duration);
        let served = serve(&self.function, &request, context).await;
        InvocationOutcome {
            are_credentials_refused: served.are_credentials_refused(),
            response: for_api_gateway(served.response),
        }
    }
}

/// Serves one request. Whatever happens, the request gets a response and a line in the log. Returns
/// the response and what became of the request.
pub async fn serve<F: HttpFunction>(
    function: &F,
    request: &Request,
    mut context: RequestContext,
) -> Served<F::Outcome> {
    let started = Instant::now();
    // Every line of the log has the id of the request, also the line of a panic.
    let span = tracing::info_span!("request", requestId = context.request_id);
    // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy it.
    let handling =
        AssertUnwindSafe(Box::pin(dispatch(function, request, &mut context))).catch_unwind();
    let (result, calls) = CallStats::measure(handling.instrument(span)).await;
    let result = result.unwrap_or(Err(Problem::InternalError(None).into()));
    let mut response = respond(&result, &context.request_id);
    if request.method() == Method::HEAD {
        // RFC 9110, section 9.3.2: the headers of a GET, and no content.
        *response.body_mut() = Body::Empty;
    }
    let served = Served {
        response,
        context,
        result,
    };
    request_log::write(&served, &calls, started.elapsed());
    served
}

/// Calls the function with a request to one of its routes.
async fn dispatch<F: HttpFunction>(
    function: &F,
    request: &Request,
    context: &mut RequestContext,
) -> Result<Reply<F::Outcome>, Failure<F::Outcome>> {
    let route = Route::find(F::ROUTES, request).ok_or(Problem::NotFound)?;
    context.path = Some(route.path);
    if !route.has(request.method()) {
        return Err(Problem::MethodNotAllowed(route).into());
    }
    // A browser's preflight request has no key.
    if request.method() == Method::OPTIONS {
        return Ok(Reply::Options(route));
    }
    let outcome = function.handle(route, request, context).await?;
    Ok(Reply::Handled(outcome))
}

fn for_api_gateway(response: Response<Body>) -> ApiGatewayV2httpResponse {
    let (parts, body) = response.into_parts();
    let mut response = ApiGatewayV2httpResponse::default();
    response.status_code = parts.status.as_u16().into();
    response.headers = parts.headers;
    response.body = (body != Body::Empty).then_some(body);
    response
}

#[cfg(test)]
mod tests {
    use lambda_http::{Context, RequestExt as _};
    use serde::Serialize;

    use super::*;
    use crate::auth::failing_sources::{failing_table, unreachable_bucket};
    use crate::telemetry::metric::Metrics;

    /// Panics on POST.
    struct Panicking(Authenticator);

    struct Done;

    impl EndpointOutcome for Done {
        fn body(&self) -> impl Serialize {
            "done"
        }

        fn add_metrics(&self, _: &mut Metrics) {}
    }

    impl HttpFunction for Panicking {
        type Outcome = Done;

        const ROUTES: &'static [Route] = &[Route {
            path: "/",
            methods: &["GET", "POST"],
        }];

        fn authenticator(&self) -> &Authenticator {
            &self.0
        }

        async fn handle(
            &self,
            _: &Route,
            request: &Request,
            _: &mut RequestContext,
        ) -> Result<Done, Failure<Done>> {
            assert!(request.method() != Method::POST, "a value of the client");
            Ok(Done)
        }
    }

    #[tokio::test]
    async fn panic_is_a_500_problem_and_the_next_request_is_served() {
        // No request has a key, so none is looked up.
        let function = Panicking(Authenticator::new(failing_table(), unreachable_bucket()));
        let send = async |method: Method| {
            let mut request = Request::new(Body::Empty)
                .with_raw_http_path("/")
                .with_lambda_context(Context::default());
            *request.method_mut() = method;
            let mut context =
                RequestContext::from_request(&request, Timestamp::now(), Log::new("test", |_| {}));
            context.request_id = "i1".to_owned();
            serve(&function, &request, context).await.response
        };
        let failed = send(Method::POST).await;
        assert_eq!(
            (failed.status().as_u16(), &failed.headers()["content-type"]),
            (500, &"application/problem+json".parse().unwrap())
        );
        let Body::Text(text) = failed.into_body() else {
            panic!("no text")
        };
        assert!(
            text.contains("\"code\":\"internal-error\"") && !text.contains("a value of the client"),
            "{text}"
        );
        let next = send(Method::GET).await;
        assert_eq!(
            (
                next.status().as_u16(),
                next.headers()["x-request-id"].to_str().unwrap()
            ),
            (200, "i1")
        );
    }
}
