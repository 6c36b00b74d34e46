//! `POST /api/event-flows/signal`: the story of one request.
//!
//! Steps are put in order here; how each is done stands in [`shared`].

use std::time::Duration;

use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::answer::{self, Answer, Record};
use shared::auth::{Authenticator, Caller};
use shared::digest::Digest;
use shared::environment::{self, Missing};
use shared::invocation::{Budget, Invocation};
use shared::model::batch::{Batch, BatchFault};
use shared::model::fault::{Fault, FaultCode, Path, Warning};
use shared::model::identifier::RequestIdentifier;
use shared::model::timestamp::Timestamp;
use shared::problem::{NothingAccepted, Problem};
use shared::request::{self, Route};
use shared::store::StoreError;
use shared::store::api_keys::ApiKeys;
use shared::store::client;
use shared::store::requests::{Claim, Claimed, Requests};
use shared::store::signals::Origin;

/// The paths that this function answers.
pub const ROUTES: &[Route] = &[Route { path: "/api/event-flows/signal", methods: &["POST"] }];

/// What is kept back of the storage's time to write a claim after all, when the signals could not be written whole.
const FOR_A_LATE_CLAIM: Duration = Duration::from_millis(500);

/// The function: whose requests it may do, and where signals and claims are.
#[derive(Debug)]
pub struct Signals {
    authenticator: Authenticator,
    requests: Requests,
    table: shared::store::signals::Signals,
}

impl Signals {
    /// The function as its environment describes it.
    ///
    /// # Errors
    /// When a variable is missing.
    pub async fn from_environment() -> Result<Self, Missing> {
        let (keys, requests) = (environment::variable("API_KEYS_TABLE")?, environment::variable("REQUESTS_TABLE")?);
        let (table, days) = (environment::variable("SIGNALS_TABLE")?, environment::whole_number("SIGNAL_RETENTION_DAYS")?);
        let retention = (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60)));
        let client = client::from_environment().await;
        Ok(Self::new(
            ApiKeys::new(client.clone(), keys),
            Requests::new(client.clone(), requests),
            shared::store::signals::Signals::new(client, table, retention),
        ))
    }

    /// The function over these tables.
    #[must_use]
    pub fn new(keys: ApiKeys, requests: Requests, table: shared::store::signals::Signals) -> Self {
        Self { authenticator: Authenticator::new(keys), requests, table }
    }

    /// Answers one request, whatever it is.
    pub async fn handle(&self, request: &Request, invocation: &Invocation) -> Response<Body> {
        answer::conclude(invocation, async |record| self.accept(request, invocation, record).await).await
    }

    async fn accept(&self, request: &Request, invocation: &Invocation, record: &mut Record) -> Result<Answer, Problem> {
        record.route(request::route(ROUTES, request)?);
        let caller = self.authenticator.authenticate(request.headers(), invocation).await?;
        record.caller(&caller);
        let body = request::read_body(request)?;
        record.bytes(body.len());
        let batch = Batch::parse(request::parse_json(&body)?).map_err(refusal)?;
        let strict = request::prefers_strict_handling(request.headers());
        if batch.signals.is_empty() || (strict && !batch.rejected.is_empty()) {
            record.signals(batch.received(), 0, false);
            return Err(nothing_accepted(batch));
        }
        let stored = self.store(&caller, &body, &batch, invocation).await?;
        record.signals(batch.received(), stored.accepted(&batch), stored.replayed);
        stored.answer(batch, record)
    }

    /// Claims the request, if its caller named it, and writes its valid signals.
    async fn store(
        &self,
        caller: &Caller,
        body: &str,
        batch: &Batch<'_>,
        invocation: &Invocation,
    ) -> Result<Stored, Problem> {
        let request_identifier = batch.request_identifier.clone().unwrap_or_else(RequestIdentifier::random);
        let claim = Claim {
            account_id: &caller.account_id,
            request_identifier: &request_identifier,
            body_hash: Digest::of(body),
        };
        let named = batch.request_identifier.is_some();
        let replay_of = if named { self.claim(claim, invocation).await? } else { None };
        let received_at = replay_of.unwrap_or(invocation.arrived);
        let origin = Origin { account_id: &caller.account_id, request_identifier: &request_identifier, received_at };
        match self.table.put(origin, &batch.signals, invocation.budget.less(FOR_A_LATE_CLAIM)).await {
            Ok(refused) => Ok(Stored { request_identifier, replayed: replay_of.is_some(), refused }),
            Err(error) => {
                let claimed = named || self.claim_late(claim, invocation).await;
                Err(Problem::StorageUnavailable { error, retry_with: claimed.then_some(request_identifier) })
            }
        }
    }

    /// When the request first arrived, if this is a retry.
    async fn claim(&self, claim: Claim<'_>, invocation: &Invocation) -> Result<Option<Timestamp>, Problem> {
        match self.requests.claim(claim, invocation, invocation.budget).await {
            Ok(Claimed::First) => Ok(None),
            Ok(Claimed::Retry { received_at }) => Ok(Some(received_at)),
            Ok(Claimed::Reused) => Err(Problem::RequestIdentifierReused),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Whether a retry with this identifier will write the same items over themselves.
    async fn claim_late(&self, claim: Claim<'_>, invocation: &Invocation) -> bool {
        let budget = Budget::lasting(FOR_A_LATE_CLAIM);
        matches!(self.requests.claim(claim, invocation, budget).await, Ok(Claimed::First))
    }
}

/// What came of the signals that were written.
struct Stored {
    request_identifier: RequestIdentifier,
    replayed: bool,
    refused: Vec<usize>,
}

impl Stored {
    fn accepted(&self, batch: &Batch<'_>) -> usize {
        batch.signals.len().saturating_sub(self.refused.len())
    }

    fn answer(self, batch: Batch<'_>, record: &mut Record) -> Result<Answer, Problem> {
        let (received, accepted) = (batch.received(), self.accepted(&batch));
        let mut faults: Vec<(usize, Vec<Fault>)> =
            batch.rejected.into_iter().map(|rejected| (rejected.index, rejected.faults)).collect();
        faults.extend(self.refused.iter().map(|index| (*index, vec![refused_by_store(*index)])));
        faults.sort_by_key(|(index, _)| *index);
        let rejected = received.saturating_sub(accepted);
        let faults: Vec<Fault> = faults.into_iter().flat_map(|(_, faults)| faults).collect();
        let request_identifier = self.request_identifier.as_sent().to_owned();
        if accepted == 0 {
            let (replayed, warnings) = (false, batch.warnings);
            let counts = NothingAccepted { request_identifier, received, accepted, rejected, replayed, warnings, faults };
            return Err(Problem::NothingAccepted(Box::new(counts)));
        }
        record.faults(&faults);
        Ok(Answer::json(&Accepted {
            request_identifier,
            received,
            accepted,
            rejected,
            replayed: self.replayed,
            field_errors: faults,
            warnings: batch.warnings,
        }))
    }
}

/// SPEC 2.3.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Accepted {
    request_identifier: String,
    received: usize,
    accepted: usize,
    rejected: usize,
    replayed: bool,
    field_errors: Vec<Fault>,
    warnings: Vec<Warning>,
}

fn refusal(fault: BatchFault) -> Problem {
    match fault {
        BatchFault::Invalid(faults) => Problem::ValidationFailed(faults),
        BatchFault::TooManySignals { sent } => Problem::TooManySignals { sent },
    }
}

fn nothing_accepted(batch: Batch<'_>) -> Problem {
    let request_identifier = batch.request_identifier.clone().unwrap_or_else(RequestIdentifier::random);
    Problem::NothingAccepted(Box::new(NothingAccepted {
        request_identifier: request_identifier.as_sent().to_owned(),
        received: batch.received(),
        accepted: 0,
        rejected: batch.rejected.len(),
        replayed: false,
        warnings: batch.warnings,
        faults: batch.rejected.into_iter().flat_map(|rejected| rejected.faults).collect(),
    }))
}

fn refused_by_store(index: usize) -> Fault {
    let signals = Path::Member(&Path::Root, "signals");
    Fault::new(&Path::Element(&signals, index), FaultCode::RefusedByStore, "was refused by the database")
}

/// A claim that DynamoDB refuses is a defect of this service: everything in it is made here.
fn unavailable(error: StoreError) -> Problem {
    match error {
        StoreError::Refused | StoreError::ItemTooLarge => Problem::InternalError,
        error @ StoreError::Unavailable(_) => Problem::StorageUnavailable { error, retry_with: None },
    }
}
