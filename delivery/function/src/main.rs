//! Starts the function: the log, the handler, then Lambda's runtime.

use deliver::{Handler, Invocation};
use lambda_runtime::{Error, LambdaEvent};
use model::timestamp::Timestamp;
use serde_json::value::RawValue;
use service::process::Process;
use service::runtime;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = Process::start(env!("CARGO_CRATE_NAME"));
    // If a variable is wrong, the process goes on, and every invocation gets this error.
    let handler = Handler::from_variables(&process.variables);
    let deliver = move |handler: &'static Handler, event: LambdaEvent<Box<RawValue>>| {
        let log = process.log.clone();
        async move {
            let LambdaEvent { payload, context } = event;
            let invocation = Invocation {
                payload: &payload,
                lambda: &context,
                now: Timestamp::now(),
                log: &log,
            };
            let response = handler.deliver(invocation).await?;
            Ok(response)
        }
    };
    runtime::run(handler, deliver).await
}
