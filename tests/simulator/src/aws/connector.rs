//! The seam between the functions and the AWS of a run: what makes the HTTP calls of an environment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::Aws;
use super::call::Call;
use super::call_outcome::CallOutcome;
use super::dynamodb::SIGNALS;
use crate::promises::Promise;

/// The calls of one environment, or of an operator.
#[derive(Clone, Debug)]
pub struct EnvironmentConnector {
    aws: Aws,
    /// The name of the environment in the story.
    name: Arc<str>,
    /// A killed environment makes no further call. Those that are under way go on.
    is_alive: Arc<AtomicBool>,
    /// Calls on the table of the signals that it waits for.
    signal_calls: Arc<AtomicUsize>,
}

/// The most of them for a request, and for the ten messages of a drain, with hedged requests
/// (docs/internals/design.md, Calls to AWS).
const MAX_CALLS_OF_REQUEST: usize = 20 + 4;
const MAX_CALLS_OF_DRAIN: usize = 10 * (2 + 2);

/// A call on the table of the signals that its environment waits for.
struct SignalCall(Arc<AtomicUsize>);

impl Drop for SignalCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EnvironmentConnector {
    /// The connector of an environment with this name.
    pub fn new(aws: Aws, name: &str) -> Self {
        Self {
            aws,
            name: name.into(),
            is_alive: Arc::new(AtomicBool::new(true)),
            signal_calls: Arc::default(),
        }
    }

    /// A region that no other environment of this process has: the SDK lets all clients of a process
    /// share their budget of retries in a region.
    pub fn region(&self) -> String {
        format!("run-{}-{}", self.aws.run, self.name.replace(' ', "-"))
    }

    /// The connector as the SDK takes it.
    pub fn shared(&self) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }

    /// Ends the environment: it makes no further call.
    pub fn end(&self) {
        self.is_alive.store(false, Ordering::Relaxed);
    }

    /// Counts a call on the table of the signals until its environment waits no more.
    fn begin_signal_call(&self, call: &Call) -> Option<SignalCall> {
        if call.target != SIGNALS {
            return None;
        }
        let most = if self.name.starts_with("overflow") {
            MAX_CALLS_OF_DRAIN
        } else {
            MAX_CALLS_OF_REQUEST
        };
        let at_once = 1 + self.signal_calls.fetch_add(1, Ordering::Relaxed);
        if at_once > most {
            let text = format!("{} makes {at_once} calls at once: {call}", self.name);
            let promises = &mut self.aws.state().promises;
            promises.note(Promise::CallsAtOnce, text, self.name.to_string());
        }
        Some(SignalCall(self.signal_calls.clone()))
    }
}

impl HttpConnector for EnvironmentConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if !self.is_alive.load(Ordering::Relaxed) {
            return HttpConnectorFuture::ready(Err(lost()));
        }
        let call = Call::read(&request);
        let planned = self.aws.decide(&self.name, &call);
        let waiting = self.begin_signal_call(&call);
        let (sender, receiver) = oneshot::channel();
        let Self { aws, name, .. } = self.clone();
        // A task of its own: it continues when the caller abandons the call or is killed.
        tokio::spawn(async move {
            sleep(planned.before).await;
            let outcome = aws.apply(&name, &call, &planned);
            sleep(planned.after).await;
            // The caller may be gone.
            let _ = sender.send(outcome);
        });
        HttpConnectorFuture::new(async move {
            let _waiting = waiting;
            match receiver.await {
                Ok(CallOutcome::Response(outcome)) => {
                    Ok(response(outcome.status, &[], json_bytes(&outcome.body)))
                }
                Ok(CallOutcome::Bytes {
                    status,
                    headers,
                    body,
                }) => Ok(response(status, &headers, body)),
                Ok(CallOutcome::ConnectionLost) => Err(lost()),
                Ok(CallOutcome::Never) | Err(_) => std::future::pending().await,
            }
        })
    }
}

fn json_bytes(body: &Value) -> Vec<u8> {
    match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    }
}

fn response(status: u16, headers: &[(&'static str, String)], body: Vec<u8>) -> HttpResponse {
    let status = status.try_into().expect("a status of HTTP");
    let mut response = HttpResponse::new(status, SdkBody::from(body));
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.clone());
    }
    response
}

fn lost() -> ConnectorError {
    ConnectorError::io("the connection is lost".into())
}
