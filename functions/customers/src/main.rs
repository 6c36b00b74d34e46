//! Starts the function.

use customers::CustomersFunction;
use lambda_runtime::Error;
use service::process::Process;
use service::runtime::http::run_http;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = Process::start(env!("CARGO_CRATE_NAME"));
    // If a variable is wrong, the process goes on, and every invocation gets this error.
    let function = CustomersFunction::from_variables(&process.variables);
    run_http(function, &process).await
}
