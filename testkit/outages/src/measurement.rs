//! One condition of DynamoDB, measured on all builds at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use fault_proxy::Plan;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use crate::build::Build;
use crate::conditions::{Condition, Disturbance, TimeWindow};
use crate::counts::BuildCounts;
use crate::drain;
use crate::processors::Processors;
use crate::request_kind::RequestKind;
use crate::stack::BuildStack;
use crate::stored;
use crate::traffic::{SentRequests, Traffic, Volley};

/// How long requests are sent before the first fault, so that warm processes are there.
const BEFORE: Duration = Duration::from_secs(3);

/// How long requests are sent after the last fault.
const AFTER: Duration = Duration::from_secs(3);

/// How many connections are lost.
const LOST_CONNECTIONS: u64 = 20;

/// How long after the freeze the requests come that need the lost connections.
const AFTER_FREEZE: Duration = Duration::from_millis(100);

/// Signals for which a process opens this many connections.
const SIGNALS_FOR_ALL_CONNECTIONS: u64 = 500;

/// A request that was sent this late, or processors that were this busy, show that the machine was
/// the bottleneck.
const TOO_LATE: Duration = Duration::from_millis(100);
const TOO_BUSY: u64 = 90;

/// A run that is to be measured, on all builds at once.
#[derive(Clone, Debug)]
pub(crate) struct PlannedRun {
    pub(crate) kind: RequestKind,
    /// Requests a second.
    pub(crate) rate: u32,
    pub(crate) condition: Condition,
    /// How long the fault lasts, or is repeated.
    pub(crate) lasts: Duration,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) run: PlannedRun,
    /// The counts of each build, in the order of the builds.
    pub(crate) counts: Vec<BuildCounts>,
    /// How busy the processors were while requests were sent, in percent.
    pub(crate) busy_percent: Option<u64>,
}

impl PlannedRun {
    /// How messages name the run. `--only` searches this text.
    pub(crate) fn label(&self) -> String {
        let Self {
            kind,
            rate,
            condition,
            ..
        } = self;
        format!("{}, {rate}/s: {}", kind.name(), condition.name)
    }

    /// Measures all builds at once.
    ///
    /// # Errors
    /// When a build cannot be run, or its queue cannot be drained.
    pub(crate) async fn measure(&self, builds: &[Build]) -> Result<Measurement> {
        let mut stacks = Vec::new();
        for build in builds {
            let stack = BuildStack::start(build, self.kind).await?;
            stack.prepare(self.rate).await?;
            stacks.push(stack);
        }
        let start = Instant::now();
        let before = Processors::now();
        let mut measuring = JoinSet::new();
        for (number, stack) in stacks.into_iter().enumerate() {
            let run = self.clone();
            measuring.spawn(async move {
                let counts = run.measure_one(&stack, start).await;
                (number, counts)
            });
        }
        let last_request = self.fault_window(start).end + AFTER;
        sleep_until(last_request.into()).await;
        let busy_percent = Processors::now()
            .zip(before)
            .map(|(now, before)| now.busy_percent_since(before));
        let mut by_number = BTreeMap::new();
        while let Some(done) = measuring.join_next().await {
            let (number, counts) = done.context("a build was not measured")?;
            by_number.insert(number, counts?);
        }
        Ok(Measurement {
            run: self.clone(),
            counts: by_number.into_values().collect(),
            busy_percent,
        })
    }

    /// When there may be faults in a run that starts at `start`.
    fn fault_window(&self, start: Instant) -> TimeWindow {
        let begin = start + BEFORE;
        TimeWindow {
            begin,
            end: begin + self.lasts,
        }
    }

    async fn measure_one(&self, stack: &BuildStack, start: Instant) -> Result<BuildCounts> {
        let whole = self.fault_window(start);
        let windows = self.condition.windows(whole);
        stack.dynamodb.set(self.condition.plan(&windows));
        let freeze = async {
            if self.condition.disturbance == Disturbance::LostConnections {
                sleep_until(whole.begin.into()).await;
                stack.dynamodb.forget_connections();
            }
        };
        let traffic = self.traffic(start);
        let sending = traffic.send(&stack.requests, &stack.key);
        let (sent, ()) = tokio::join!(sending, freeze);
        let SentRequests {
            requests,
            longest_delay,
        } = sent?;
        stack.dynamodb.set(Plan::none());
        let faulted_calls = stack.dynamodb.counts().faulted;
        drain::run(&stack.queue, &stack.drains).await?;
        let lost = stored::count_lost(&stack.emulator, self.kind, &requests)?;
        let ended = stack.ended_processes();
        stack.end().await;
        let mut counts = BuildCounts::count(&requests, &windows);
        counts.lost = lost;
        counts.ended = ended;
        counts.faulted_calls = faulted_calls;
        counts.longest_delay = longest_delay;
        Ok(counts)
    }

    fn traffic(&self, start: Instant) -> Traffic {
        let whole = self.fault_window(start);
        let disturbance = self.condition.disturbance;
        let kind = self.kind;
        let volley = |at, requests, signals| Volley {
            at,
            requests,
            signals,
        };
        let volleys = match (disturbance, kind) {
            (Disturbance::LostConnections, RequestKind::Updates) => {
                // A process has one connection for updates: the second volley needs all of them.
                let second = whole.begin + AFTER_FREEZE;
                vec![
                    volley(start, LOST_CONNECTIONS, 1),
                    volley(second, LOST_CONNECTIONS, 1),
                ]
            }
            (Disturbance::LostConnections, RequestKind::Batches) => {
                // All connections are those of one process, which then serves one batch after
                // another.
                vec![volley(start, 1, SIGNALS_FOR_ALL_CONNECTIONS)]
            }
            _ => Vec::new(),
        };
        Traffic {
            kind,
            rate: self.rate,
            begin: start,
            end: whole.end + AFTER,
            has_hot_customer: disturbance == Disturbance::HotCustomer,
            volleys,
        }
    }
}

impl Measurement {
    /// Whether what must hold does: the fault met calls of every build; without a fault nothing is
    /// deferred by any build; the first build, which is the measured one, loses nothing,
    /// acknowledges everything, and none of its processes ends by itself.
    pub(crate) fn holds(&self) -> bool {
        let keeps_promises = self.counts.first().is_some_and(|counts| {
            counts.lost == 0 && counts.unavailable == 0 && counts.failed == 0 && counts.ended == 0
        });
        keeps_promises && !self.is_disturbed_control() && !self.lacks_its_fault()
    }

    /// Whether a build was to meet a fault, and none of its calls did: such a row says nothing.
    pub(crate) fn lacks_its_fault(&self) -> bool {
        let was_spared = |counts: &BuildCounts| counts.faulted_calls == 0;
        !self.run.condition.is_control() && self.counts.iter().any(was_spared)
    }

    /// Whether a run without a fault deferred or refused something: then the machine was too slow.
    pub(crate) fn is_disturbed_control(&self) -> bool {
        self.run.condition.is_control()
            && self.counts.iter().any(|counts| {
                counts.deferred + counts.deferred_after + counts.unavailable + counts.failed > 0
            })
    }

    /// Whether the machine was too busy for the figures to be those of the builds.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.busy_percent.is_some_and(|percent| percent > TOO_BUSY)
            || self
                .counts
                .iter()
                .any(|counts| counts.longest_delay > TOO_LATE)
            || self.is_disturbed_control()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(condition: Condition, counts: Vec<BuildCounts>) -> Measurement {
        Measurement {
            run: PlannedRun {
                kind: RequestKind::Batches,
                rate: 20,
                condition,
                lasts: Duration::from_secs(1),
            },
            counts,
            busy_percent: None,
        }
    }

    /// Counts of which nothing is to be said, of a condition with faults or without.
    fn counts(faulted_calls: u64) -> BuildCounts {
        BuildCounts {
            faulted_calls,
            ..BuildCounts::count(&[], &[])
        }
    }

    fn with_faults() -> Condition {
        let mut conditions = Condition::all(RequestKind::Batches);
        conditions.remove(0)
    }

    #[test]
    fn measurement_holds_only_while_the_first_build_keeps_its_promises() {
        assert!(measurement(with_faults(), vec![counts(1), counts(1)]).holds());
        let broken = [
            BuildCounts {
                lost: 1,
                ..counts(1)
            },
            BuildCounts {
                unavailable: 1,
                ..counts(1)
            },
            BuildCounts {
                failed: 1,
                ..counts(1)
            },
            BuildCounts {
                ended: 1,
                ..counts(1)
            },
        ];
        for broken in broken {
            let of_first = measurement(with_faults(), vec![broken.clone(), counts(1)]);
            assert!(!of_first.holds(), "{broken:?}");
            let of_second = measurement(with_faults(), vec![counts(1), broken.clone()]);
            assert!(of_second.holds(), "{broken:?}");
        }
    }

    #[test]
    fn measurement_whose_fault_met_no_call_of_a_build_does_not_hold() {
        let spared = measurement(with_faults(), vec![counts(1), counts(0)]);
        assert!(spared.lacks_its_fault());
        assert!(!spared.holds());
    }

    #[test]
    fn control_holds_without_a_fault_and_not_when_a_build_deferred_something() {
        assert!(measurement(Condition::control(), vec![counts(0), counts(0)]).holds());
        let deferring = BuildCounts {
            deferred_after: 1,
            ..counts(0)
        };
        let disturbed = measurement(Condition::control(), vec![counts(0), deferring]);
        assert!(disturbed.is_doubtful());
        assert!(!disturbed.holds());
    }
}
