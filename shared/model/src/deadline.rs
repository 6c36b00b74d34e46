//! Until when something has to be done.

use std::time::{Duration, Instant};

/// A point in time after which nobody waits any more. It does not know what is to be done until then.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    until: Instant,
}

/// The budget was spent before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineExceeded;

impl Deadline {
    /// A budget of `duration`, from now.
    #[must_use]
    pub fn after(duration: Duration) -> Self {
        let now = Instant::now();
        Self { until: now.checked_add(duration).unwrap_or(now) }
    }

    /// This budget, or one of `duration` from now if that ends sooner.
    #[must_use]
    pub fn min(self, duration: Duration) -> Self {
        Self { until: self.until.min(Self::after(duration).until) }
    }

    /// This budget, ending `duration` sooner.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self { until: self.until.checked_sub(duration).unwrap_or(self.until) }
    }

    /// What is left.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// When it ends.
    #[must_use]
    pub fn until(self) -> Instant {
        self.until
    }
}
