//! Starts the function.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use model::timestamp::Timestamp;
use overflow::OverflowFunction;
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
    lambda_runtime::run(service_fn(drain)).await
}
