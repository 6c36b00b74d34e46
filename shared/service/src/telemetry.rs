//! The log: JSON lines on standard output, which Lambda sends to CloudWatch.
//!
//! [`request_log`] writes the line of each request and, for its metric, one more for the reason of
//! a 401; the functions write further lines. All of them go to a [`log`]. Other log lines are
//! `tracing` events of this service's own crates, from INFO on: at TRACE, the runtime logs whole Lambda
//! events and the SDK whole requests, with keys and bodies, so nothing of theirs below WARN is
//! written. The line of a panic has its location, but not its message, which may contain a value.

pub mod log;
pub mod metric;
pub mod request_log;

use std::fmt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::{LookupSpan, SpanRef};
use tracing_subscriber::util::SubscriberInitExt as _;

/// The crates that every function has. A target matches by its beginning, and crates of the SDK
/// begin with `aws_`.
const SHARED: [&str; 4] = ["aws::", "model", "service", "store"];

/// Writes the events of a function, which is in the crate `function`, and its panics to standard
/// output from now on. Called once, at the start of the process.
pub(crate) fn init(function: &str) {
    subscriber(&[function], std::io::stdout).init();
    std::panic::set_hook(Box::new(|panic| {
        let location = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(location, "panic");
    }));
}

/// Writes the events of the functions in these crates to `writer`.
pub fn subscriber<W>(functions: &[&str], writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .map_event_format(WithSpan)
        .with_writer(writer);
    tracing_subscriber::registry().with(lines.with_filter(own_events(functions)))
}

/// Writes an event with the members of its span, the requestId, before its own: the formatter of the
/// library cannot take members of a span out of their object.
struct WithSpan(Format<Json>);

impl<S, N> FormatEvent<S, N> for WithSpan
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
        let mut line = String::new();
        self.0
            .format_event(context, Writer::new(&mut line), event)?;
        let span = context.lookup_current();
        let extensions = span.as_ref().map(SpanRef::extensions);
        let members = extensions
            .as_ref()
            .and_then(|extensions| extensions.get::<FormattedFields<N>>());
        let span_members = members.and_then(|members| members.fields.strip_suffix('}'));
        let own_members = line.strip_prefix('{');
        if let (Some(span_members), Some(own_members)) = (span_members, own_members) {
            write!(writer, "{span_members},{own_members}")
        } else {
            writer.write_str(&line)
        }
    }
}

fn own_events(functions: &[&str]) -> Targets {
    let others = Targets::new().with_default(Level::WARN);
    let own = SHARED.iter().chain(functions);
    own.fold(others, |targets, own| {
        targets.with_target(*own, Level::INFO)
    })
}
