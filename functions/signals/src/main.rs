//! Boots the function: log, tables, runtime.

use lambda_http::{Error, Request, service_fn};
use shared::invocation::Invocation;
use shared::{runtime, telemetry};
use signals::Signals;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let signals: &'static Signals = Box::leak(Box::new(Signals::from_environment().await?));
    signals.warm_up().await;
    runtime::run(service_fn(async move |request: Request| {
        let invocation = Invocation::of(&request);
        Ok::<_, Error>(signals.handle(&request, &invocation).await)
    }))
    .await
}
