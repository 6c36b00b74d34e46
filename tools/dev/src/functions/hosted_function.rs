//! One function, which this process invokes as Lambda does: with a context, a timeout and a log.
//! Must not know which functions there are.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use emulator::Template;
use emulator::development_key::API_KEY;
use lambda_http::{Body, Context, Request, RequestExt as _};
use model::timestamp::Timestamp;
use service::context::RequestContext;
use service::outcome::Served;
use service::runtime::http::{HttpFunction, serve};
use service::runtime::http_api_event::HttpApiEvent;
use service::telemetry::log::Log;
use tokio::sync::{Semaphore, mpsc};

/// How many requests a function serves at the same time. The timeout of a further request does not
/// begin before a place is free, as on Lambda before a process has started. If all requests of a
/// burst were served at the same time, all would be slow, and their signals would be deferred.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// A function of the template that runs in this process.
pub(super) struct HostedFunction<F> {
    pub(super) function: F,
    /// Its name in the template.
    pub(super) logical_id: String,
    pub(super) timeout: Duration,
    pub(super) log: Log,
    /// The places for requests.
    places: Semaphore,
}

impl<F> HostedFunction<F> {
    /// # Errors
    /// The template lacks the function.
    pub(super) fn new(
        template: &Template,
        package: &str,
        function: F,
        lines: &mpsc::UnboundedSender<String>,
    ) -> Result<Arc<Self>> {
        let described = template
            .functions
            .iter()
            .find(|function| function.package == package)
            .with_context(|| format!("template.yaml lacks the function of functions/{package}"))?;
        let lines = lines.clone();
        Ok(Arc::new(Self {
            function,
            logical_id: described.logical_id.clone(),
            timeout: described.timeout,
            places: Semaphore::new(MAX_CONCURRENT_REQUESTS),
            log: Log::new(package, move |line| {
                // While the stack ends, nothing receives these lines any more.
                let _ = lines.send(line.to_owned());
            }),
        }))
    }

    /// The context of an invocation that begins now.
    pub(super) fn context(&self) -> Context {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let deadline = now.unwrap_or_default() + self.timeout;
        let mut context = Context::default();
        context.request_id = format!("{:016x}", fastrand::u64(..));
        context.deadline = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        context
    }
}

impl<F: HttpFunction> HostedFunction<F> {
    /// Responds to a Lambda event of API Gateway. `None` if the event cannot be read, or if the
    /// function has not responded within its timeout.
    pub(super) async fn serve(&self, event: &[u8]) -> Option<Served<F::Outcome>> {
        let event: HttpApiEvent = serde_json::from_slice(event).ok()?;
        let _place = self.places.acquire().await.ok()?;
        let request = event.into_request(self.context());
        let context = RequestContext::from_request(&request, Timestamp::now(), self.log.clone());
        let served = serve(&self.function, &request, context);
        tokio::time::timeout(self.timeout, served).await.ok()
    }

    /// Has the function look up the development key, and returns whether it is valid.
    pub(super) async fn find_development_key(&self) -> bool {
        let request = Request::new(Body::Empty).with_lambda_context(self.context());
        let mut context =
            RequestContext::from_request(&request, Timestamp::now(), self.log.clone());
        let bearer = HeaderValue::try_from(format!("Bearer {API_KEY}"));
        let headers: HeaderMap = bearer.map(|key| (AUTHORIZATION, key)).into_iter().collect();
        let authenticator = self.function.authenticator();
        let found = authenticator.authenticate(&headers, &mut context).await;
        found.is_ok()
    }
}
