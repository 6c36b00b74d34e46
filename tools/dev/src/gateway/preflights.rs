//! Preflights that no request follows. The browser then keeps a reason to itself that no request
//! shows, and this says the likely one. Must not know which pages are allowed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method};

use crate::exchange::sent_request::SentRequest;

/// How long a request may take to follow its preflight. Browsers send it at once.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(2);

const WHY_UNFOLLOWED: &str = "no request followed: the page may use credentials: \"include\", which the API does not \
                              allow (leave it out), or it was closed";

/// The preflights that wait for their requests.
#[derive(Default)]
pub(crate) struct Preflights(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    last: u64,
    requests: BTreeMap<u64, PageRequest>,
}

/// What tells the requests of pages apart.
#[derive(PartialEq)]
struct PageRequest {
    origin: String,
    method: String,
    path: String,
}

/// A preflight that waits for its request.
pub(super) struct WaitingPreflight(u64);

impl Preflights {
    /// Waits for the request of this preflight. `None` if it is no preflight.
    pub(super) fn begin(&self, sent: &SentRequest) -> Option<WaitingPreflight> {
        if sent.method != Method::OPTIONS {
            return None;
        }
        let request = PageRequest {
            origin: text_of(&sent.headers, &ORIGIN)?,
            method: text_of(&sent.headers, &ACCESS_CONTROL_REQUEST_METHOD)?,
            path: sent.uri.path().to_owned(),
        };
        let mut waiting = self.waiting();
        waiting.last += 1;
        let number = waiting.last;
        waiting.requests.insert(number, request);
        Some(WaitingPreflight(number))
    }

    /// Ends the wait of the preflights of this request.
    pub(super) fn end(&self, sent: &SentRequest) {
        let Some(origin) = text_of(&sent.headers, &ORIGIN) else {
            return;
        };
        let request = PageRequest {
            origin,
            method: sent.method.to_string(),
            path: sent.uri.path().to_owned(),
        };
        let mut waiting = self.waiting();
        waiting
            .requests
            .retain(|_, preflight| *preflight != request);
    }

    /// Why no request has followed a preflight, if none has.
    pub(super) async fn why_unfollowed(&self, preflight: WaitingPreflight) -> Option<&'static str> {
        tokio::time::sleep(FOLLOWS_WITHIN).await;
        let unfollowed = self.waiting().requests.remove(&preflight.0);
        unfollowed.map(|_| WHY_UNFOLLOWED)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text_of(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    Some(value.to_str().ok()?.to_owned())
}
