//! The write capacity of an on-demand table: partitions with token buckets, and a table that
//! doubles when it is throttled for long.
//!
//! The figures are those of the DynamoDB developer guide: "Partitions and data distribution",
//! "Burst and adaptive capacity", "On-demand capacity mode". Reads are not limited here.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a table can write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityLimits {
    /// Write units that a partition gets in a second.
    pub units_per_partition: f64,
    /// Partitions of a new table.
    pub partitions: usize,
    /// A partition keeps the unused capacity of this long for bursts; of a second at least.
    pub burst: Duration,
    /// A table has twice as many partitions after this long of throttling.
    pub doubles_after: Duration,
}

impl Default for CapacityLimits {
    /// A new on-demand table: 4,000 units a second, bursts of 5 minutes, twice as much after 30
    /// minutes.
    fn default() -> Self {
        Self {
            units_per_partition: 1_000.0,
            partitions: 4,
            burst: Duration::from_mins(5),
            doubles_after: Duration::from_mins(30),
        }
    }
}

/// The capacity of all tables, which several proxies can share.
#[derive(Clone, Debug)]
pub struct Capacity {
    limits: CapacityLimits,
    tables: Arc<Mutex<HashMap<String, TableCapacity>>>,
}

#[derive(Debug)]
struct TableCapacity {
    partitions: Vec<Bucket>,
    /// Since when it has been throttled, as long as it has this many partitions.
    throttled_since: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    units: f64,
    filled_at: Instant,
}

impl Capacity {
    /// Tables that are all new.
    pub fn new(limits: CapacityLimits) -> Self {
        Self {
            limits,
            tables: Arc::default(),
        }
    }

    /// Takes the units of a write of `bytes` to the item with this partition key; `false` when the
    /// write is throttled.
    pub fn take(
        &self,
        table: &str,
        partition_key: &(impl Hash + ?Sized),
        bytes: usize,
        now: Instant,
    ) -> bool {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let table = match tables.get_mut(table) {
            Some(table) => table,
            None => tables
                .entry(table.to_owned())
                .or_insert(TableCapacity::new(&self.limits, now)),
        };
        let is_taken = table.take(&self.limits, partition_key, units(bytes), now);
        if !is_taken {
            table.grow(&self.limits, now);
        }
        is_taken
    }
}

/// A write takes a unit for every KB that was begun.
fn units(bytes: usize) -> f64 {
    let kilobytes = bytes.div_ceil(1_024).max(1);
    f64::from(u32::try_from(kilobytes).unwrap_or(u32::MAX))
}

impl CapacityLimits {
    /// The most units that a partition has at once.
    fn bucket(&self) -> f64 {
        self.units_per_partition * self.burst.as_secs_f64().max(1.0)
    }
}

impl Bucket {
    fn refilled(self, limits: &CapacityLimits, now: Instant) -> Self {
        let seconds = now.saturating_duration_since(self.filled_at).as_secs_f64();
        let refill = seconds * limits.units_per_partition;
        Self {
            units: (self.units + refill).min(limits.bucket()),
            filled_at: now,
        }
    }
}

impl TableCapacity {
    /// A new table has saved nothing for a burst.
    fn new(limits: &CapacityLimits, now: Instant) -> Self {
        let bucket = Bucket {
            units: limits.units_per_partition,
            filled_at: now,
        };
        Self {
            partitions: vec![bucket; limits.partitions.max(1)],
            throttled_since: None,
        }
    }

    fn take(
        &mut self,
        limits: &CapacityLimits,
        partition_key: &(impl Hash + ?Sized),
        units: f64,
        now: Instant,
    ) -> bool {
        let mut hasher = DefaultHasher::new();
        partition_key.hash(&mut hasher);
        let partitions = u64::try_from(self.partitions.len()).unwrap_or(u64::MAX);
        let partition = hasher.finish().checked_rem(partitions).unwrap_or_default();
        let index = usize::try_from(partition).unwrap_or_default();
        let Some(bucket) = self.partitions.get_mut(index) else {
            return false;
        };
        *bucket = bucket.refilled(limits, now);
        if bucket.units < units {
            return false;
        }
        bucket.units -= units;
        true
    }

    /// Splits every partition when the table was throttled for long enough.
    fn grow(&mut self, limits: &CapacityLimits, now: Instant) {
        let since = *self.throttled_since.get_or_insert(now);
        if now.saturating_duration_since(since) < limits.doubles_after {
            return;
        }
        for bucket in &mut self.partitions {
            *bucket = bucket.refilled(limits, now);
            bucket.units /= 2.0;
        }
        self.partitions.extend_from_within(..);
        self.throttled_since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CapacityLimits = CapacityLimits {
        units_per_partition: 10.0,
        partitions: 4,
        burst: Duration::from_secs(3),
        doubles_after: Duration::from_mins(1),
    };

    /// How many of 1,000 writes of a unit the table takes, to one partition key or to many.
    fn taken(capacity: &Capacity, keys: usize, now: Instant) -> usize {
        (0..1_000)
            .filter(|n| capacity.take("Signals", &format!("shop#{}", n % keys), 1, now))
            .count()
    }

    #[test]
    fn partition_takes_its_rate_and_what_it_saved_for_a_burst() {
        let capacity = Capacity::new(LIMITS);
        let began = Instant::now();
        assert_eq!(taken(&capacity, 1, began), 10);
        assert_eq!(taken(&capacity, 1, began + Duration::from_millis(500)), 5);
        assert_eq!(taken(&capacity, 1, began + Duration::from_mins(10)), 30);
    }

    #[test]
    fn table_takes_the_sum_of_its_partitions_and_a_write_a_unit_for_every_kb_that_was_begun() {
        let capacity = Capacity::new(LIMITS);
        let now = Instant::now();
        assert_eq!(taken(&capacity, 500, now), 40);
        assert!(
            capacity.take("Customers", "shop#0", 9 * 1_024 + 1, now),
            "another table has its own"
        );
        assert!(!capacity.take("Customers", "shop#0", 0, now));
    }

    #[test]
    fn table_that_is_throttled_for_long_has_twice_the_partitions() {
        let capacity = Capacity::new(LIMITS);
        let began = Instant::now();
        assert_eq!(taken(&capacity, 500, began), 40);
        let grown = began + LIMITS.doubles_after;
        // What is left of a burst is divided among the new partitions.
        assert!(!capacity.take("Signals", "shop#0", 31 * 1_024, grown));
        assert_eq!(taken(&capacity, 500, grown), 120);
        assert_eq!(taken(&capacity, 500, grown + Duration::from_secs(1)), 80);
    }
}
