//! One execution environment of a function: its process, and its own faulty way to DynamoDB. Must not know who calls it.

use crate::fault_proxy::FaultProxy;
use crate::function_process::{FunctionProcess, ProcessOptions};

pub(super) struct Environment {
    pub(super) proxy: FaultProxy,
    options: ProcessOptions,
    process: FunctionProcess,
    /// Of the processes that were killed.
    errors: u64,
}

impl Environment {
    pub(super) async fn start(mut options: ProcessOptions, proxy: FaultProxy) -> Self {
        options.dynamodb = proxy.endpoint();
        let process = FunctionProcess::start(&options).await.unwrap();
        Self { proxy, options, process, errors: 0 }
    }

    /// Kills the process wherever it is, and starts another. Callers learn of it only when nothing is left on its way to
    /// DynamoDB: the network of a dead process carries nothing either.
    pub(super) async fn kill(&mut self) {
        self.process.kill().await.unwrap();
        self.proxy.idle().await;
        self.errors = self.invocation_errors();
        self.process = FunctionProcess::start(&self.options).await.unwrap();
    }

    /// How many invocations ended in an error.
    pub(super) fn invocation_errors(&self) -> u64 {
        self.errors.saturating_add(self.process.invocation_errors())
    }

    /// Whether the process ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        self.process.has_ended()
    }
}
