//! Starts the function: the log, the clients of the targets, then Lambda's runtime.

use deliver::DeliverFunction;
use lambda_runtime::{Error, LambdaEvent};
use model::timestamp::Timestamp;
use serde_json::value::RawValue;
use service::{runtime, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let deliver = |function: &'static DeliverFunction, event: LambdaEvent<Box<RawValue>>| async move {
        Ok(function
            .deliver(&event.payload, &event.context, Timestamp::now())
            .await?)
    };
    runtime::run(DeliverFunction::from_environment(), deliver).await
}
