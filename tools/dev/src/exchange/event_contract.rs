//! Judges the signals of requests by the event contracts of a folder, with `--contracts`. Must not
//! know what an event contract says.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use axum::body::Bytes;
use contracts::judge::{Contracts, Verdict};

use crate::exchange::signal::ShownSignal;
use crate::terminal::status;

/// The code of what breaks an event contract.
pub(super) const CONTRACT_BROKEN: &str = "contract-broken";

/// The event contracts of a folder.
#[derive(Clone)]
pub(crate) struct EventContracts(Arc<Mutex<Contracts>>);

/// A signal that is to be judged: what the judgement of it needs.
struct UnjudgedSignal {
    /// Its place among the signals of the request.
    index: usize,
    r#type: String,
    data: Option<Bytes>,
}

struct JudgedSignal {
    index: usize,
    verdict: Verdict,
}

impl EventContracts {
    /// # Errors
    /// The folder has no event contract, or it or one of them cannot be used.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let cannot_use = "--contracts cannot be used";
        let contracts = Contracts::read(dir).context(cannot_use)?;
        contracts.ensure_any().context(cannot_use)?;
        Ok(Self(Arc::new(Mutex::new(contracts))))
    }

    /// Judges those signals of a request that are stored or deferred. The others never reach those
    /// with whom the contract was agreed on.
    pub(crate) async fn judge(&self, signals: &mut [ShownSignal]) {
        let unjudged: Vec<_> = signals
            .iter()
            .enumerate()
            .filter(|(_, signal)| signal.is_acknowledged())
            .map(|(index, signal)| UnjudgedSignal {
                index,
                r#type: signal.r#type.clone().unwrap_or_default(),
                data: signal.data.as_ref().map(|data| data.0.clone()),
            })
            .collect();
        let contracts = Arc::clone(&self.0);
        // Large data takes its time, in which other requests are served.
        let judging = tokio::task::spawn_blocking(move || judge_all(&contracts, unjudged));
        let judged = judging
            .await
            .expect("the task is not cancelled, and the judge does not panic");
        for JudgedSignal { index, verdict } in judged {
            if let Some(signal) = signals.get_mut(index) {
                signal.judge(verdict);
            }
        }
    }
}

fn judge_all(contracts: &Mutex<Contracts>, unjudged: Vec<UnjudgedSignal>) -> Vec<JudgedSignal> {
    let mut contracts = contracts.lock().unwrap_or_else(PoisonError::into_inner);
    let mut judged = Vec::with_capacity(unjudged.len());
    for signal in unjudged {
        let data = stored_data(signal.data.as_ref());
        judged.push(JudgedSignal {
            index: signal.index,
            verdict: contracts.judge(&signal.r#type, data),
        });
    }
    for note in contracts.take_notes() {
        status(&note);
    }
    judged
}

/// The data as it is stored: an empty object in place of null, or of none.
fn stored_data(sent: Option<&Bytes>) -> &str {
    let sent = sent.map(|data| std::str::from_utf8(data).expect("a function has read it as text"));
    sent.filter(|data| *data != "null").unwrap_or("{}")
}
