//! Any bytes as the event of an invocation: both functions answer with a response that is no 5xx and, unless it is a
//! success, a problem. The key of the examples in `events/` is valid.

use std::cell::RefCell;

use emulator::development_key;
use tokio::runtime::{Builder, Runtime};

use crate::{TestApp, template};

/// The emulator keeps everything in memory, so it is another one after so many events.
const EVENTS_PER_STACK: usize = 2_000;

struct Fixture {
    runtime: Runtime,
    stack: TestApp,
    events: usize,
}

impl Fixture {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let stack = runtime.block_on(async { TestApp::start() });
        development_key::load(&stack.emulator, template()).expect("the key can be stored");
        Self { runtime, stack, events: 0 }
    }

    fn try_event(&mut self, event: &[u8]) {
        self.events += 1;
        for answer in self.runtime.block_on(self.stack.invoke(event)) {
            assert!((200..500).contains(&answer.status), "{}", answer.text);
            assert!(!answer.header("x-request-id").is_empty());
            if answer.status >= 400 {
                let body = answer.json();
                answer.assert_problem(answer.status, body["code"].as_str().expect("a code"));
            }
        }
    }
}

thread_local! {
    static FIXTURE: RefCell<Option<Fixture>> = const { RefCell::new(None) };
}

/// Tries one input.
pub(super) fn check(event: &[u8]) {
    FIXTURE.with_borrow_mut(|fixture| {
        if fixture.as_ref().is_some_and(|fixture| fixture.events >= EVENTS_PER_STACK) {
            *fixture = None;
        }
        fixture.get_or_insert_with(Fixture::new).try_event(event);
    });
}
