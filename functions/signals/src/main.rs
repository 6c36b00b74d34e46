//! Starts the function.

use lambda_runtime::Error;
use service::process::Process;
use service::runtime;
use signals::SignalsFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = Process::start(env!("CARGO_CRATE_NAME"));
    let function = SignalsFunction::from_variables(&process.variables);
    runtime::run_http(function, &process).await
}
