//! Calls to services for which there is no client here: JSON, signed with the operator's credentials.
//!
//! Only a few calls that read: the clients of CloudWatch, Logs and Lambda would be the largest crates of the tool.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, anyhow, bail};
use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::ProvideCredentials as _;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::identity::Identity;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use store::client::{Connector, connector};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Attempts of a call that is throttled or fails, and the pause before each further one.
const ATTEMPTS: u64 = 4;
const PAUSE: Duration = Duration::from_secs(1);

/// A service: the name that it has in addresses and signatures, and the SDKs' variable of another address.
#[derive(Clone, Copy)]
pub(crate) struct Service(&'static str, &'static str);

pub(crate) const CLOUDWATCH: Service = Service("monitoring", "AWS_ENDPOINT_URL_CLOUDWATCH");
pub(crate) const QUOTAS: Service = Service("servicequotas", "AWS_ENDPOINT_URL_SERVICE_QUOTAS");
pub(crate) const LOGS: Service = Service("logs", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS");

pub(crate) struct AwsClient<'a> {
    config: &'a SdkConfig,
    client: Client<Connector, Full<Bytes>>,
}

impl<'a> AwsClient<'a> {
    pub(crate) fn new(config: &'a SdkConfig) -> Result<Self> {
        let client = Client::builder(TokioExecutor::new()).build(connector(CONNECT_TIMEOUT)?);
        Ok(Self { config, client })
    }

    /// Calls the operation that `target` names.
    pub(crate) async fn call(&self, service: Service, target: &str, body: &Value) -> Result<Value> {
        let mut attempt = 1;
        loop {
            match self.attempt(service, target, body.to_string()).await {
                Ok(Answer::Done(answer)) => return Ok(answer),
                Ok(Answer::Refused(reason)) => bail!("{target}: {reason}"),
                Ok(Answer::Failed(reason)) if attempt >= ATTEMPTS => bail!("{target}: {reason}"),
                Err(error) if attempt >= ATTEMPTS => return Err(error),
                Ok(Answer::Failed(_)) | Err(_) => tokio::time::sleep(PAUSE).await,
            }
            attempt = attempt.saturating_add(1);
        }
    }

    async fn attempt(&self, service: Service, target: &str, body: String) -> Result<Answer> {
        let request = self.signed(service, target, body).await?;
        let exchange = async {
            let response = self.client.request(request).await.map_err(|_| anyhow!("cannot reach {}", service.0))?;
            let (head, body) = response.into_parts();
            Ok::<_, anyhow::Error>((head.status.as_u16(), body.collect().await?.to_bytes()))
        };
        let answer = tokio::time::timeout(CALL_TIMEOUT, exchange).await;
        let (status, body) = answer.with_context(|| format!("{} did not answer in time", service.0))??;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let reason = format!("{status} {} {}{}", text("__type"), text("message"), text("Message"));
        Ok(match status {
            200 => Answer::Done(body),
            400..=499 if !text("__type").contains("Throttl") => Answer::Refused(reason),
            _ => Answer::Failed(reason),
        })
    }

    async fn signed(&self, service: Service, target: &str, body: String) -> Result<Request<Full<Bytes>>> {
        let region = self.config.region().context("No AWS region")?.to_string();
        let provider = self.config.credentials_provider().context("No AWS credentials")?;
        let identity: Identity = provider.provide_credentials().await.context("No AWS credentials")?.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(&region)
            .name(service.0)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let uri = format!("{}/", endpoint(service, &region).trim_end_matches('/'));
        // CloudWatch speaks the older version of this protocol, the others the newer one: they differ in their name.
        let content_type =
            if service.0 == CLOUDWATCH.0 { "application/x-amz-json-1.0" } else { "application/x-amz-json-1.1" };
        let headers = [("content-type", content_type), ("x-amz-target", target)];
        let signable =
            SignableRequest::new("POST", uri.as_str(), headers.into_iter(), SignableBody::Bytes(body.as_bytes()))?;
        let (instructions, _) = sign(signable, &params)?.into_parts();
        let mut request = Request::post(uri);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let mut request = request.body(Full::new(Bytes::from(body)))?;
        instructions.apply_to_request_http1x(&mut request);
        Ok(request)
    }
}

/// What came of one attempt.
enum Answer {
    Done(Value),
    /// Another attempt would be refused too.
    Refused(String),
    Failed(String),
}

/// The SDKs' variables, or the service's own address.
fn endpoint(service: Service, region: &str) -> String {
    let variables = [service.1, "AWS_ENDPOINT_URL"];
    let configured = variables.iter().filter_map(|name| std::env::var(name).ok()).find(|url| !url.is_empty());
    let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    configured.unwrap_or_else(|| format!("https://{}.{region}.{suffix}", service.0))
}
