//! Calls to CloudFormation, CloudWatch and its logs, signed with the operator's credentials. Must
//! not know what the answers mean.
//!
//! These are five calls that read. The SDKs of the three services would take a minute of processor
//! time to build, and CloudWatch's speaks CBOR.

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

use crate::http::{HttpClient, HttpResponse, attempt_until_final};
use crate::service_address::service_address;

const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Attempts of a call that does not succeed.
const ATTEMPTS: usize = 4;

/// A service, as its address and its signatures name it.
pub(crate) struct Service {
    pub(crate) name: &'static str,
    /// The variable by which the SDKs get another address for it.
    pub(crate) endpoint_variable: &'static str,
}

/// A service with the JSON protocol of AWS.
pub(crate) struct JsonService {
    service: Service,
    /// What precedes the name of an operation in the header `x-amz-target`.
    target: &'static str,
    content_type: &'static str,
}

pub(crate) const CLOUDWATCH: JsonService = JsonService {
    service: Service {
        name: "monitoring",
        endpoint_variable: "AWS_ENDPOINT_URL_CLOUDWATCH",
    },
    target: "GraniteServiceVersion20100801",
    content_type: "application/x-amz-json-1.0",
};

pub(crate) const LOGS: JsonService = JsonService {
    service: Service {
        name: "logs",
        endpoint_variable: "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS",
    },
    target: "Logs_20140328",
    content_type: "application/x-amz-json-1.1",
};

pub(crate) struct SigningClient<'a> {
    config: &'a SdkConfig,
    http: HttpClient,
}

/// What is signed of a call.
struct UnsignedCall<'a> {
    service: &'a Service,
    region: &'a str,
    url: &'a str,
    headers: &'a [(&'a str, &'a str)],
    body: &'a [u8],
}

impl<'a> SigningClient<'a> {
    pub(crate) fn new(config: &'a SdkConfig) -> Result<Self> {
        Ok(Self {
            config,
            http: HttpClient::new(CALL_TIMEOUT)?,
        })
    }

    /// Calls an operation of a service with the JSON protocol.
    pub(crate) async fn call(
        &self,
        json_service: &JsonService,
        operation: &str,
        body: &Value,
    ) -> Result<Value> {
        let target = format!("{}.{operation}", json_service.target);
        let headers = [
            ("content-type", json_service.content_type),
            ("x-amz-target", target.as_str()),
        ];
        let body = body.to_string();
        let answer = self.post(&json_service.service, &headers, &body).await;
        answer
            .and_then(|response| read(&response))
            .with_context(|| operation.to_owned())
    }

    /// Posts a call, and again after a pause if the service is busy or does not answer.
    pub(crate) async fn post(
        &self,
        service: &Service,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<HttpResponse> {
        let attempt = || self.send(service, headers, body);
        attempt_until_final(ATTEMPTS, attempt, is_final).await
    }

    async fn send(
        &self,
        service: &Service,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<HttpResponse> {
        let region = self.config.region().context("No AWS region")?.as_ref();
        let url = service_address(service.name, service.endpoint_variable, region).await?;
        let call = UnsignedCall {
            service,
            region,
            url: &url,
            headers,
            body: body.as_bytes(),
        };
        let instructions = self.sign(&call).await?;
        let signed = headers.iter().copied().chain(instructions.headers());
        let body = body.as_bytes().to_vec();
        let sent = self.http.send("POST", url.clone(), signed, body).await;
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
            call.headers.iter().copied(),
            SignableBody::Bytes(call.body),
        )?;
        let (instructions, _signature) = sign(signable, &params)?.into_parts();
        Ok(instructions)
    }
}

/// Whether no further attempt is needed.
fn is_final(answer: &Result<HttpResponse>) -> bool {
    let Ok(response) = answer else { return false };
    let is_throttled = String::from_utf8_lossy(&response.body).contains("Throttl");
    response.status == 200 || (response.status < 500 && !is_throttled)
}

/// The answer, or why the service refused the call, in its own words.
fn read(response: &HttpResponse) -> Result<Value> {
    let answer = serde_json::from_slice::<Value>(&response.body);
    if response.status == 200 {
        return Ok(answer?);
    }
    let answer = answer.unwrap_or_default();
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    bail!(
        "{} {} {}{}",
        response.status,
        text("__type"),
        text("message"),
        text("Message")
    )
}
