//! Deadlines: the points in time by which work must end.

use std::time::Duration;

use tokio::time::Instant;

/// The point in time by which some work must end.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    instant: Instant,
}

/// The deadline passed before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the deadline passed")]
pub struct DeadlineExceeded;

impl Deadline {
    /// The deadline `duration` from now.
    pub fn after(duration: Duration) -> Self {
        let now = Instant::now();
        Self {
            instant: now.checked_add(duration).unwrap_or(now),
        }
    }

    /// This deadline, or the one `duration` from now if that is sooner.
    #[must_use]
    pub fn at_most(self, duration: Duration) -> Self {
        Self {
            instant: self.instant.min(Self::after(duration).instant),
        }
    }

    /// The deadline `duration` before this one.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self {
            instant: self.instant.checked_sub(duration).unwrap_or(self.instant),
        }
    }

    /// The time left; zero when it has passed.
    pub fn remaining(self) -> Duration {
        self.instant.saturating_duration_since(Instant::now())
    }

    /// The point in time, by the process's monotonic clock.
    pub fn instant(self) -> Instant {
        self.instant
    }
}

/// Runs `work` until `deadline`, and then drops it.
///
/// # Errors
/// [`DeadlineExceeded`] when the work did not end before.
pub fn run_until<T>(
    deadline: Deadline,
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, DeadlineExceeded>> {
    // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy it.
    let work = Box::pin(work);
    async move {
        tokio::time::timeout_at(deadline.instant(), work)
            .await
            .map_err(|_| DeadlineExceeded)
    }
}
