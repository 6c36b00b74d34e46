//! Starts the function.

use lambda_runtime::Error;
use service::{runtime, telemetry};
use signals::SignalsFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    match SignalsFunction::from_environment() {
        Ok(function) => runtime::run(function).await,
        Err(error) => runtime::fail(error).await,
    }
}
