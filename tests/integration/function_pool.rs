//! The processes of a function in a pool: who serves an event, and what replaces a process.

use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use emulator::{Emulator, development_key};
use serde_json::Value;
use testkit::pool::{Pool, PoolOptions};
use testkit::runtime_api::{EventQueue, Invocation};
use testkit::{RequestBuilder, TestApp, build_functions, emulator_options};

/// A pool of the customers function, whose program the test may replace.
struct Customers {
    pool: Arc<Pool>,
    events: EventQueue,
    folder: tempfile::TempDir,
    _emulator: Emulator,
}

impl Customers {
    fn start(at_once: usize, lifetime: RangeInclusive<u64>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let emulator = TestApp::emulator();
        development_key::load(&emulator, testkit::template()).unwrap();
        install(folder.path());
        let process = emulator_options(&folder.path().join("customers"), &emulator.endpoint());
        let events = EventQueue::default();
        let pool = Pool::start(PoolOptions {
            events: events.clone(),
            process: Box::new(move |_| process.clone()),
            at_once,
            lifetime,
            seed: 0,
            report: |_, _| {},
        });
        Self {
            pool,
            events,
            folder,
            _emulator: emulator,
        }
    }

    async fn ping(&self) -> Option<Invocation> {
        self.events
            .invoke(
                RequestBuilder::ping()
                    .key(development_key::API_KEY)
                    .event()
                    .into(),
            )
            .await
    }

    /// How many processes were started when a ping has succeeded.
    async fn started_after_ping(&self) -> u64 {
        let invocation = self.ping().await.unwrap();
        assert_eq!(invocation.json().get("statusCode"), Some(&Value::from(200)));
        self.pool.counts().started
    }
}

/// Puts the program there as cargo does: another file takes the place of the one that runs.
fn install(folder: &Path) {
    // By another process: a child that another test starts meanwhile would have the open file, and
    // a program that is open for writing cannot be run.
    let program = build_functions().unwrap().join("customers");
    assert!(
        Command::new("cp")
            .arg(program)
            .arg(folder.join("new"))
            .status()
            .unwrap()
            .success()
    );
    std::fs::rename(folder.join("new"), folder.join("customers")).unwrap();
}

#[tokio::test]
async fn idle_process_serves_until_its_program_changes() {
    let customers = Customers::start(1, 100..=100);
    assert_eq!(customers.started_after_ping().await, 1);
    assert_eq!(customers.started_after_ping().await, 1);
    std::fs::remove_file(customers.folder.path().join("customers")).unwrap();
    assert_eq!(
        customers.started_after_ping().await,
        1,
        "cargo is writing the program"
    );
    install(customers.folder.path());
    assert_eq!(customers.started_after_ping().await, 2);
    customers.pool.end(Duration::ZERO).await;
}

#[tokio::test]
async fn event_of_a_process_that_ends_gets_no_response() {
    let customers = Customers::start(1, 100..=100);
    std::fs::remove_file(customers.folder.path().join("customers")).unwrap();
    assert!(customers.ping().await.is_none(), "there is no program");
    std::fs::copy("/bin/false", customers.folder.path().join("customers")).unwrap();
    assert!(customers.ping().await.is_none());
    assert_eq!(customers.pool.counts().ended, 1);
    customers.pool.end(Duration::ZERO).await;
}

#[tokio::test]
async fn prepared_process_serves_and_no_other_starts() {
    let customers = Customers::start(1, 1..=1);
    customers.pool.prepare(2).await.unwrap();
    assert_eq!(customers.pool.counts().started, 2);
    assert_eq!(customers.started_after_ping().await, 2);
    assert_eq!(customers.started_after_ping().await, 2);
    assert_eq!(customers.started_after_ping().await, 3, "both had served");
    customers.pool.end(Duration::ZERO).await;
}
