//! The scenarios of docs/scale.md.

use std::time::Duration;

use fault_proxy::Limits;

/// Clients that send signals.
#[derive(Clone, Debug)]
pub struct Source {
    /// The row of the report.
    pub name: &'static str,
    /// Signals in a second.
    pub rate: u32,
    /// Signals in a request.
    pub batch: usize,
    /// Customers and emitters whom the signals are about, each as often as the others.
    pub subjects: u64,
}

impl Source {
    /// The time between two requests.
    pub(crate) fn interval(&self) -> Duration {
        let batch = u32::try_from(self.batch).unwrap_or(u32::MAX);
        Duration::from_secs(1).saturating_mul(batch) / self.rate.max(1)
    }
}

/// A situation to simulate.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The capacity of each table.
    pub limits: Limits,
    /// Who sends signals.
    pub sources: Vec<Source>,
    /// For how long.
    pub duration: Duration,
    /// Execution environments that Lambda gives the signals function at most.
    pub concurrency: usize,
    /// Concurrent drains: `MaximumConcurrency` of template.yaml.
    pub drains: usize,
    /// Messages that a drain gets: `BatchSize` of template.yaml.
    pub messages: usize,
    /// How long after its delivery a message is delivered again: `VisibilityTimeout` of template.yaml.
    pub visibility_timeout: Duration,
}

/// The scenarios of the page.
pub fn all() -> Vec<Scenario> {
    let spike = spike();
    let fresh = Scenario { sources: clients("new table, 20,000 a second", 20_000, 25), ..spike.clone() };
    let warm = Limits { partitions: 30, ..fresh.limits };
    vec![
        spike.clone(),
        Scenario { sources: clients("the same, 500 signals in a request", 40_000, 500), ..spike.clone() },
        Scenario {
            sources: vec![
                Source { name: "one subject, 5,000 a second", rate: 5_000, batch: 25, subjects: 1 },
                Source { name: "beside it 10,000 others, 1,000 a second", rate: 1_000, batch: 25, subjects: 10_000 },
            ],
            ..spike
        },
        fresh.clone(),
        Scenario { sources: clients("the same, warm throughput of 30,000", 20_000, 25), limits: warm, ..fresh },
    ]
}

/// Scenarios that take too long for a test: a table that grows, since it is throttled for longer than half an hour, and a
/// Lambda that gives more environments than are needed.
pub fn long() -> Vec<Scenario> {
    let sources = clients("new table, 5,000 a second for 40 minutes", 5_000, 25);
    let many_environments = clients("new table, 40,000 a second, Lambda quota of 4,000", 40_000, 25);
    vec![
        Scenario { sources, duration: Duration::from_mins(40), ..spike() },
        Scenario { sources: many_environments, concurrency: 4_000, ..spike() },
    ]
}

/// Ten times what a new table takes.
fn spike() -> Scenario {
    Scenario {
        // A burst does not lift a partition above its 1,000 units a second, so partitions save nothing.
        limits: Limits { burst: Duration::from_secs(1), ..Limits::default() },
        sources: clients("new table, 40,000 a second", 40_000, 25),
        duration: Duration::from_mins(1),
        concurrency: 1_000,
        drains: 2,
        messages: 10,
        visibility_timeout: Duration::from_mins(6),
    }
}

fn clients(name: &'static str, rate: u32, batch: usize) -> Vec<Source> {
    vec![Source { name, rate, batch, subjects: 10_000 }]
}
