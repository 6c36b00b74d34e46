//! Starts the function.

use lambda_runtime::{Error, LambdaEvent};
use model::timestamp::Timestamp;
use overflow::OverflowFunction;
use service::process::Process;
use service::runtime;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = Process::start(env!("CARGO_CRATE_NAME"));
    // If a variable is wrong, the process goes on, and every invocation gets this error.
    let function = OverflowFunction::from_variables(&process.variables);
    let drain = move |function: &'static OverflowFunction, event: LambdaEvent<_>| {
        let log = process.log.clone();
        async move {
            let LambdaEvent { payload, context } = event;
            let now = Timestamp::now();
            let response = function.drain(payload, &context, now, &log).await;
            Ok(response)
        }
    };
    runtime::run(function, drain).await
}
