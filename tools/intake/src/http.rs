//! HTTP requests that no SDK makes, over the connections that the SDKs' clients have, too: those of
//! `verify`, and calls to CloudWatch and its logs, signed with the operator's credentials.
//!
//! These are four calls that read: the two SDKs take 40 s of processor time to build, and
//! CloudWatch's speaks CBOR.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, anyhow, bail};
use aws::environment::{Variables, http_connector};
use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::ProvideCredentials as _;
use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::http::{HttpConnector as _, SharedHttpConnector};
use aws_smithy_runtime_api::client::identity::Identity;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::Headers;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::Value;

/// The timeout of a connection to AWS. An operator may be far from the region, on a slow line.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Attempts of a call that does not succeed.
const ATTEMPTS: usize = 4;

/// The pause before each further attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends requests, on connections that it keeps.
pub(crate) struct HttpClient {
    connector: SharedHttpConnector,
    /// How long a response may take.
    timeout: Duration,
}

/// A response with its whole body.
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
}

impl HttpClient {
    pub(crate) fn new(timeout: Duration) -> Result<Self> {
        Ok(Self {
            connector: http_connector(CONNECT_TIMEOUT)?,
            timeout,
        })
    }

    /// Sends a request. Its `host` is that of the URL, unless the headers have another one.
    pub(crate) async fn send<'a>(
        &self,
        method: &str,
        url: String,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: Vec<u8>,
    ) -> Result<Received> {
        let mut request = HttpRequest::new(SdkBody::from(body));
        request.set_method(method)?;
        request
            .set_uri(url.as_str())
            .with_context(|| format!("{url} is not a URL"))?;
        for (name, value) in headers {
            request
                .headers_mut()
                .try_insert(name.to_owned(), value.to_owned())?;
        }
        let exchange = async {
            let mut response = self.connector.call(request).await?;
            let body = ByteStream::new(response.take_body())
                .collect()
                .await?
                .to_vec();
            anyhow::Ok(Received {
                status: response.status().as_u16(),
                headers: response.headers().clone(),
                body,
            })
        };
        let received = tokio::time::timeout(self.timeout, exchange).await;
        received.with_context(|| format!("no response within {} s", self.timeout.as_secs()))?
    }
}

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
        Ok(Self {
            config,
            client: HttpClient::new(CALL_TIMEOUT)?,
        })
    }

    /// Calls an operation, and again after a pause if the service is busy.
    pub(crate) async fn call(
        &self,
        service: &Service,
        operation: &str,
        body: &Value,
    ) -> Result<Value> {
        let answer = repeat(
            ATTEMPTS,
            || self.send(service, operation, body.to_string()),
            is_final,
        )
        .await;
        answer
            .and_then(|received| read(&received))
            .with_context(|| operation.to_owned())
    }

    async fn send(&self, service: &Service, operation: &str, body: String) -> Result<Received> {
        let region = self.config.region().context("No AWS region")?.as_ref();
        let url = endpoint(service.name, service.variable, region).await?;
        let target = format!("{}.{operation}", service.target);
        let headers = [
            ("content-type", service.content_type),
            ("x-amz-target", target.as_str()),
        ];
        let provider = self
            .config
            .credentials_provider()
            .context("No AWS credentials")?;
        let identity: Identity = provider
            .provide_credentials()
            .await
            .context("No AWS credentials")?
            .into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name(service.name)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let signable = SignableRequest::new(
            "POST",
            &url,
            headers.into_iter(),
            SignableBody::Bytes(body.as_bytes()),
        )?;
        let (instructions, _) = sign(signable, &params)?.into_parts();
        let headers = headers.into_iter().chain(instructions.headers());
        let sent = self
            .client
            .send("POST", url.clone(), headers, body.into())
            .await;
        sent.with_context(|| format!("cannot reach {}", service.name))
    }
}

/// Makes so many attempts, with a pause before each further one, until the outcome of one is final.
pub(crate) async fn repeat<T>(
    attempts: usize,
    attempt: impl AsyncFn() -> T,
    is_final: impl Fn(&T) -> bool,
) -> T {
    let mut outcome = attempt().await;
    for _ in 1..attempts {
        if is_final(&outcome) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        outcome = attempt().await;
    }
    outcome
}

/// Whether another attempt would be answered in the same way.
fn is_final(answer: &Result<Received>) -> bool {
    let is_throttled =
        |answer: &Received| String::from_utf8_lossy(&answer.body).contains("Throttl");
    answer
        .as_ref()
        .is_ok_and(|answer| answer.status == 200 || answer.status < 500 && !is_throttled(answer))
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

/// The address of a service: the one that the SDKs' variables set, or else that of AWS.
pub(crate) async fn endpoint(service: &str, variable: &str, region: &str) -> Result<String> {
    if let Some(url) = Variables::from_process().endpoint(variable) {
        return Ok(format!("{}/", url.trim_end_matches('/')));
    }
    // The SDK of DynamoDB knows what the hosts of each partition end with.
    let params = Params::builder()
        .region(region)
        .use_fips(false)
        .use_dual_stack(false)
        .build()?;
    let endpoint = DefaultResolver::new()
        .resolve_endpoint(&params)
        .await
        .map_err(|error| anyhow!(error))?;
    let domain = endpoint
        .url()
        .strip_prefix(&format!("https://dynamodb.{region}."));
    let domain = domain.with_context(|| format!("{region} is not a region"))?;
    Ok(format!("https://{service}.{region}.{domain}/"))
}
