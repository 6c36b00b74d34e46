//! The bucket of the lake: its objects are listed, read whole, and replaced only if they are still
//! what was read. Must not know what is in them.

use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use aws::sdk_config::http_connector;
use aws::variables::Variables;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::error::{DisplayErrorContext, SdkError};
use aws_sdk_s3::operation::get_object::{GetObjectError, GetObjectOutput};
use aws_sdk_s3::primitives::ByteStream;
use aws_smithy_runtime_api::client::http::http_client_fn;

use crate::stack::Stack;

/// Where the events are. What could not be delivered is beside it.
pub(super) const EVENTS: &str = "events/";

/// The timeout of a connection. An operator may be far from the region, on a slow line.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The timeout of one attempt: Firehose writes up to 128 MB into an object, and an operator may be on a
/// slow line.
const ATTEMPT_TIMEOUT: Duration = Duration::from_mins(5);

pub(super) struct LakeBucket {
    client: Client,
    pub(super) name: String,
}

/// An object as it was read.
pub(super) struct LakeObject {
    pub(super) body: Vec<u8>,
    /// The rest of the answer: the next version keeps it.
    pub(super) before: GetObjectOutput,
}

/// What became of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replacement {
    Written,
    /// The object is another one now, or an earlier attempt of the SDK has written it.
    Changed,
}

impl LakeBucket {
    pub(super) fn new(stack: &Stack, name: String) -> Result<Self> {
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .build();
        // The client of the other services refuses an answer without a body, which S3 gives to a write.
        let connector = http_connector(&Variables::from_process(), CONNECT_TIMEOUT)?;
        let config = Builder::from(&stack.config)
            .timeout_config(timeouts)
            .http_client(http_client_fn(move |_, _| connector.clone()));
        Ok(Self {
            client: Client::from_conf(config.build()),
            name,
        })
    }

    /// The keys of all objects that have events.
    pub(super) async fn keys(&self) -> Result<Vec<String>> {
        let call = self.client.list_objects_v2();
        let mut pages = call
            .bucket(&self.name)
            .prefix(EVENTS)
            .into_paginator()
            .send();
        let mut keys = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| self.explain(&error))?;
            let objects = page.contents.unwrap_or_default();
            keys.extend(objects.into_iter().filter_map(|object| object.key));
        }
        Ok(keys)
    }

    /// Reads an object. `None` when it has expired or was deleted meanwhile.
    pub(super) async fn get(&self, key: &str) -> Result<Option<LakeObject>> {
        let call = self.client.get_object().bucket(&self.name).key(key);
        let mut answer = match call.send().await {
            Ok(answer) => answer,
            Err(error) => {
                let is_missing = error
                    .as_service_error()
                    .is_some_and(GetObjectError::is_no_such_key);
                return if is_missing {
                    Ok(None)
                } else {
                    Err(self.explain(&error))
                };
            }
        };
        let body = std::mem::take(&mut answer.body).collect().await;
        let body = body.map_err(|error| anyhow!("bucket {}, {key}: {error}", self.name))?;
        Ok(Some(LakeObject {
            body: body.to_vec(),
            before: answer,
        }))
    }

    /// Replaces an object by the next version of it, if it is still the one that was read.
    pub(super) async fn replace(
        &self,
        key: &str,
        before: GetObjectOutput,
        body: Vec<u8>,
    ) -> Result<Replacement> {
        let call = self
            .client
            .put_object()
            .bucket(&self.name)
            .key(key)
            .set_content_type(before.content_type)
            .set_content_encoding(before.content_encoding)
            .set_metadata(before.metadata)
            .set_if_match(before.e_tag)
            .body(ByteStream::from(body));
        let Err(error) = call.send().await else {
            return Ok(Replacement::Written);
        };
        // "Conditional writes" in the Amazon S3 user guide: 404 when the object was deleted.
        let status = error.raw_response().map(|answer| answer.status().as_u16());
        match status {
            Some(404 | 409 | 412) => Ok(Replacement::Changed),
            _ => Err(self.explain(&error)),
        }
    }

    /// Writes a new object.
    pub(super) async fn put(&self, key: &str, body: Vec<u8>) -> Result<()> {
        let call = self.client.put_object().bucket(&self.name).key(key);
        call.body(ByteStream::from(body))
            .send()
            .await
            .map_err(|error| self.explain(&error))?;
        Ok(())
    }

    fn explain<E>(&self, error: &SdkError<E, HttpResponse>) -> Error
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let status = error.raw_response().map(|answer| answer.status().as_u16());
        let advice = match status {
            Some(403) => "these credentials do not permit this. Use those of an operator",
            Some(404) => "it does not exist",
            _ => "S3 failed or cannot be reached. Run the command again",
        };
        let reason = DisplayErrorContext(error);
        anyhow!("bucket {}: {advice} ({reason})", self.name)
    }
}
