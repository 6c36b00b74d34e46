//! How far the clocks of processes are ahead, which differ as those of execution environments do.
//! This module must not know what a process does.

use std::time::Duration;

/// How far the clock of any process is ahead, at most.
pub(super) const MAX_AHEAD: Duration = Duration::from_mins(1);

/// One process of this many is ahead by that.
const FAR_AHEAD_EVERY: u64 = 16;

/// How far the others are ahead, in turn.
const AHEAD: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(700),
    Duration::from_secs(2),
];

/// How far the clock of the `number`-th process of a pool is ahead.
pub(super) fn ahead(number: u64) -> Duration {
    if number % FAR_AHEAD_EVERY == FAR_AHEAD_EVERY / 2 {
        return MAX_AHEAD;
    }
    let turn = usize::try_from(number).unwrap_or_default() % AHEAD.len();
    AHEAD[turn]
}
