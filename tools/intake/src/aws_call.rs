//! Calls to services for which there is no client here, signed with the operator's credentials.
//!
//! Only a few calls that read: the clients of CloudWatch, Logs and S3 would be the largest crates of the tool.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, anyhow, bail};
use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::ProvideCredentials as _;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, UriPathNormalizationMode,
    sign,
};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::identity::Identity;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use serde_json::Value;
use store::environment;
use store::s3::domain;

use crate::http::{HttpClient, Received, request};

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

const S3: Service = Service("s3", "AWS_ENDPOINT_URL_S3");

pub(crate) struct AwsClient<'a> {
    config: &'a SdkConfig,
    client: HttpClient,
}

/// A request before it is signed.
struct Unsigned<'a> {
    service: Service,
    method: &'a str,
    url: String,
    headers: Vec<(&'a str, &'a str)>,
    body: String,
}

impl<'a> AwsClient<'a> {
    pub(crate) fn new(config: &'a SdkConfig) -> Result<Self> {
        Ok(Self { config, client: HttpClient::new(CONNECT_TIMEOUT)? })
    }

    /// Calls the operation that `target` names, in JSON.
    pub(crate) async fn call(&self, service: Service, target: &str, body: &Value) -> Result<Value> {
        // CloudWatch speaks the older version of this protocol, the others the newer one: they differ in their name.
        let content_type =
            if service.0 == CLOUDWATCH.0 { "application/x-amz-json-1.0" } else { "application/x-amz-json-1.1" };
        let url = format!("{}/", endpoint(service, self.region()?).await?);
        let headers = vec![("content-type", content_type), ("x-amz-target", target)];
        let call = Unsigned { service, method: "POST", url, headers, body: body.to_string() };
        let answer = self.send(&call).await.with_context(|| target.to_owned())?;
        Ok(serde_json::from_slice(&answer).unwrap_or_default())
    }

    /// Reads from a bucket: an object by its key, or the list that `path_and_query` asks for.
    pub(crate) async fn read_bucket(&self, bucket: &str, path_and_query: &str) -> Result<Vec<u8>> {
        let region = self.region()?;
        let base = match configured_endpoint(S3) {
            // Such as an emulator's. It need not have a host name for each bucket.
            Some(endpoint) => format!("{endpoint}/{bucket}"),
            None => format!("https://{bucket}.s3.{region}.{}", domain_of(region).await?),
        };
        let url = format!("{base}/{path_and_query}");
        let call = Unsigned { service: S3, method: "GET", url, headers: Vec::new(), body: String::new() };
        self.send(&call).await.with_context(|| format!("the bucket {bucket}"))
    }

    /// The body of the answer, after some attempts if the service is busy.
    async fn send(&self, call: &Unsigned<'_>) -> Result<Vec<u8>> {
        let mut attempt = 1;
        loop {
            let error = match self.attempt(call).await {
                Ok(Received { status: 200, body, .. }) => return Ok(body),
                Ok(refusal) if is_final(&refusal) => bail!(reason(&refusal)),
                Ok(failure) => anyhow!(reason(&failure)),
                Err(error) => error,
            };
            if attempt >= ATTEMPTS {
                return Err(error);
            }
            tokio::time::sleep(PAUSE).await;
            attempt = attempt.saturating_add(1);
        }
    }

    async fn attempt(&self, call: &Unsigned<'_>) -> Result<Received> {
        let request = self.signed(call).await?;
        self.client.send(request, CALL_TIMEOUT).await.with_context(|| format!("cannot reach {}", call.service.0))
    }

    async fn signed(&self, call: &Unsigned<'_>) -> Result<HttpRequest> {
        let Unsigned { service, method, url, headers, body } = call;
        let provider = self.config.credentials_provider().context("No AWS credentials")?;
        let identity: Identity = provider.provide_credentials().await.context("No AWS credentials")?.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(self.region()?)
            .name(service.0)
            .time(SystemTime::now())
            .settings(settings(*service))
            .build()?
            .into();
        let signable =
            SignableRequest::new(method, url, headers.iter().copied(), SignableBody::Bytes(body.as_bytes()))?;
        let (instructions, _) = sign(signable, &params)?.into_parts();
        let headers = headers.iter().copied().chain(instructions.headers());
        request(method, url.clone(), headers, body.clone().into_bytes())
    }

    fn region(&self) -> Result<&str> {
        Ok(self.config.region().context("No AWS region")?.as_ref())
    }
}

/// S3 signs otherwise than all other services.
fn settings(service: Service) -> SigningSettings {
    let mut settings = SigningSettings::default();
    if service.0 == S3.0 {
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    }
    settings
}

/// Whether another attempt would be refused, too.
fn is_final(answer: &Received) -> bool {
    (400..500).contains(&answer.status) && !String::from_utf8_lossy(&answer.body).contains("Throttl")
}

/// Why a call failed: the service's own words, in JSON or, from S3, in XML.
fn reason(answer: &Received) -> String {
    let Received { status, body, .. } = answer;
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        let text = String::from_utf8_lossy(body);
        return [Some(status.to_string().as_str()), element(&text, "Code"), element(&text, "Message")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
    };
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{status} {} {}{}", text("__type"), text("message"), text("Message"))
}

/// The text of the first element with this name, which has no attributes.
pub(crate) fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0)
}

/// The address that the SDKs' variables set, without a slash at its end.
fn configured_endpoint(service: Service) -> Option<String> {
    environment::configured_endpoint(service.1).map(|url| url.trim_end_matches('/').to_owned())
}

async fn endpoint(service: Service, region: &str) -> Result<String> {
    match configured_endpoint(service) {
        Some(url) => Ok(url),
        None => Ok(format!("https://{}.{region}.{}", service.0, domain_of(region).await?)),
    }
}

async fn domain_of(region: &str) -> Result<String> {
    domain(region).await.map_err(|error| anyhow!(error))
}
