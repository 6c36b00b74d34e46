//! Starts the function.

use customers::CustomersFunction;
use lambda_runtime::Error;
use service::{runtime, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    match CustomersFunction::from_environment() {
        Ok(function) => runtime::run(function).await,
        Err(error) => runtime::fail(error).await,
    }
}
