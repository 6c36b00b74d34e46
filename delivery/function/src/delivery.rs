//! The delivery of the records of one invocation, from the Lambda event to the response: what became of
//! each record. Both handlers begin and end with it. This module must not know of a target.

use std::time::{Duration, Instant};

use aws::call_error::CallError;
use aws::deadline::Deadline;
use aws::s3::Bucket;
use lambda_runtime::Context;
use model::timestamp::Timestamp;
use serde_json::value::RawValue;
use service::budget::invocation_deadline;
use service::runtime::InvocationOutcome;
use service::runtime::batch_item_failures::{BatchItemFailure, PartialBatchResponse};
use service::telemetry::log::Log;

use crate::cloud_event::CloudEvent;
use crate::delivery_log::{self, DeliveryCounts};
use crate::failure_bucket::{FailureBucket, RecordToKeep};
use crate::read_record::read_record;
use crate::stream_record::{RecordPosition, RecordSummary, StreamEvent};
use crate::target_error::{FailedRecord, TargetError};

/// The longest that one invocation may take.
const MAX_DELIVERY_DURATION: Duration = Duration::from_secs(50);

/// Why a position has a record: the message of each `expect` that says so. A panic fails the
/// invocation, and Lambda delivers the whole event again.
const IN_THE_EVENT: &str = "a position is that of a record of the event";

/// The payload of an invocation is not an event of a stream. It is not written to the failure bucket:
/// Lambda delivers it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload is not an event of a DynamoDB stream")]
pub struct UnreadableEvent;

/// An invocation: what Lambda calls a handler with, and where the log lines go.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The Lambda event, as text.
    pub payload: &'a RawValue,
    pub lambda: &'a Context,
    /// When it came.
    pub now: Timestamp,
    pub log: &'a Log,
}

/// The records of an invocation while they are delivered.
pub(crate) struct Delivery<'a> {
    invocation: Invocation<'a>,
    started: Instant,
    pub(crate) deadline: Deadline,
    failure_bucket: FailureBucket<'a>,
    records: Vec<DeliveryRecord<'a>>,
    to_keep: Vec<RecordToKeep<'a>>,
    /// The first record that failed.
    failed: Option<FailedRecord>,
}

struct DeliveryRecord<'a> {
    json: &'a RawValue,
    outcome: DeliveryOutcome,
}

/// The outcome of a record, if the delivery does not end before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryOutcome {
    /// The target has its CloudEvent.
    Delivered,
    /// The bus has a claim check for its CloudEvent.
    Referenced,
    /// It has no CloudEvent.
    Skipped,
    /// Only the failure bucket has it.
    InFailureBucket,
}

/// A CloudEvent, and the position of its record in the event.
pub(crate) struct PositionedCloudEvent {
    pub(crate) position: RecordPosition,
    pub(crate) cloud_event: CloudEvent,
}

impl<'a> Delivery<'a> {
    /// The records of an invocation.
    ///
    /// # Errors
    /// When the payload is not an event of a stream.
    pub(crate) fn begin(
        invocation: Invocation<'a>,
        failures: &'a Bucket,
    ) -> Result<Self, UnreadableEvent> {
        let started = Instant::now();
        let Invocation {
            payload,
            lambda,
            now,
            log,
        } = invocation;
        let Ok(StreamEvent { records }) = serde_json::from_str(payload.get()) else {
            delivery_log::write_unreadable_event(log, now, &lambda.request_id);
            return Err(UnreadableEvent);
        };
        let records = records.into_iter().map(|json| DeliveryRecord {
            json,
            outcome: DeliveryOutcome::Delivered,
        });
        Ok(Self {
            invocation,
            started,
            deadline: invocation_deadline(lambda, now, MAX_DELIVERY_DURATION),
            failure_bucket: FailureBucket {
                bucket: failures,
                now,
            },
            records: records.collect(),
            to_keep: Vec::new(),
            failed: None,
        })
    }

    /// Reads the records, and returns their CloudEvents. A record that cannot be read goes to
    /// the failure bucket.
    pub(crate) fn read(&mut self) -> Vec<PositionedCloudEvent> {
        let mut cloud_events = Vec::new();
        for (index, record) in self.records.iter_mut().enumerate() {
            let position = RecordPosition(index);
            match read_record(record.json) {
                Ok(Some(cloud_event)) => cloud_events.push(PositionedCloudEvent {
                    position,
                    cloud_event,
                }),
                Ok(None) => record.outcome = DeliveryOutcome::Skipped,
                Err(reason) => {
                    record.outcome = DeliveryOutcome::InFailureBucket;
                    self.to_keep.push(RecordToKeep {
                        position,
                        record: record.json,
                        reason: reason.to_string(),
                    });
                }
            }
        }
        cloud_events
    }

    /// Lets [`Self::keep_all`] write a record to the failure bucket. Returns its URL there.
    pub(crate) fn keep_later(&mut self, position: RecordPosition, reason: &str) -> String {
        let record = self.record(position);
        let url = self.failure_bucket.url(record);
        self.to_keep.push(RecordToKeep {
            position,
            record,
            reason: reason.to_owned(),
        });
        url
    }

    /// Writes the records of [`Self::read`] and [`Self::keep_later`] to the failure bucket, in at most a third of
    /// the time. The delivery ends before the first record that could not be written.
    pub(crate) async fn keep_all(&mut self) {
        let mut to_keep = std::mem::take(&mut self.to_keep);
        to_keep.sort_by_key(|kept| kept.position);
        let deadline = self.deadline.at_most(self.deadline.remaining() / 3);
        let kept = self.failure_bucket.keep_all(to_keep, deadline).await;
        if let Err(failed) = kept {
            self.fail(failed);
        }
    }

    /// Writes the record of a CloudEvent that a service will never accept to the failure bucket. Returns its
    /// URL there.
    pub(crate) async fn keep_refused(
        &self,
        position: RecordPosition,
        service: &str,
        refusal: &TargetError,
    ) -> Result<String, FailedRecord> {
        let to_keep = RecordToKeep {
            position,
            record: self.record(position),
            reason: format!("{service} refused the event: {refusal}"),
        };
        let url = self.failure_bucket.url(to_keep.record);
        to_keep.keep(self.failure_bucket, self.deadline).await?;
        Ok(url)
    }

    /// Sets what becomes of a record.
    pub(crate) fn set_outcome(&mut self, position: RecordPosition, outcome: DeliveryOutcome) {
        self.records
            .get_mut(position.0)
            .expect(IN_THE_EVENT)
            .outcome = outcome;
    }

    /// Ends the delivery before a record.
    pub(crate) fn fail(&mut self, failed: FailedRecord) {
        self.failed = Some(failed);
    }

    /// Whether the delivery ends before this record.
    pub(crate) fn ends_before(&self, position: RecordPosition) -> bool {
        let failed = self.failed.as_ref();
        failed.is_some_and(|failed| failed.position <= position)
    }

    /// Writes the line of the invocation to the log. The response names the first record that Lambda is to
    /// deliver again.
    pub(crate) fn finish(self) -> InvocationOutcome<PartialBatchResponse> {
        let Invocation {
            lambda, now, log, ..
        } = self.invocation;
        delivery_log::write_delivered(
            log,
            now,
            &lambda.request_id,
            &self.counts(),
            self.started.elapsed(),
        );
        let mut response = PartialBatchResponse::default();
        let mut are_credentials_refused = false;
        if let Some(failed) = &self.failed {
            // Without a sequence number, Lambda delivers the whole event again.
            let summary = RecordSummary::read(self.record(failed.position));
            response.batch_item_failures.push(BatchItemFailure {
                item_identifier: summary.sequence_number.unwrap_or_default(),
            });
            are_credentials_refused = matches!(
                failed.error,
                TargetError::Call(CallError::InvalidCredentials)
            );
        }
        InvocationOutcome {
            response,
            are_credentials_refused,
        }
    }

    /// Counts what became of the records.
    fn counts(&self) -> DeliveryCounts<'_> {
        let failed = self.failed.as_ref();
        let end = failed.map_or(self.records.len(), |failed| failed.position.0);
        let mut counts = DeliveryCounts {
            records: self.records.len(),
            undelivered: self.records.len() - end,
            failed,
            ..DeliveryCounts::default()
        };
        for record in self.records.iter().take(end) {
            match record.outcome {
                DeliveryOutcome::Delivered => counts.delivered += 1,
                DeliveryOutcome::Referenced => {
                    counts.delivered += 1;
                    counts.claim_checks += 1;
                }
                DeliveryOutcome::Skipped => counts.skipped += 1,
                DeliveryOutcome::InFailureBucket => counts.in_failure_bucket += 1,
            }
        }
        counts
    }

    fn record(&self, position: RecordPosition) -> &'a RawValue {
        self.records.get(position.0).expect(IN_THE_EVENT).json
    }
}
