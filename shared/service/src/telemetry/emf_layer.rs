//! Writes events that are already a whole line as they are.
//!
//! The formatter of other events cannot nest objects, which the embedded metric format requires.

use std::io::Write as _;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::Context;

/// The target of events that are already a whole line.
pub(super) const EMF_TARGET: &str = "intake::emf";

/// The field that contains the line.
const FIELD: &str = "line";

/// Writes to `W`.
pub(super) struct EmfLayer<W>(pub(super) W);

impl<S: Subscriber, W: for<'w> MakeWriter<'w> + 'static> Layer<S> for EmfLayer<W> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut Write(&self.0));
    }
}

struct Write<'a, W>(&'a W);

impl<W: for<'w> MakeWriter<'w>> Visit for Write<'_, W> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == FIELD {
            // One write, so that lines of concurrent requests do not mix. If stdout is closed, there is no other output.
            let _ = self.0.make_writer().write_all(format!("{value}\n").as_bytes());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
