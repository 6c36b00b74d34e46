//! The failure bucket, for records that cannot be delivered. This module must not know why a record
//! cannot be delivered.

use aws::deadline::Deadline;
use aws::s3::{self, Bucket, S3Error};
use aws::sdk_config;
use aws::variables::{ConfigError, Variables};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use model::digest::Digest;
use model::timestamp::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::stream_record::{RecordPosition, RecordSummary};
use crate::target_clients::ATTEMPT_TIMEOUT;
use crate::target_error::{FailedRecord, TargetError};

/// The longest `eventID` or sequence number that becomes a part of a key. DynamoDB's have 32
/// characters and at most 40.
const MAX_ID_CHARS: usize = 128;

/// How many records are written to the bucket at the same time.
const MAX_CONCURRENT_PUTS: usize = 16;

/// The bucket that the variables name.
pub(crate) fn from_variables(variables: &Variables) -> Result<Bucket, ConfigError> {
    let name = variables.required("FAILURE_BUCKET_NAME")?;
    let connector = sdk_config::connector(variables, s3::UNRESPONSIVE_TIMEOUT)?;
    let connection = sdk_config::s3(variables, &connector)?;
    Ok(Bucket::new(name, connection))
}

/// The bucket during one invocation.
#[derive(Clone, Copy)]
pub(crate) struct FailureBucket<'a> {
    pub(crate) bucket: &'a Bucket,
    pub(crate) now: Timestamp,
}

/// A record for the bucket.
pub(crate) struct RecordToKeep<'a> {
    pub(crate) position: RecordPosition,
    pub(crate) record: &'a RawValue,
    /// Why it cannot be delivered.
    pub(crate) reason: String,
}

/// An object of the bucket.
#[derive(Serialize)]
struct KeptRecord<'a> {
    reason: &'a str,
    record: &'a RawValue,
}

impl RecordToKeep<'_> {
    /// Writes the record to the bucket.
    pub(crate) async fn keep(
        self,
        bucket: FailureBucket<'_>,
        deadline: Deadline,
    ) -> Result<(), FailedRecord> {
        let kept = bucket.keep(self.record, &self.reason, deadline).await;
        kept.map_err(|error| FailedRecord {
            position: self.position,
            target: "failure bucket",
            error,
        })
    }
}

impl FailureBucket<'_> {
    /// Writes records to the bucket, several at the same time. Fails with the first one that
    /// could not be written.
    pub(crate) async fn keep_all(
        self,
        records: Vec<RecordToKeep<'_>>,
        deadline: Deadline,
    ) -> Result<(), FailedRecord> {
        // A vector, because the compiler cannot prove that a stream of closures' futures is `Send`.
        let puts: Vec<_> = records
            .into_iter()
            .map(|record| record.keep(self, deadline))
            .collect();
        let _: Vec<()> = stream::iter(puts)
            .buffered(MAX_CONCURRENT_PUTS)
            .try_collect()
            .await?;
        Ok(())
    }

    /// Writes a record to the bucket. The key is the same when the record is delivered again, which
    /// is the only retry.
    async fn keep(
        self,
        record: &RawValue,
        reason: &str,
        deadline: Deadline,
    ) -> Result<(), TargetError> {
        let body = serde_json::to_string(&KeptRecord { reason, record })
            .map_err(|_| TargetError::RequestError)?;
        let key = self.key(record);
        let put = self.bucket.put(
            &key,
            body.into_bytes(),
            "application/json",
            deadline.at_most(ATTEMPT_TIMEOUT),
        );
        match put.await {
            Ok(()) => Ok(()),
            Err(S3Error::Unavailable(error)) => Err(error.into()),
            Err(error) => Err(TargetError::Bucket(error)),
        }
    }

    /// The URL of a record in the bucket.
    pub(crate) fn url(self, record: &RawValue) -> String {
        let bucket = self.bucket.name();
        let key = self.key(record);
        format!("s3://{bucket}/{key}")
    }

    /// `unreadable/2026/11/20/<eventID>.json`, with the day of the change. A record without an
    /// eventID has its sequence number or its digest there, and one without a time has the day of
    /// the invocation.
    fn key(self, record: &RawValue) -> String {
        let RecordSummary {
            event_id,
            sequence_number,
            changed_at,
        } = RecordSummary::read(record);
        let name = [event_id, sequence_number]
            .into_iter()
            .flatten()
            .find(|id| can_be_part_of_a_key(id))
            .unwrap_or_else(|| Digest::sha256(record.get()).to_hex());
        let time = changed_at.unwrap_or(self.now);
        let day = time.day().replace('-', "/");
        format!("unreadable/{day}/{name}.json")
    }
}

/// Whether an id of a record can be a part of a key.
fn can_be_part_of_a_key(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=MAX_ID_CHARS).contains(&id.len()) && id.bytes().all(is_allowed)
}
