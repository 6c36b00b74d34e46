//! Deadlines: until when some work may take.

use std::time::{Duration, Instant};

/// The point in time until which some work may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    until: Instant,
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
            until: now.checked_add(duration).unwrap_or(now),
        }
    }

    /// This deadline, or the one `duration` from now if that is sooner.
    #[must_use]
    pub fn at_most(self, duration: Duration) -> Self {
        Self {
            until: self.until.min(Self::after(duration).until),
        }
    }

    /// The deadline `duration` before this one.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self {
            until: self.until.checked_sub(duration).unwrap_or(self.until),
        }
    }

    /// The time left; zero when it has passed.
    pub fn remaining(self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// The point in time, by the process's monotonic clock.
    pub fn instant(self) -> Instant {
        self.until
    }
}

/// Runs `work` until `deadline`, and then drops it.
///
/// # Errors
/// When it did not end before.
pub fn run_until<T>(
    deadline: Deadline,
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, DeadlineExceeded>> {
    // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy it.
    let work = Box::pin(work);
    async move {
        tokio::time::timeout_at(deadline.instant().into(), work)
            .await
            .map_err(|_| DeadlineExceeded)
    }
}
