//! Boots the function: log, tables, runtime.

use lambda_http::{Error, Request};
use service::invocation::Invocation;
use service::{runtime, telemetry};
use signals::Signals;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let signals: &'static Signals = Box::leak(Box::new(Signals::from_environment().await?));
    signals.warm_up().await;
    runtime::run(async move |request: Request| {
        let invocation = Invocation::of(&request);
        signals.handle(&request, &invocation).await
    })
    .await
}
