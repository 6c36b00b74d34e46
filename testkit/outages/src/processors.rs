//! Whether this machine was too busy for what was measured.

/// The time of all processors, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors {
    idle: u64,
    total: u64,
}

impl Processors {
    /// The time so far; `None` where there is no `/proc`.
    pub(crate) fn now() -> Option<Self> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        Self::parse(&stat)
    }

    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            // The fields after the eighth are the time of guests, which the first two include.
            .take(8)
            .map_while(|ticks| ticks.parse().ok())
            .collect();
        // The fourth is idle, the fifth waits for a disk.
        let idle = ticks.iter().skip(3).take(2).sum();
        let total = ticks.iter().sum();
        Some(Self { idle, total })
    }

    /// The percentage of the time since `earlier` in which the processors were busy.
    pub(crate) fn busy_percent_since(self, earlier: Self) -> u64 {
        let total = self.total.saturating_sub(earlier.total);
        let idle = self.idle.saturating_sub(earlier.idle);
        (total.saturating_sub(idle) * 100)
            .checked_div(total)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Processors;

    #[test]
    fn processors_are_busy_for_what_is_neither_idle_nor_waiting_for_a_disk() {
        let earlier = Processors::parse("cpu  10 0 10 70 10 0 0 0 5 0\ncpu0 1 2 3\n").unwrap();
        let later = Processors::parse("cpu  60 0 30 90 20 0 0 0 5 0\n").unwrap();
        assert_eq!(later.busy_percent_since(earlier), 70);
    }
}
