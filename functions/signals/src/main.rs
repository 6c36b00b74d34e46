//! Starts the function.

use lambda_runtime::Error;
use service::{runtime, telemetry};
use signals::SignalsFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    runtime::run_http(SignalsFunction::from_environment()).await
}
