//! Boots the function: log, tables, runtime.

use lambda_http::{Error, Request};
use service::invocation::Invocation;
use service::{runtime, telemetry};
use signals::SignalsFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let signals: &'static SignalsFunction = Box::leak(Box::new(SignalsFunction::from_environment().await?));
    signals.warm_up().await;
    runtime::run(async move |request: Request| {
        let invocation = Invocation::from_request(&request);
        signals.handle(&request, &invocation).await
    })
    .await
}
