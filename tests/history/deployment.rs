//! What a run needs of AWS: the tables, the queue, the key snapshot, and the three functions as
//! processes, each with a way of its own to DynamoDB. This module must not know what is sent.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use consistency::generated::account_id;
use emulator::Emulator;
use emulator::fault_proxy::{Fault, FaultProxy, Plan};
use emulator::sqs::FakeSqs;
use harness::fake_s3::FakeS3;
use harness::{TestApp, build_functions, create_keys_with_snapshot, emulator_options};
use processes::function_process::ProcessOptions;
use processes::process_clock::ProcessClock;
use processes::runtime_api::EventQueue;

use crate::function::Processes;

/// How long signals are kept.
pub(super) const RETENTION: Duration = Duration::from_hours(30 * 24);

/// Accounts, each with one key.
pub(super) const ACCOUNTS: u32 = 3;

/// How far the clock of any process is ahead, at most.
pub(super) const MAX_AHEAD: Duration = Duration::from_secs(2);

/// How far the clocks of the processes are ahead, in turn.
const AHEAD: [Duration; 3] = [Duration::ZERO, Duration::from_millis(700), MAX_AHEAD];

pub(super) struct Deployment {
    emulator: Emulator,
    pub(super) queue: Arc<FakeSqs>,
    _s3: FakeS3,
    pub(super) signals: DeployedFunction,
    pub(super) customers: DeployedFunction,
    pub(super) overflow: DeployedFunction,
    /// The API keys of the accounts. The table and the snapshot have them.
    pub(super) keys: Vec<String>,
}

/// A function, with its own way to DynamoDB.
pub(super) struct DeployedFunction {
    pub(super) processes: Processes,
    pub(super) events: EventQueue,
    proxy: FaultProxy,
}

impl Deployment {
    /// Builds the functions, and starts everything.
    ///
    /// # Errors
    /// When the clock or a function cannot be compiled, or a program cannot be started.
    pub(super) async fn start() -> Result<Self> {
        let programs = build_functions()?;
        let emulator = TestApp::emulator();
        let clock = Arc::new(ProcessClock::compile()?);
        let queue = FakeSqs::start().await?;
        let s3 = FakeS3::start().await?;
        let accounts: Vec<_> = (0..ACCOUNTS).map(account_id).collect();
        let keys = create_keys_with_snapshot(&emulator.endpoint(), &s3, &accounts).await;
        let start = async |name: &str| {
            let proxy = FaultProxy::start(&emulator.endpoint(), faults()).await?;
            let program = programs.join(name);
            let mut process = emulator_options(&program, &proxy.endpoint(), &queue, &s3);
            let retention_days = RETENTION.as_secs() / 86_400;
            process.variables.push((
                "SIGNAL_RETENTION_DAYS".to_owned(),
                retention_days.to_string().into(),
            ));
            anyhow::Ok(DeployedFunction::start(&process, proxy, &clock))
        };
        let signals = start("signals").await?;
        let customers = start("customers").await?;
        let overflow = start("overflow").await?;
        Ok(Self {
            emulator,
            queue: Arc::new(queue),
            _s3: s3,
            signals,
            customers,
            overflow,
            keys,
        })
    }

    pub(super) fn functions(&self) -> [&DeployedFunction; 3] {
        [&self.signals, &self.customers, &self.overflow]
    }

    /// DynamoDB is unavailable for all functions from here on.
    pub(super) fn begin_outage(&self) {
        for function in self.functions() {
            function.proxy.set(Fault::ResetBefore.always());
        }
    }

    /// DynamoDB is back, with the faults of single calls.
    pub(super) fn end_outage(&self) {
        for function in self.functions() {
            function.proxy.set(faults());
        }
    }

    /// Ends all faults.
    pub(super) fn end_faults(&self) {
        for function in self.functions() {
            function.proxy.set(Plan::none());
        }
    }

    /// How many calls to DynamoDB had a fault.
    pub(super) fn faulted_calls(&self) -> u64 {
        let counts = self.functions().map(|function| function.proxy.counts());
        counts.iter().map(|counts| counts.faulted).sum()
    }

    /// How many invocations ended in an error.
    pub(super) fn errors(&self) -> u64 {
        let errors = self.functions().map(|function| function.events.errors());
        errors.iter().sum()
    }

    /// Ends the functions, and waits until nothing that they sent is on its way.
    pub(super) async fn end(&mut self) {
        for function in [&mut self.signals, &mut self.customers, &mut self.overflow] {
            function.processes.end().await;
            function.proxy.idle().await;
        }
    }

    /// The emulator alone, with what is stored in it. Everything else is dropped.
    pub(super) fn into_emulator(self) -> Emulator {
        self.emulator
    }
}

impl DeployedFunction {
    /// Starts processes with these options.
    fn start(options: &ProcessOptions, proxy: FaultProxy, clock: &Arc<ProcessClock>) -> Self {
        let events = options.events.clone();
        Self {
            processes: Processes::start(options, clock),
            events,
            proxy,
        }
    }
}

/// How far the clock of the `number`-th process of a function is ahead.
pub(super) fn ahead(number: u64) -> Duration {
    let turn = usize::try_from(number).unwrap_or_default() % AHEAD.len();
    AHEAD[turn]
}

/// What happens to single calls on sockets: connections break before and after the call, a response
/// is cut, or none comes.
fn faults() -> Plan {
    Plan::new([
        Fault::ResetBefore.in_share(0.02),
        Fault::ResetAfter.in_share(0.02),
        Fault::CutBody.in_share(0.01),
        Fault::Hanging.in_share(0.001),
    ])
}
