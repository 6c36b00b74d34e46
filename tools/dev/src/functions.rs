//! The functions of the template, called as libraries. They have a thread of their own, so that the
//! gateway and the inspector do not take their time. Must not know what is shown of a request.

mod hosted_function;

use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use aws::variables::Variables;
use axum::body::Bytes;
use axum::http::Response;
use customers::CustomersFunction;
use emulator::Template;
use model::timestamp::Timestamp;
use overflow::{OverflowFunction, SqsEvent};
use service::outcome::{EndpointOutcome, Served};
use service::problem::Unauthorized;
use service::runtime::batch_item_failures::PartialBatchResponse;
use signals::{BatchOutcome, SignalVerdict, SignalsFunction};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};

use self::hosted_function::HostedFunction;

/// The packages of the functions that this program runs.
const PACKAGES: [&str; 3] = ["customers", "overflow", "signals"];

/// The running functions.
#[derive(Clone)]
pub(crate) struct Functions(Arc<RunningFunctions>);

struct RunningFunctions {
    customers: Arc<HostedFunction<CustomersFunction>>,
    signals: Arc<HostedFunction<SignalsFunction>>,
    overflow: Arc<HostedFunction<OverflowFunction>>,
    /// Runs the functions, in their own thread.
    runtime: Handle,
    /// Ends their thread when it is dropped.
    _end: oneshot::Sender<()>,
}

/// The response of a function to a request.
pub(crate) struct FunctionResponse {
    pub(crate) response: Response<Bytes>,
    /// Why the response is as it is, where the response does not say so itself.
    pub(crate) reason: Option<ResponseReason>,
    /// What became of the batch, if the request had one that could be read.
    pub(crate) batch: Option<BatchResult>,
}

/// Why the response of a function is as it is.
pub(crate) enum ResponseReason {
    Unauthorized(Unauthorized),
    /// The error of DynamoDB.
    Store(String),
}

/// What became of a batch.
pub(crate) struct BatchResult {
    /// The client's requestIdentifier, or the generated one.
    pub(crate) request_identifier: String,
    /// One for each signal, in the order of the signals.
    pub(crate) verdicts: Vec<SignalVerdict>,
    /// Whether the service had seen the request before.
    pub(crate) is_replay: bool,
}

impl Functions {
    /// Makes the functions of the template from these variables. What they log is sent to `lines`.
    ///
    /// # Errors
    /// The template has a function that is not one of these, or lacks one; a variable is missing.
    pub(crate) fn start(
        template: &Template,
        variables: &Variables,
        lines: &mpsc::UnboundedSender<String>,
    ) -> Result<Self> {
        ensure_known_functions(template)?;
        let customers = CustomersFunction::from_variables(variables)?;
        let signals = SignalsFunction::from_variables(variables)?;
        let overflow = OverflowFunction::from_variables(variables)?;
        let (runtime, end) = start_runtime()?;
        Ok(Self(Arc::new(RunningFunctions {
            customers: HostedFunction::new(template, "customers", customers, lines)?,
            signals: HostedFunction::new(template, "signals", signals, lines)?,
            overflow: HostedFunction::new(template, "overflow", overflow, lines)?,
            runtime,
            _end: end,
        })))
    }

    /// Calls the function with this name in the template, with a Lambda event of API Gateway. The
    /// function goes on when the future is dropped. `None` if it has not responded within its
    /// timeout, or if no function of this name responds to requests.
    pub(crate) async fn invoke(&self, function: &str, event: Vec<u8>) -> Option<FunctionResponse> {
        let RunningFunctions {
            customers,
            signals,
            runtime,
            ..
        } = &*self.0;
        if function == signals.logical_id {
            let signals = Arc::clone(signals);
            let serving = runtime.spawn(async move { signals.serve(&event).await });
            let served = serving.await.ok().flatten()?;
            let batch = batch_result(&served);
            return Some(function_response(served, batch));
        }
        if function == customers.logical_id {
            let customers = Arc::clone(customers);
            let serving = runtime.spawn(async move { customers.serve(&event).await });
            let served = serving.await.ok().flatten()?;
            return Some(function_response(served, None));
        }
        None
    }

    /// Drains messages of the overflow queue. `None` if that has not ended within the function's
    /// timeout.
    pub(crate) async fn drain(&self, event: SqsEvent) -> Option<PartialBatchResponse> {
        let overflow = Arc::clone(&self.0.overflow);
        let drained = self.0.runtime.spawn(async move {
            let context = overflow.context();
            let drain = overflow
                .function
                .drain(event, &context, Timestamp::now(), &overflow.log);
            tokio::time::timeout(overflow.timeout, drain).await.ok()
        });
        let drained = drained.await.ok().flatten()?;
        Some(drained.response)
    }

    /// Has the functions look up the development key, which they then know while DynamoDB fails.
    ///
    /// # Errors
    /// The key cannot be read.
    pub(crate) async fn learn_development_key(&self) -> Result<()> {
        let functions = Arc::clone(&self.0);
        let learned = self.0.runtime.spawn(async move {
            let customers = functions.customers.find_development_key().await;
            let signals = functions.signals.find_development_key().await;
            customers && signals
        });
        let have_found = learned.await?;
        ensure!(have_found, "The functions cannot read the development key.");
        Ok(())
    }
}

/// Checks that the template has no function that this program does not know.
fn ensure_known_functions(template: &Template) -> Result<()> {
    let mut functions = template.functions.iter();
    let unknown = functions.find(|function| !PACKAGES.contains(&function.package.as_str()));
    if let Some(unknown) = unknown {
        let id = &unknown.logical_id;
        bail!("template.yaml has a function that this program does not know: {id}.");
    }
    Ok(())
}

/// Starts the thread of the functions, which ends when the sender is dropped.
fn start_runtime() -> Result<(Handle, oneshot::Sender<()>)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name("functions".to_owned());
    thread
        .spawn(move || {
            let _ = runtime.block_on(ended);
        })
        .context("Cannot start a thread")?;
    Ok((handle, end))
}

/// What became of the batch of a request, unless the request was refused as a whole.
fn batch_result(served: &Served<BatchOutcome>) -> Option<BatchResult> {
    let outcome = served.outcome()?;
    Some(BatchResult {
        request_identifier: outcome.response.request_identifier.clone(),
        verdicts: outcome.verdicts.clone(),
        is_replay: outcome.response.counts.replayed,
    })
}

fn function_response<O: EndpointOutcome>(
    served: Served<O>,
    batch: Option<BatchResult>,
) -> FunctionResponse {
    let reason = match served.unauthorized() {
        Some(unauthorized) => Some(ResponseReason::Unauthorized(unauthorized)),
        None => served
            .unstored_reason()
            .map(|reason| ResponseReason::Store(reason.to_string())),
    };
    FunctionResponse {
        response: served
            .response
            .map(|body| Bytes::copy_from_slice(body.as_ref())),
        reason,
        batch,
    }
}

#[cfg(test)]
pub(crate) mod tests;
