//! What each fuzz target does with an input. `cargo test` tries the inputs of tests/fuzz/corpus; `.ci/fuzz` looks for new ones.
//! Must not know who calls it.

mod event;
mod headers;
mod request;

use std::cell::RefCell;

use emulator::development_key;
use tokio::runtime::{Builder, Runtime};

use crate::{TestApp, template};

/// Tries one input, and panics when it does not hold.
pub type Check = fn(&[u8]);

/// Every target: the name of its folder in tests/fuzz/corpus, and what it does.
pub const TARGETS: [(&str, Check); 3] =
    [("event", event::check), ("headers", headers::check), ("request", request::check)];

/// The emulator keeps everything in memory, so it is another one after so many inputs.
const INPUTS_PER_APP: usize = 500;

/// An app that knows the key of the examples in `events/`, and how many inputs it has had.
struct Fixture {
    runtime: Runtime,
    app: TestApp,
    inputs: usize,
}

impl Fixture {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let app = runtime.block_on(async { TestApp::start() });
        development_key::load(&app.emulator, template()).expect("the key can be stored");
        Self { runtime, app, inputs: 0 }
    }
}

thread_local! {
    static FIXTURE: RefCell<Option<Fixture>> = const { RefCell::new(None) };
}

/// Tries an input, whose number is that of no other input of the same app.
fn on_app(work: impl AsyncFnOnce(&TestApp, usize)) {
    FIXTURE.with_borrow_mut(|fixture| {
        drop(fixture.take_if(|fixture| fixture.inputs >= INPUTS_PER_APP));
        let Fixture { runtime, app, inputs } = fixture.get_or_insert_with(Fixture::new);
        *inputs += 1;
        runtime.block_on(work(app, *inputs));
    });
}
