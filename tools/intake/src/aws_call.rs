//! Calls to services for which there is no client here, signed with the operator's credentials.
//!
//! Only a few calls that read: the clients of CloudFormation and CloudWatch would be the largest crates of the tool.

use std::fmt::{Display, Formatter};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, anyhow};
use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::ProvideCredentials as _;
use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::identity::Identity;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use roxmltree::Document;
use serde_json::Value;
use store::environment;
use store::s3;

use crate::http::{CONNECT_TIMEOUT, HttpClient, Received, request};

const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Attempts of a call that does not succeed, and the pause before each further one.
const ATTEMPTS: usize = 4;
const PAUSE: Duration = Duration::from_secs(1);

/// A service: the name that it has in addresses and signatures, and the SDKs' variable of another address.
#[derive(Clone, Copy)]
pub(crate) struct Service(&'static str, &'static str);

pub(crate) const CLOUDFORMATION: Service = Service("cloudformation", "AWS_ENDPOINT_URL_CLOUDFORMATION");
pub(crate) const CLOUDWATCH: Service = Service("monitoring", "AWS_ENDPOINT_URL_CLOUDWATCH");
pub(crate) const S3: Service = Service("s3", s3::ENDPOINT_VARIABLE);
pub(crate) const LOGS: Service = Service("logs", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS");

pub(crate) struct AwsClient<'a> {
    config: &'a SdkConfig,
    client: HttpClient,
}

/// What a service answers to a call that it does not carry out.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
}

impl std::error::Error for Refusal {}

impl Display for Refusal {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { status, code, message } = self;
        write!(formatter, "{status} {code} {message}")
    }
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
        let headers = [("content-type", content_type), ("x-amz-target", target)];
        let answer = self.send(service, &headers, &body.to_string()).await.with_context(|| target.to_owned())?;
        Ok(serde_json::from_slice(&answer).unwrap_or_default())
    }

    /// Calls the operation that the form names, in the protocol of the oldest services. They answer in XML.
    pub(crate) async fn query(&self, service: Service, form: &[(&str, &str)]) -> Result<String> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        Ok(String::from_utf8(self.send(service, &headers, &body).await?)?)
    }

    /// The body of the answer, after some attempts if the service is busy.
    async fn send(&self, service: Service, headers: &[(&str, &str)], body: &str) -> Result<Vec<u8>> {
        let url = endpoint(service, self.region()?).await?;
        let attempt = async || {
            let request = self.signed(service, &url, headers, body).await?;
            self.client.send(request, CALL_TIMEOUT).await.with_context(|| format!("cannot reach {}", service.0))
        };
        let mut outcome = attempt().await;
        for _ in 1..ATTEMPTS {
            if outcome.as_ref().is_ok_and(is_final) {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            outcome = attempt().await;
        }
        let received = outcome?;
        if received.status == 200 { Ok(received.body) } else { Err(refusal(&received).into()) }
    }

    async fn signed(&self, service: Service, url: &str, headers: &[(&str, &str)], body: &str) -> Result<HttpRequest> {
        let provider = self.config.credentials_provider().context("No AWS credentials")?;
        let identity: Identity = provider.provide_credentials().await.context("No AWS credentials")?.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(self.region()?)
            .name(service.0)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let body = body.as_bytes();
        let signable = SignableRequest::new("POST", url, headers.iter().copied(), SignableBody::Bytes(body))?;
        let (instructions, _) = sign(signable, &params)?.into_parts();
        request("POST", url.to_owned(), headers.iter().copied().chain(instructions.headers()), body.to_vec())
    }

    fn region(&self) -> Result<&str> {
        Ok(self.config.region().context("No AWS region")?.as_ref())
    }
}

/// Whether another attempt would be answered in the same way. A stack that is described has parameters named `Throttle...`.
fn is_final(answer: &Received) -> bool {
    answer.status == 200 || answer.status < 500 && !String::from_utf8_lossy(&answer.body).contains("Throttl")
}

/// Why a call failed, in the service's own words: in JSON or, from CloudFormation, in XML.
fn refusal(answer: &Received) -> Refusal {
    let Received { status, body, .. } = answer;
    if let Ok(body) = serde_json::from_slice::<Value>(body) {
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let (code, message) = (text("__type").to_owned(), format!("{}{}", text("message"), text("Message")));
        return Refusal { status: *status, code, message };
    }
    let body = String::from_utf8_lossy(body);
    let document = Document::parse(&body);
    let text = |name: &str| {
        let found = document.iter().flat_map(Document::descendants).find(|node| node.tag_name().name() == name);
        found.and_then(|node| node.text()).unwrap_or_default().to_owned()
    };
    Refusal { status: *status, code: text("Code"), message: text("Message") }
}

/// The address that the SDKs' variables set, or else that of AWS.
pub(crate) async fn endpoint(service: Service, region: &str) -> Result<String> {
    if let Some(url) = environment::configured_endpoint(service.1) {
        return Ok(format!("{}/", url.trim_end_matches('/')));
    }
    // The SDK of DynamoDB knows what the hosts of each partition end with.
    let params = Params::builder().region(region).use_fips(false).use_dual_stack(false).build()?;
    let endpoint = DefaultResolver::new().resolve_endpoint(&params).await.map_err(|error| anyhow!(error))?;
    let domain = endpoint.url().strip_prefix(&format!("https://dynamodb.{region}."));
    let domain = domain.with_context(|| format!("{region} is not a region"))?;
    Ok(format!("https://{}.{region}.{domain}/", service.0))
}
