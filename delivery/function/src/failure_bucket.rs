//! The bucket for records that cannot be delivered. Must not know why one cannot.
//!
//! S3 does not speak the protocol of `store::client`, so the request is signed here. One that is not answered is not tried
//! again: Lambda delivers its record again. FIPS and dual-stack endpoints are set by `AWS_ENDPOINT_URL_S3`.

use std::time::SystemTime;

use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, UriPathNormalizationMode,
    sign,
};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::http::{HttpConnector as _, SharedHttpConnector};
use aws_smithy_runtime_api::client::identity::Identity;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use model::deadline::Deadline;
use service::config::ConfigError;
use store::endpoint::domain;
use store::environment::{CONNECT_TIMEOUT, EnvironmentError, configured_endpoint, credentials, http_connector, region};
use store::error;

use crate::clients::{ATTEMPT_TIMEOUT, Cause};

/// The bucket.
#[derive(Debug)]
pub(crate) struct FailureBucket {
    name: String,
    /// The URL of the bucket. A key follows.
    url: String,
    region: String,
    credentials: Identity,
    connector: SharedHttpConnector,
}

impl FailureBucket {
    /// The bucket with this name.
    pub(crate) fn from_environment(name: String) -> Result<Self, ConfigError> {
        let (credentials, region) = (credentials()?, region()?);
        let connector = http_connector(CONNECT_TIMEOUT).map_err(EnvironmentError::from)?;
        let url = url_of(&name, configured_endpoint("AWS_ENDPOINT_URL_S3").as_deref(), &region);
        Ok(Self { name, url, region, credentials: credentials.into(), connector })
    }

    /// The URL of an object, as tools of AWS take it.
    pub(crate) fn s3_url(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.name)
    }

    /// Writes an object, whose key consists of unreserved characters and slashes.
    pub(crate) async fn put(&self, key: &str, body: String, deadline: Deadline) -> Result<(), Cause> {
        let request = self.signed(key, body).map_err(|_| Cause::RequestError)?;
        let until = deadline.min(ATTEMPT_TIMEOUT).until();
        match tokio::time::timeout_at(until.into(), self.connector.call(request)).await {
            Err(_) => Err(error::Cause::Timeout.into()),
            Ok(Err(_)) => Err(error::Cause::DispatchFailure.into()),
            Ok(Ok(response)) if response.status().is_success() => Ok(()),
            Ok(Ok(response)) => Err(Cause::Status(response.status().as_u16())),
        }
    }

    /// The request, signed ("Authenticating Requests (AWS Signature Version 4)" in the S3 API reference).
    fn signed(&self, key: &str, body: String) -> Result<HttpRequest, Box<dyn std::error::Error + Send + Sync>> {
        let url = format!("{}{key}", self.url);
        let mut settings = SigningSettings::default();
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        let params = SigningParams::builder()
            .identity(&self.credentials)
            .region(&self.region)
            .name("s3")
            .time(SystemTime::now())
            .settings(settings)
            .build()?
            .into();
        let headers = [("content-type", "application/json")];
        let signable = SignableRequest::new("PUT", &url, headers.into_iter(), SignableBody::Bytes(body.as_bytes()))?;
        let (instructions, _) = sign(signable, &params)?.into_parts();
        let length = body.len().to_string();
        let mut request = HttpRequest::new(SdkBody::from(body));
        request.set_method("PUT")?;
        request.set_uri(url)?;
        let signed_headers = instructions.headers().chain(headers).chain([("content-length", length.as_str())]);
        for (name, value) in signed_headers {
            request.headers_mut().insert(name.to_owned(), value.to_owned());
        }
        Ok(request)
    }
}

/// The URL of a bucket.
fn url_of(bucket: &str, endpoint: Option<&str>, region: &str) -> String {
    match endpoint {
        // An endpoint of the operator's own, such as an emulator's, need not have a host name for each bucket.
        Some(endpoint) => format!("{}/{bucket}/", endpoint.trim_end_matches('/')),
        None => format!("https://{bucket}.s3.{region}.{}/", domain(region, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_has_a_host_name_unless_there_is_an_endpoint() {
        let url = |endpoint, region| url_of("failures", endpoint, region);
        assert_eq!(url(None, "eu-central-1"), "https://failures.s3.eu-central-1.amazonaws.com/");
        assert_eq!(url(None, "cn-north-1"), "https://failures.s3.cn-north-1.amazonaws.com.cn/");
        assert_eq!(url(Some("http://127.0.0.1:4566/"), "eu-central-1"), "http://127.0.0.1:4566/failures/");
    }
}
