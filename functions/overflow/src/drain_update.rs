//! The drain of a message with the update of a customer.

use model::customer::CustomerUpdate;
use model::json::JsonText;
use store::customers::{NewerField, Upsert};
use store::overflow_messages::{DeferredUpdateHead, MessageError};

use crate::drain_log::{self, DrainedMessage};
use crate::{DrainContext, DrainError, NO_PROGRESS_TIMEOUT, OverflowFunction};

impl OverflowFunction {
    /// Stores the update.
    pub(super) async fn drain_update(
        &self,
        body: &str,
        head: &DeferredUpdateHead<'_>,
        drain_context: DrainContext<'_>,
    ) -> Result<(), DrainError> {
        let text = JsonText::parse(body).map_err(|_| MessageError::Unreadable)?;
        let update = CustomerUpdate::read_accepted(text).map_err(MessageError::from)?;
        let DeferredUpdateHead {
            account_id,
            key_id,
            mark,
            ..
        } = head;
        let upsert = Upsert {
            account_id,
            update: &update,
            mark: *mark,
            newer_field: NewerField::Keep,
            now: drain_context.now,
        };
        let deadline = drain_context.deadline.at_most(NO_PROGRESS_TIMEOUT);
        let stored = self.customers.upsert(upsert, deadline).await;
        stored.map_err(|error| {
            if error.is_refusal() {
                DrainError::Refused(error)
            } else {
                DrainError::Unstored(error.into())
            }
        })?;
        drain_log::write_drained(
            drain_context,
            &DrainedMessage {
                account_id,
                key_id,
                deferred_request_at: mark.updated_at(),
                first_received_at: mark.updated_at(),
                request_identifier: None,
                signals: None,
                is_conflict: false,
            },
        );
        Ok(())
    }
}
