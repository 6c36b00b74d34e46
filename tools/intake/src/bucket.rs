//! A bucket of S3: its objects are listed, read whole, and replaced only if they are still what was read.
//! Must not know what is in them.

use std::fmt;
use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use aws::call_error::{CONTENT_TOO_LARGE, CallError, SdkFailure};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::builders::GetObjectFluentBuilder;
use aws_sdk_s3::operation::get_object::{GetObjectError, GetObjectOutput};
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::primitives::ByteStream;
use operator::error::{causes, credentials_error, explain_signature};
use operator::read_retries::{RETRY_TIMEOUT, retry_read};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::output::note;
use crate::stack::Stack;
use crate::write_attempts::WriteAttempts;

pub(crate) struct Bucket {
    client: Client,
    pub(crate) name: String,
}

/// An object as it was read.
pub(crate) struct StoredObject {
    pub(crate) body: Vec<u8>,
    /// The rest of the response: the next version keeps it.
    pub(crate) before: GetObjectOutput,
}

/// What an error says of a bucket that these calls do not reach.
const OTHER_REGION: &str = "it is in another region. Set AWS_REGION.";

/// What an error says when there is no connection.
const UNREACHABLE: &str = "S3 cannot be reached. Check the region, the network, and endpoints and proxies if you set them.";

/// The code of S3 for a call that is signed for another region than that of the bucket.
const OTHER_REGION_CODE: &str = "AuthorizationHeaderMalformed";

/// What became of a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionalWrite {
    Written,
    /// The object is another one now, or an earlier attempt of the SDK has written it.
    Changed,
}

/// The context of an error after which the object may be written.
#[derive(Debug)]
pub(crate) struct UnknownWrite;

/// The error of a call that S3 refuses for one object, while it may do the same call for others.
#[derive(Debug)]
pub(crate) struct RefusedObject {
    bucket: String,
    pub(crate) reason: String,
}

/// A write without an acknowledgement.
struct FailedWrite {
    /// The status of the last response, if there is one.
    status: Option<u16>,
    /// With [`UnknownWrite`] as its context, unless S3 refused each attempt.
    error: Error,
}

impl Bucket {
    /// A bucket, and the timeout of one attempt of a call.
    pub(crate) fn new(stack: &Stack, name: &str, attempt_timeout: Duration) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(attempt_timeout)
            .build();
        let config = Builder::from(&stack.config).timeout_config(timeouts);
        Self {
            client: Client::from_conf(config.build()),
            name: name.to_owned(),
        }
    }

    /// The keys of all objects that begin with `prefix`.
    ///
    /// # Errors
    /// S3 does not respond, or refuses the call.
    pub(crate) async fn keys(&self, prefix: &str) -> Result<Vec<String>> {
        let list = self.client.list_objects_v2();
        let mut call = list.bucket(&self.name).prefix(prefix);
        let mut keys = Vec::new();
        loop {
            let page = retry_read("S3", note, RETRY_TIMEOUT, || call.clone().send()).await;
            let page = page.map_err(|error| self.explain(&error))?;
            let objects = page.contents.unwrap_or_default();
            keys.extend(objects.into_iter().filter_map(|object| object.key));
            let Some(next) = page.next_continuation_token else {
                return Ok(keys);
            };
            call = call.continuation_token(next);
        }
    }

    /// Reads an object, again while S3 throttles the read or fails, or the body breaks off, until `timeout` is
    /// over. `None` when there is none, such as one that has expired meanwhile.
    ///
    /// # Errors
    /// S3 does not respond, or refuses the call: with [`RefusedObject`], because of the object.
    pub(crate) async fn get(&self, key: &str, timeout: Duration) -> Result<Option<StoredObject>> {
        let call = self.client.get_object().bucket(&self.name).key(key);
        let read = retry_read("S3", note, timeout, || read_whole(call.clone())).await;
        match read {
            Ok(object) => Ok(Some(object)),
            Err(error) => {
                let is_missing = error
                    .as_service_error()
                    .is_some_and(GetObjectError::is_no_such_key);
                if is_missing {
                    Ok(None)
                } else {
                    Err(self.explain(&error))
                }
            }
        }
    }

    /// The tags of an object, as [`Self::replace`] takes them.
    ///
    /// # Errors
    /// S3 does not respond, or refuses the call: with [`RefusedObject`], because of the object.
    pub(crate) async fn tags(&self, key: &str) -> Result<String> {
        let call = self.client.get_object_tagging();
        let call = call.bucket(&self.name).key(key);
        let read = retry_read("S3", note, RETRY_TIMEOUT, || call.clone().send()).await;
        let read = read.map_err(|error| self.explain(&error))?;
        let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        let tags = read.tag_set.iter();
        let tags = tags.map(|tag| format!("{}={}", encode(tag.key()), encode(tag.value())));
        Ok(tags.collect::<Vec<_>>().join("&"))
    }

    /// Replaces an object by the next version of it, if it is still the one that was read. The next version has
    /// these tags, and the rest of what S3 keeps beside a body from the object that was read.
    ///
    /// # Errors
    /// S3 does not respond, or refuses the call: with [`RefusedObject`], because of the object. With
    /// [`UnknownWrite`] as its context, the object may be written.
    pub(crate) async fn replace(
        &self,
        key: &str,
        before: &GetObjectOutput,
        body: Vec<u8>,
        tags: Option<String>,
    ) -> Result<ConditionalWrite> {
        let call = self
            .put_call(key, body)
            .set_content_type(before.content_type.clone())
            .set_content_encoding(before.content_encoding.clone())
            .set_metadata(before.metadata.clone())
            .set_storage_class(before.storage_class.clone())
            .set_tagging(tags)
            .set_if_match(before.e_tag.clone());
        self.send_conditional(call).await
    }

    /// Writes an object, if there is none with this key.
    ///
    /// # Errors
    /// S3 does not respond, or refuses the call. With [`UnknownWrite`] as its context, the object may be
    /// written.
    pub(crate) async fn create(
        &self,
        key: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<ConditionalWrite> {
        let call = self
            .put_call(key, body)
            .content_type(content_type)
            .if_none_match("*");
        self.send_conditional(call).await
    }

    /// Writes an object, whatever has this key.
    ///
    /// # Errors
    /// S3 does not respond, or refuses the call. With [`UnknownWrite`] as its context, the object may be
    /// written.
    pub(crate) async fn put(&self, key: &str, body: Vec<u8>) -> Result<()> {
        let written = self.send(self.put_call(key, body)).await;
        written.map_err(|failed| failed.error)
    }

    fn put_call(&self, key: &str, body: Vec<u8>) -> PutObjectFluentBuilder {
        let call = self.client.put_object().bucket(&self.name).key(key);
        call.body(ByteStream::from(body))
    }

    async fn send_conditional(&self, call: PutObjectFluentBuilder) -> Result<ConditionalWrite> {
        match self.send(call).await {
            Ok(()) => Ok(ConditionalWrite::Written),
            // "Conditional writes" in the Amazon S3 user guide: 404 when the object was deleted.
            Err(FailedWrite {
                status: Some(404 | 409 | 412),
                ..
            }) => Ok(ConditionalWrite::Changed),
            Err(failed) => Err(failed.error),
        }
    }

    async fn send(&self, call: PutObjectFluentBuilder) -> Result<(), FailedWrite> {
        let attempts = WriteAttempts::default();
        let call = call.customize().interceptor(attempts.clone());
        let Err(error) = call.send().await else {
            return Ok(());
        };
        let explained = self.explain(&error);
        Err(FailedWrite {
            status: status(&error),
            error: if attempts.may_have_written() {
                explained.context(UnknownWrite)
            } else {
                explained
            },
        })
    }

    fn explain<E>(&self, error: &SdkError<E, HttpResponse>) -> Error
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        if let Some(ended) = credentials_error(error) {
            return anyhow!(
                "bucket {}: no AWS credentials: {}",
                self.name,
                causes(ended)
            );
        }
        let bucket = self.name.clone();
        if let Some(advice) = explain_refusal_of_object(error) {
            let reason = format!("{advice} ({})", causes(error));
            return Error::new(RefusedObject { bucket, reason });
        }
        let about_status = match status(error) {
            Some(301) => OTHER_REGION,
            _ if error.code() == Some(OTHER_REGION_CODE) => OTHER_REGION,
            Some(404) => "it does not exist.",
            _ if matches!(error, SdkError::DispatchFailure(_)) => UNREACHABLE,
            _ => "S3 failed or does not respond. Run the command again.",
        };
        let about_signature = explain_signature(error.code(), error.message());
        let advice = about_signature.unwrap_or(about_status);
        anyhow!("bucket {bucket}: {advice} ({})", causes(error))
    }
}

/// Why S3 refuses a call for an object, and may do the same call for another one. `None` if the call failed, or
/// is refused whatever the object.
fn explain_refusal_of_object<E>(error: &SdkError<E, HttpResponse>) -> Option<&'static str>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    if let SdkError::ConstructionFailure(_) = error {
        let is_checksum = causes(error).contains(WRONG_CHECKSUM);
        return is_checksum.then_some("its body does not match its checksum.");
    }
    let SdkFailure::Refused(response) = SdkFailure::from(error) else {
        return None;
    };
    let code = response.code.unwrap_or_default();
    let error = response.call_error();
    let has_unusable_key = matches!(error, CallError::UnusableKey(_));
    let is_refused = matches!(error, CallError::AccessDenied | CallError::Other(_))
        && matches!(response.status, 400 | 403 | CONTENT_TOO_LARGE);
    let is_about_object = (has_unusable_key || is_refused) && code != OTHER_REGION_CODE;
    if !is_about_object {
        return None;
    }
    let message = response.message.unwrap_or_default().to_ascii_lowercase();
    Some(match code {
        "InvalidObjectState" => "it is archived. Restore it, and run the command again.",
        _ if has_unusable_key => "its KMS key cannot be used.",
        _ if message.contains("object lock") => "it is under Object Lock.",
        _ if response.status == 403 => {
            "these credentials do not permit this. Use those of an operator."
        }
        _ => "S3 refuses it.",
    })
}

/// What the SDK says of a body with another checksum than the response has.
const WRONG_CHECKSUM: &str = "checksum mismatch";

/// Reads an object to its end. A body that breaks off is a timeout, because only that is repeated at once. One
/// with a wrong checksum counts as never sent, because that is never repeated.
async fn read_whole(
    call: GetObjectFluentBuilder,
) -> Result<StoredObject, SdkError<GetObjectError, HttpResponse>> {
    let mut before = call.send().await?;
    let body = std::mem::take(&mut before.body).collect().await;
    let body = body.map_err(|error| {
        if causes(&error).contains(WRONG_CHECKSUM) {
            SdkError::construction_failure(error)
        } else {
            SdkError::timeout_error(error)
        }
    })?;
    Ok(StoredObject {
        body: body.to_vec(),
        before,
    })
}

impl fmt::Display for RefusedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bucket {}: {}", self.bucket, self.reason)
    }
}

impl std::error::Error for RefusedObject {}

impl fmt::Display for UnknownWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is unknown whether the object is written")
    }
}

/// The status of the response, if there is one.
fn status<E>(error: &SdkError<E, HttpResponse>) -> Option<u16> {
    let response = error.raw_response()?;
    Some(response.status().as_u16())
}
