//! The log: JSON lines on standard output, which Lambda sends to CloudWatch.
//!
//! [`request_log`] writes the line of each request and, for their metrics, one more for each code
//! of rejected signals or for the reason of a 401. Other log lines are this service's own, from
//! INFO on: at TRACE, the runtime logs whole Lambda events and the SDK whole requests, with keys
//! and bodies, so nothing of theirs below WARN is written. The line of a panic has its location,
//! but not its message, which may contain a value.

pub mod drain_log;
pub mod emf;
pub mod metric;
pub mod request_log;

use std::fmt;
use std::sync::LazyLock;
use std::time::Instant;

use tracing::field::Field;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::{LookupSpan, SpanRef};
use tracing_subscriber::util::SubscriberInitExt as _;

use self::emf::EMF_TARGET;

/// The crates of this service. A target matches by its beginning, and crates of the SDK begin with
/// `aws_`.
const OWN: [&str; 8] = [
    "aws::",
    "customers",
    "deliver",
    "model",
    "overflow",
    "service",
    "signals",
    "store",
];

/// When the process started.
pub(crate) static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Writes events and panics to standard output from now on. Called once, at the start of the
/// process.
pub fn init() {
    LazyLock::force(&STARTED);
    subscriber(std::io::stdout).init();
    std::panic::set_hook(Box::new(|panic| {
        let location = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(location, "panic");
    }));
}

/// Writes this service's events and the line of each request to `writer`.
pub fn subscriber<W>(writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .map_event_format(Line)
        .with_writer(writer);
    tracing_subscriber::registry().with(lines.with_filter(own_events()))
}

/// How an event becomes a line: one that is a line already as it is, and any other with the members
/// of its span, the requestId, before its own. The formatter of the library can neither nest
/// objects nor take members of a span out of their object.
struct Line(Format<Json>);

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if event.metadata().target() == EMF_TARGET {
            let mut written = Ok(());
            event.record(&mut |_: &Field, line: &dyn fmt::Debug| {
                written = writeln!(writer, "{line:?}")
            });
            return written;
        }
        let span = context.lookup_current();
        let extensions = span.as_ref().map(SpanRef::extensions);
        let members = extensions
            .as_ref()
            .and_then(|extensions| extensions.get::<FormattedFields<N>>());
        let mut line = String::new();
        self.0
            .format_event(context, Writer::new(&mut line), event)?;
        match (
            members.and_then(|members| members.fields.strip_suffix('}')),
            line.strip_prefix('{'),
        ) {
            (Some(members), Some(line)) => write!(writer, "{members},{line}"),
            _ => writer.write_str(&line),
        }
    }
}

fn own_events() -> Targets {
    let others = Targets::new()
        .with_default(Level::WARN)
        .with_target(EMF_TARGET, Level::INFO);
    OWN.iter().fold(others, |targets, own| {
        targets.with_target(*own, Level::INFO)
    })
}
