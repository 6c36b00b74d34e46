//! Calls to CloudWatch and its logs, signed with the operator's credentials.
//!
//! These are four calls that read. The SDKs of the two services would take 40 s of processor time to
//! build, and CloudWatch's speaks CBOR.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};
use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::ProvideCredentials as _;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SigningInstructions, SigningSettings, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::identity::Identity;
use serde_json::Value;

use crate::http::{HttpClient, Received, endpoint, repeat};

const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Attempts of a call that does not succeed.
const ATTEMPTS: usize = 4;

/// A service with the JSON protocol of AWS.
pub(crate) struct Service {
    /// Its name in addresses and signatures.
    name: &'static str,
    /// The variable by which the SDKs get another address for it.
    endpoint_variable: &'static str,
    /// What precedes the name of an operation in the header `x-amz-target`.
    target: &'static str,
    content_type: &'static str,
}

pub(crate) const CLOUDWATCH: Service = Service {
    name: "monitoring",
    endpoint_variable: "AWS_ENDPOINT_URL_CLOUDWATCH",
    target: "GraniteServiceVersion20100801",
    content_type: "application/x-amz-json-1.0",
};

pub(crate) const LOGS: Service = Service {
    name: "logs",
    endpoint_variable: "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS",
    target: "Logs_20140328",
    content_type: "application/x-amz-json-1.1",
};

pub(crate) struct AwsClient<'a> {
    config: &'a SdkConfig,
    http: HttpClient,
}

/// What is signed of a call.
struct UnsignedCall<'a> {
    service: &'a Service,
    region: &'a str,
    url: &'a str,
    headers: [(&'a str, &'a str); 2],
    body: &'a [u8],
}

impl<'a> AwsClient<'a> {
    pub(crate) fn new(config: &'a SdkConfig) -> Result<Self> {
        Ok(Self {
            config,
            http: HttpClient::new(CALL_TIMEOUT)?,
        })
    }

    /// Calls an operation, and again after a pause if the service is busy or does not answer.
    pub(crate) async fn call(
        &self,
        service: &Service,
        operation: &str,
        body: &Value,
    ) -> Result<Value> {
        let attempt = || self.send(service, operation, body.to_string());
        let answer = repeat(ATTEMPTS, attempt, is_final).await;
        answer
            .and_then(|received| read(&received))
            .with_context(|| operation.to_owned())
    }

    async fn send(&self, service: &Service, operation: &str, body: String) -> Result<Received> {
        let region = self.config.region().context("No AWS region")?.as_ref();
        let url = endpoint(service.name, service.endpoint_variable, region).await?;
        let target = format!("{}.{operation}", service.target);
        let headers = [
            ("content-type", service.content_type),
            ("x-amz-target", target.as_str()),
        ];
        let call = UnsignedCall {
            service,
            region,
            url: &url,
            headers,
            body: body.as_bytes(),
        };
        let instructions = self.sign(&call).await?;
        let headers = headers.into_iter().chain(instructions.headers());
        let sent = self
            .http
            .send("POST", url.clone(), headers, body.clone().into_bytes())
            .await;
        sent.with_context(|| format!("cannot reach {}", service.name))
    }

    /// The headers that sign a call.
    async fn sign(&self, call: &UnsignedCall<'_>) -> Result<SigningInstructions> {
        let provider = self
            .config
            .credentials_provider()
            .context("No AWS credentials")?;
        let credentials = provider
            .provide_credentials()
            .await
            .context("No AWS credentials")?;
        let identity = Identity::from(credentials);
        let params = SigningParams::builder()
            .identity(&identity)
            .region(call.region)
            .name(call.service.name)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let signable = SignableRequest::new(
            "POST",
            call.url,
            call.headers.into_iter(),
            SignableBody::Bytes(call.body),
        )?;
        let (instructions, _signature) = sign(signable, &params)?.into_parts();
        Ok(instructions)
    }
}

/// Whether another attempt would be answered in the same way.
fn is_final(answer: &Result<Received>) -> bool {
    let Ok(received) = answer else { return false };
    let is_throttled = String::from_utf8_lossy(&received.body).contains("Throttl");
    received.status == 200 || (received.status < 500 && !is_throttled)
}

/// The answer, or why the service refused the call, in its own words.
fn read(received: &Received) -> Result<Value> {
    let answer = serde_json::from_slice::<Value>(&received.body);
    if received.status == 200 {
        return Ok(answer?);
    }
    let answer = answer.unwrap_or_default();
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    bail!(
        "{} {} {}{}",
        received.status,
        text("__type"),
        text("message"),
        text("Message")
    )
}
