//! Lambda's runtime: asks Lambda for events, calls the function with each, and returns the responses.
//! This module must not know what an event is, which its submodules parse.

pub mod batch_item_failures;
pub mod http;
pub mod http_api_event;

use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};

use aws::variables::ConfigError;
use lambda_runtime::tower::util::MapResultLayer;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime, service_fn};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// What an invocation returns to Lambda.
#[derive(Debug)]
pub struct InvocationOutcome<R> {
    pub response: R,
    /// Whether AWS refused the credentials of this process. Lambda sets them when a process starts,
    /// so this process ends after its response, and the next one gets new ones.
    pub are_credentials_refused: bool,
}

/// Serves invocations with `handle` until the process ends: one at a time, or several where
/// `AWS_LAMBDA_MAX_CONCURRENCY` allows it. If the function could not be made, the process does not
/// end: each invocation gets the error as its response.
///
/// # Errors
/// When Lambda's runtime API cannot be reached, or AWS has refused the credentials.
pub async fn run<F, E, R, H>(
    function: Result<F, ConfigError>,
    handle: impl Fn(&'static F, LambdaEvent<E>) -> H + Clone + Send + 'static,
) -> Result<(), Error>
where
    F: Send + Sync + 'static,
    E: DeserializeOwned + Send + 'static,
    R: Serialize + Send + 'static,
    H: Future<Output = Result<InvocationOutcome<R>, Error>> + Send + 'static,
{
    let function: &'static F = match function {
        Ok(function) => Box::leak(Box::new(function)),
        Err(error) => return fail(error).await,
    };
    // Kept, like the function, until the process ends.
    let are_credentials_refused: &'static AtomicBool = Box::leak(Box::default());
    let service = service_fn(move |event| {
        // On the heap: the runtime's own futures would each copy it.
        let invocation = Box::pin(handle(function, event));
        async move {
            let outcome = invocation.await?;
            are_credentials_refused.fetch_or(outcome.are_credentials_refused, Ordering::Relaxed);
            Ok::<_, Error>(outcome.response)
        }
    });
    // The runtime calls this after it has sent the response.
    let end_if_refused = move |sent| {
        if are_credentials_refused.load(Ordering::Relaxed) {
            Err("AWS refused the credentials".into())
        } else {
            sent
        }
    };
    Runtime::new(service)
        .layer(MapResultLayer::new(end_if_refused))
        .run_concurrent()
        .await
}

/// Fails every invocation with the reason why the function cannot start. If the process ended instead,
/// only the log would have the reason, and `cargo lambda invoke` would wait forever.
///
/// # Errors
/// When Lambda's runtime API cannot be reached.
async fn fail(error: ConfigError) -> Result<(), Error> {
    tracing::error!(%error, "the function cannot start");
    let failing = service_fn(|_: LambdaEvent<IgnoredAny>| {
        let why = Diagnostic {
            error_type: "ConfigError".to_owned(),
            error_message: error.to_string(),
        };
        ready(Err::<(), _>(why))
    });
    lambda_runtime::run(failing).await
}
