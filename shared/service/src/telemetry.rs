//! The log: JSON lines on standard output, which Lambda sends to CloudWatch.
//!
//! [`request_log`] writes the line of each request and, for their metrics, one more for each code of rejected signals or for
//! the reason of a 401. Other log lines are this service's own, from INFO on: at TRACE, the runtime logs whole
//! Lambda events and the SDK whole requests, with keys and bodies, so nothing of theirs below WARN is written. The line of a
//! panic has its location, but not its message, which may contain a value.

pub mod drain_log;
pub mod emf;
mod emf_layer;
pub mod metric;
pub mod request_log;

use std::sync::LazyLock;
use std::time::Instant;

use tracing::{Level, Subscriber};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::emf_layer::{EMF_TARGET, EmfLayer};

/// The crates of this service.
const OWN: [&str; 7] = ["customers", "deliver", "model", "overflow", "service", "signals", "store"];

/// When the process started.
pub(crate) static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Writes events and panics to standard output from now on. Called once, at the start of the process.
pub fn init() {
    LazyLock::force(&STARTED);
    subscriber(std::io::stdout).init();
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(location, "panic");
    }));
}

/// Writes this service's events and the line of each request to `writer`.
pub fn subscriber<W>(writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Clone + Send + Sync + 'static,
{
    let events = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(writer.clone());
    let emf = Targets::new().with_target(EMF_TARGET, Level::TRACE);
    tracing_subscriber::registry().with(events.with_filter(own_events())).with(EmfLayer(writer).with_filter(emf))
}

fn own_events() -> Targets {
    let others = Targets::new().with_default(Level::WARN).with_target(EMF_TARGET, None);
    OWN.iter().fold(others, |targets, own| targets.with_target(*own, Level::INFO))
}
