//! What happened in a run: its hash, and its lines where a story is to be told. A run of the same
//! seed has the same.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use crate::aws::call::Call;
use crate::aws::call_outcome::CallOutcome;
use crate::aws::faults::{Effect, PlannedCall};

/// What happened in a run so far.
#[derive(Debug, Default)]
pub struct Trace {
    hasher: DefaultHasher,
    lines: Option<Vec<Line>>,
}

/// One line of a story.
#[derive(Clone, Debug)]
pub struct Line {
    /// Since the beginning of the run.
    pub at: Duration,
    pub who: String,
    pub text: String,
}

impl Trace {
    /// A trace that records every line.
    pub fn with_lines() -> Self {
        Self {
            lines: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// The hash of all that happened so far.
    pub fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    /// All lines, if they are recorded.
    pub fn take_lines(&mut self) -> Vec<Line> {
        self.lines.take().unwrap_or_default()
    }

    /// Adds what a client or an operator did.
    pub(crate) fn note(&mut self, at: Duration, who: &str, text: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(Line {
                at,
                who: who.to_owned(),
                text: text(),
            });
        }
    }

    /// Adds a call that takes effect now.
    pub(crate) fn add_call(
        &mut self,
        at: Duration,
        who: &str,
        call: &Call,
        planned: &PlannedCall,
        outcome: &CallOutcome,
    ) {
        at.hash(&mut self.hasher);
        who.hash(&mut self.hasher);
        call.operation.hash(&mut self.hasher);
        call.body.to_string().hash(&mut self.hasher);
        if let CallOutcome::Response(response) = outcome {
            response.status.hash(&mut self.hasher);
            response.body.to_string().hash(&mut self.hasher);
        }
        self.note(at, who, || {
            let mut text = call.to_string();
            let effect = match &planned.effect {
                Effect::None => " has no effect;".to_owned(),
                Effect::Whole => String::new(),
                Effect::First(count) => format!(" writes {count} items;"),
                Effect::Without(hot) => format!(" writes all items but those of {hot};"),
            };
            let heard = match outcome {
                CallOutcome::Response(response) => {
                    let code = response.body["__type"].as_str().unwrap_or_default();
                    let code = code.rsplit('#').next().unwrap_or_default();
                    format!("{} {code}", response.status)
                }
                CallOutcome::Bytes { status, .. } => status.to_string(),
                CallOutcome::ConnectionLost => "a lost connection".to_owned(),
                CallOutcome::Never => "nothing".to_owned(),
            };
            let _ = write!(text, " ->{effect} the caller gets {}", heard.trim_end());
            text
        });
    }
}
