//! Starts the function.

use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use model::timestamp::Timestamp;
use overflow::OverflowFunction;
use service::context::own_clock;
use service::{runtime, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let function = &match OverflowFunction::from_environment() {
        Ok(function) => function,
        Err(error) => return runtime::fail(error).await,
    };
    let drain = |event: LambdaEvent<_>| async move {
        Ok::<_, Error>(function.drain(event.payload, &event.context, Timestamp::now()).await)
    };
    Runtime::new(service_fn(drain)).layer(own_clock()).run().await
}
