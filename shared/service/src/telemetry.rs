//! Where log lines go: JSON on standard output, which Lambda hands to CloudWatch.
//!
//! Each request has one line, made by [`mod@request_log`], whatever the level. Other events are this service's own: the runtime
//! logs whole events and the SDK whole requests at TRACE, keys and bodies included, so that of theirs nothing below WARN
//! is ever written. A panic is written by its place, never by its message, which may quote a value.

mod emf_layer;
pub mod request_log;

use tracing::{Level, Subscriber};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use emf_layer::EmfLayer;

/// The variable that says how much is logged: `error`, `warn` or `info`. A release has nothing finer compiled in, neither of
/// its own nor of what it is made of: that is a twentieth of its size.
pub const LEVEL_VARIABLE: &str = "LOG_LEVEL";

/// The target of events that are a whole line already.
pub(crate) const EMF_TARGET: &str = "intake::line";

/// The crates whose events are this service's own.
const OWN: [&str; 5] = ["customers", "model", "service", "signals", "store"];

/// Sends events to standard output from here on, and panics with them. Called once, first of all.
pub fn init() {
    let level = std::env::var(LEVEL_VARIABLE).ok().and_then(|level| level.parse().ok()).unwrap_or(Level::INFO);
    subscriber(level, std::io::stdout).init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
}

/// What writes this service's events of `level` and above, and each request's line, to `writer`.
pub fn subscriber<W>(level: Level, writer: W) -> impl Subscriber + Send + Sync
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
    tracing_subscriber::registry()
        .with(events.with_filter(own_events(level)))
        .with(EmfLayer::new(writer).with_filter(emf))
}

fn own_events(level: Level) -> Targets {
    let others = Targets::new().with_default(level.min(Level::WARN)).with_target(EMF_TARGET, None);
    OWN.iter().fold(others, |targets, own| targets.with_target(*own, level))
}
