//! Reads what the functions log: no line may have a key or a value of a client, and some lines say
//! what no response tells.

use consistency::generated::CANARY;
use model::api_key::KEY_PREFIX;
use service::telemetry::log::Log;

use crate::aws::Aws;

/// The log of an environment.
pub fn log(aws: Aws) -> Log {
    Log::new("simulated", move |line| {
        let state = &mut *aws.state();
        if line.contains("RejectedNotStored") {
            state.unkept += 1;
        }
        if line.contains(CANARY) || line.contains(KEY_PREFIX) {
            let text = format!("a key or a value is logged: {line}");
            state.promises.note(text, "none".to_owned());
        }
    })
}
