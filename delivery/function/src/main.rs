//! Starts the function: the log, the clients of the targets, then Lambda's runtime.

use deliver::DeliverFunction;
use lambda_runtime::{Error, LambdaEvent};
use model::timestamp::Timestamp;
use serde_json::value::RawValue;
use service::process::Process;
use service::runtime;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = Process::start(env!("CARGO_CRATE_NAME"));
    // If a variable is wrong, the process goes on, and every invocation gets this error.
    let function = DeliverFunction::from_variables(&process.variables);
    let deliver = move |function: &'static DeliverFunction, event: LambdaEvent<Box<RawValue>>| {
        let log = process.log.clone();
        async move {
            let LambdaEvent { payload, context } = event;
            let now = Timestamp::now();
            let answer = function.deliver(&payload, &context, now, &log).await?;
            Ok(answer)
        }
    };
    runtime::run(function, deliver).await
}
