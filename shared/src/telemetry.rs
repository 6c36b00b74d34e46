//! Where log lines go: JSON on standard output, which Lambda hands to CloudWatch.
//!
//! Only this service's own events are ever written below WARN: the runtime logs whole events and the SDK whole requests
//! at TRACE, keys and bodies included. A panic is written by its place, never by its message, which may quote a value.

use tracing::{Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The variable that says how much is logged: `error`, `warn`, `info`, `debug` or `trace`.
pub const LEVEL_VARIABLE: &str = "LOG_LEVEL";

/// The crates whose events are this service's own.
const OWN: [&str; 3] = ["customers", "signals", "shared"];

/// Sends events to standard output from here on, and panics with them. Called once, first of all.
pub fn init() {
    let level = std::env::var(LEVEL_VARIABLE).ok().and_then(|level| level.parse().ok()).unwrap_or(Level::INFO);
    subscriber(level, std::io::stdout).init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
}

/// What writes this service's events of `level` and above to `writer`, a line of JSON each.
pub fn subscriber<W>(level: Level, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(writer);
    tracing_subscriber::registry().with(layer).with(filter(level))
}

fn filter(level: Level) -> Targets {
    OWN.iter().fold(Targets::new().with_default(level.min(Level::WARN)), |targets, own| targets.with_target(*own, level))
}
