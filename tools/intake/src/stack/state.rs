//! What the state of a CloudFormation stack means to an operator. Must not know which command asks.

use anyhow::{Result, ensure};
use aws_sdk_cloudformation::types::StackStatus;

use crate::check_result::CheckOutcome;

/// The state of a deployed stack.
#[derive(Clone, Debug)]
pub(crate) struct StackState {
    stack: String,
    status: StackStatus,
}

/// What a state means.
enum Meaning {
    /// The stack works, or will when a deployment has ended.
    Usable(&'static str),
    /// Something has to be done first.
    Unusable(&'static str),
}

impl StackState {
    pub(super) fn new(stack: String, status: StackStatus) -> Self {
        Self { stack, status }
    }

    fn meaning(&self) -> Meaning {
        match self.status {
            StackStatus::CreateComplete
            | StackStatus::ImportComplete
            | StackStatus::UpdateComplete => Meaning::Usable("no deployment is in progress"),
            StackStatus::ImportRollbackComplete | StackStatus::UpdateRollbackComplete => {
                Meaning::Usable("the last deployment failed and was rolled back")
            }
            StackStatus::ImportInProgress
            | StackStatus::ImportRollbackInProgress
            | StackStatus::UpdateCompleteCleanupInProgress
            | StackStatus::UpdateInProgress
            | StackStatus::UpdateRollbackCompleteCleanupInProgress
            | StackStatus::UpdateRollbackInProgress => {
                Meaning::Usable("a deployment is in progress")
            }
            StackStatus::ReviewInProgress => {
                Meaning::Unusable("its first deployment was not executed. Deploy it")
            }
            StackStatus::CreateInProgress => {
                Meaning::Unusable("it is being created. Wait until that ends")
            }
            StackStatus::CreateFailed
            | StackStatus::RollbackComplete
            | StackStatus::RollbackFailed
            | StackStatus::RollbackInProgress => Meaning::Unusable(
                "its creation failed. docs/operate.md says what to do when a deployment fails",
            ),
            StackStatus::UpdateFailed => Meaning::Unusable(
                "its last deployment failed and was not rolled back. Remove the cause, and deploy again",
            ),
            StackStatus::ImportRollbackFailed | StackStatus::UpdateRollbackFailed => {
                Meaning::Unusable(
                    "its last deployment failed, and so did the rollback. docs/operate.md says what to do when a deployment fails",
                )
            }
            StackStatus::DeleteInProgress => Meaning::Unusable("it is being deleted"),
            StackStatus::DeleteFailed => Meaning::Unusable(
                "its deletion failed. Its events name the reason; delete it again",
            ),
            StackStatus::DeleteComplete => Meaning::Unusable("it was deleted"),
            _ => Meaning::Usable("this command line does not know that state"),
        }
    }

    /// Whether the stack can be used, for `doctor`.
    pub(crate) fn check(&self) -> CheckOutcome {
        if self.is_unusable() {
            CheckOutcome::failed(self.explain())
        } else {
            CheckOutcome::held(self.explain())
        }
    }

    /// The state, what it means, and what to do.
    pub(super) fn explain(&self) -> String {
        let text = match self.meaning() {
            Meaning::Usable(text) | Meaning::Unusable(text) => text,
        };
        format!("{}: {text}", self.status)
    }

    /// Whether what the stack lacks is explained by its state.
    pub(super) fn is_unusable(&self) -> bool {
        matches!(self.meaning(), Meaning::Unusable(_))
    }

    /// # Errors
    /// The stack is being deleted, was, or is left of a deletion that failed.
    pub(crate) fn ensure_not_deleted(&self) -> Result<()> {
        let is_deleted = matches!(
            self.status,
            StackStatus::DeleteInProgress | StackStatus::DeleteFailed | StackStatus::DeleteComplete
        );
        ensure!(
            !is_deleted,
            "The stack {} is in the state {}.",
            self.stack,
            self.explain()
        );
        Ok(())
    }
}
