//! Starts the function: the log, the clients of the targets, then Lambda's runtime.

use deliver::DeliverFunction;
use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use model::timestamp::Timestamp;
use serde_json::value::RawValue;
use service::context::own_clock;
use service::{runtime, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let function = &match DeliverFunction::from_environment() {
        Ok(function) => function,
        Err(error) => return runtime::fail(error).await,
    };
    let deliver = |event: LambdaEvent<Box<RawValue>>| async move {
        Ok::<_, Error>(function.deliver(&event.payload, &event.context, Timestamp::now()).await?)
    };
    Runtime::new(service_fn(deliver)).layer(own_clock()).run().await
}
