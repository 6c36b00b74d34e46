//! Starts the function.

use customers::CustomersFunction;
use lambda_runtime::Error;
use service::{runtime, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    runtime::run_http(CustomersFunction::from_environment()).await
}
