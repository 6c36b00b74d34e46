//! Starts the function.

use lambda_runtime::{Error, LambdaEvent};
use model::timestamp::Timestamp;
use overflow::OverflowFunction;
use service::{runtime, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let drain = |function: &'static OverflowFunction, event: LambdaEvent<_>| async move {
        Ok(function
            .drain(event.payload, &event.context, Timestamp::now())
            .await)
    };
    runtime::run(OverflowFunction::from_environment(), drain).await
}
