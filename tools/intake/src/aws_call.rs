//! Calls to CloudWatch and its logs, signed with the operator's credentials.
//!
//! Only a few calls that read: the two SDKs would make the first build of the tool half a minute longer, and CloudWatch's speaks
//! CBOR.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, anyhow, bail};
use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::ProvideCredentials as _;
use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::identity::Identity;
use serde_json::Value;
use store::environment;

use crate::http::{HttpClient, Received};

const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Attempts of a call that does not succeed, and the pause before each further one.
const ATTEMPTS: usize = 4;
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Service {
    /// Its name in addresses and signatures.
    name: &'static str,
    /// The SDKs' variable of another address.
    variable: &'static str,
    /// What precedes the name of an operation.
    target: &'static str,
    content_type: &'static str,
}

pub(crate) const CLOUDWATCH: Service = Service {
    name: "monitoring",
    variable: "AWS_ENDPOINT_URL_CLOUDWATCH",
    target: "GraniteServiceVersion20100801",
    content_type: "application/x-amz-json-1.0",
};

pub(crate) const LOGS: Service = Service {
    name: "logs",
    variable: "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS",
    target: "Logs_20140328",
    content_type: "application/x-amz-json-1.1",
};

pub(crate) struct AwsClient<'a> {
    config: &'a SdkConfig,
    client: HttpClient,
}

impl<'a> AwsClient<'a> {
    pub(crate) fn new(config: &'a SdkConfig) -> Result<Self> {
        Ok(Self { config, client: HttpClient::new(CALL_TIMEOUT)? })
    }

    /// Calls an operation, and again after a pause if the service is busy.
    pub(crate) async fn call(&self, service: &Service, operation: &str, body: &Value) -> Result<Value> {
        let mut attempt = 1;
        loop {
            let answer = self.send(service, operation, &body.to_string()).await;
            if attempt == ATTEMPTS || answer.as_ref().is_ok_and(is_final) {
                return answer.and_then(|received| read(&received)).with_context(|| operation.to_owned());
            }
            tokio::time::sleep(PAUSE).await;
            attempt += 1;
        }
    }

    async fn send(&self, service: &Service, operation: &str, body: &str) -> Result<Received> {
        let region = self.config.region().context("No AWS region")?.as_ref();
        let url = endpoint(service.name, service.variable, region).await?;
        let target = format!("{}.{operation}", service.target);
        let headers = [("content-type", service.content_type), ("x-amz-target", target.as_str())];
        let provider = self.config.credentials_provider().context("No AWS credentials")?;
        let identity: Identity = provider.provide_credentials().await.context("No AWS credentials")?.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name(service.name)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let signable = SignableRequest::new("POST", &url, headers.into_iter(), SignableBody::Bytes(body.as_bytes()))?;
        let (instructions, _) = sign(signable, &params)?.into_parts();
        let headers = headers.into_iter().chain(instructions.headers());
        let sent = self.client.send("POST", url.clone(), headers, body.into()).await;
        sent.with_context(|| format!("cannot reach {}", service.name))
    }
}

/// Whether another attempt would be answered in the same way.
fn is_final(answer: &Received) -> bool {
    answer.status == 200 || answer.status < 500 && !String::from_utf8_lossy(&answer.body).contains("Throttl")
}

/// The answer, or why the service refused the call, in its own words.
fn read(received: &Received) -> Result<Value> {
    let answer = serde_json::from_slice::<Value>(&received.body);
    if received.status == 200 {
        return Ok(answer?);
    }
    let answer = answer.unwrap_or_default();
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    bail!("{} {} {}{}", received.status, text("__type"), text("message"), text("Message"))
}

/// The address of a service: the one that the SDKs' variables set, or else that of AWS.
pub(crate) async fn endpoint(service: &str, variable: &str, region: &str) -> Result<String> {
    if let Some(url) = environment::configured_endpoint(variable) {
        return Ok(format!("{}/", url.trim_end_matches('/')));
    }
    // The SDK of DynamoDB knows what the hosts of each partition end with.
    let params = Params::builder().region(region).use_fips(false).use_dual_stack(false).build()?;
    let endpoint = DefaultResolver::new().resolve_endpoint(&params).await.map_err(|error| anyhow!(error))?;
    let domain = endpoint.url().strip_prefix(&format!("https://dynamodb.{region}."));
    let domain = domain.with_context(|| format!("{region} is not a region"))?;
    Ok(format!("https://{service}.{region}.{domain}/"))
}
