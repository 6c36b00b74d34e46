//! The processes of a function in a pool: who serves an event, and what replaces a process.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use emulator::{Emulator, development_key};
use serde_json::Value;
use testkit::pool::{Pool, PoolOptions};
use testkit::runtime_api::{EventQueue, Invocation};
use testkit::{RequestBuilder, TestApp, build_functions, emulator_options};

/// A pool of the customers function, or of another program in its place.
struct Customers {
    pool: Arc<Pool>,
    events: EventQueue,
    _emulator: Emulator,
}

impl Customers {
    fn start(program: Option<&str>, lifetime: RangeInclusive<u64>) -> Self {
        let emulator = TestApp::emulator();
        development_key::load(&emulator, testkit::template()).unwrap();
        let customers = build_functions().unwrap().join("customers");
        let mut process = emulator_options(&customers, &emulator.endpoint());
        if let Some(program) = program {
            process.program = PathBuf::from(program);
        }
        let events = EventQueue::default();
        let pool = Pool::start(PoolOptions {
            events: events.clone(),
            process: Box::new(move |_| process.clone()),
            lifetime,
            seed: 0,
            report: |_, _| {},
        });
        Self {
            pool,
            events,
            _emulator: emulator,
        }
    }

    async fn ping(&self) -> Option<Invocation> {
        let ping = RequestBuilder::ping().key(development_key::API_KEY);
        self.events.invoke(ping.event().into()).await
    }

    /// How many processes were started when a ping has succeeded.
    async fn started_after_ping(&self) -> u64 {
        let invocation = self.ping().await.unwrap();
        assert_eq!(invocation.json().get("statusCode"), Some(&Value::from(200)));
        self.pool.counts().started
    }
}

#[tokio::test]
async fn idle_process_serves_until_its_last_event() {
    let customers = Customers::start(None, 2..=2);
    assert_eq!(customers.started_after_ping().await, 1);
    assert_eq!(customers.started_after_ping().await, 1);
    assert_eq!(customers.started_after_ping().await, 2);
    customers.pool.end(Duration::ZERO).await;
}

#[tokio::test]
async fn event_of_a_process_that_ends_gets_no_response() {
    let missing = Customers::start(Some("/no/such/program"), 100..=100);
    assert!(missing.ping().await.is_none());
    missing.pool.end(Duration::ZERO).await;
    let ending = Customers::start(Some("/bin/false"), 100..=100);
    assert!(ending.ping().await.is_none());
    assert_eq!(ending.pool.counts().ended, 1);
    ending.pool.end(Duration::ZERO).await;
}
