//! Any body to the real functions over an emulator: never a 5xx, every signal counted once, nothing that the parser
//! accepted refused by the database, and as much stored as was acknowledged. The first byte says which endpoint.

use std::cell::RefCell;

use tokio::runtime::{Builder, Runtime};

use crate::{RequestBuilder, TestApp};

/// The emulator keeps everything in memory, so it is another one after so many requests.
const REQUESTS_PER_STACK: usize = 500;

struct Fixture {
    runtime: Runtime,
    stack: TestApp,
    requests: usize,
}

impl Fixture {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let stack = runtime.block_on(async { TestApp::start() });
        Self { runtime, stack, requests: 0 }
    }

    fn try_body(&mut self, input: &[u8]) {
        self.requests += 1;
        let Self { runtime, stack, requests } = self;
        runtime.block_on(async {
            let account = format!("account-{requests}");
            let key = stack.key(&account).await;
            let (endpoint, body) = input.split_first().map_or((0, input), |(first, rest)| (first % 3, rest));
            let call = match endpoint {
                0 => RequestBuilder::signals(""),
                1 => RequestBuilder::customer(""),
                _ => RequestBuilder::customer("").method("PATCH"),
            };
            let answer = stack.send(call.key(&key).bytes(body)).await;
            assert!(answer.status < 500, "{}", answer.text);
            assert!(!answer.text.contains("refused-by-store"), "{}", answer.text);
            let json = answer.json();
            let count = |name: &str| json[name].as_u64();
            if let Some(received) = count("received") {
                assert_eq!(count("accepted").zip(count("rejected")).map(|(one, other)| one + other), Some(received));
                let pages = stack.items("SignalsTable").await;
                let stored =
                    pages.iter().filter(|item| item["accountId"].as_s().is_ok_and(|id| *id == account)).count();
                assert_eq!(Some(stored as u64), count("accepted"));
            }
        });
    }
}

thread_local! {
    static FIXTURE: RefCell<Option<Fixture>> = const { RefCell::new(None) };
}

/// Tries one input.
pub(super) fn check(input: &[u8]) {
    FIXTURE.with_borrow_mut(|fixture| {
        if fixture.as_ref().is_some_and(|fixture| fixture.requests >= REQUESTS_PER_STACK) {
            *fixture = None;
        }
        fixture.get_or_insert_with(Fixture::new).try_body(input);
    });
}
