//! `POST /api/event-flows/signal`: the story of one request.
//!
//! Steps are put in order here; how each is done is in [`model`], [`store`] and [`service`].

mod outcome;

use std::time::Duration;

use lambda_http::{Body, Request, Response};
use model::batch::{Batch, BatchFault};
use model::deadline::Budget;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;
use service::auth::{Authenticator, Caller};
use service::config::{self, Unusable};
use service::invocation::Invocation;
use service::problem::Problem;
use service::request::{self, Route};
use service::response::{self, Answer};
use service::telemetry::line::{Record, Signals as Counts};
use store::api_keys::ApiKeys;
use store::client;
use store::rejected_signals::{Kept, RejectedSignals};
use store::requests::{Claim, Claimed, Moment, Requests};
use store::signals::Origin;
use store::{StoreError, WRITE_TIMEOUT};

use crate::outcome::Outcome;

/// The paths that this function answers.
pub const ROUTES: &[Route] = &[Route { path: "/api/event-flows/signal", methods: &["POST"] }];

/// What is kept back of the storage's time to write a claim after all, when the signals could not be written whole.
const FOR_A_LATE_CLAIM: Duration = Duration::from_millis(500);

/// How long keeping rejected signals may take: it must not cost the accepted ones their answer.
const FOR_KEEPING: Duration = Duration::from_secs(2);

/// The function: whose requests it may do, and where signals and claims are.
#[derive(Debug)]
pub struct Signals {
    authenticator: Authenticator,
    requests: Requests,
    table: store::signals::Signals,
    rejected: RejectedSignals,
}

impl Signals {
    /// The function as its environment describes it.
    ///
    /// # Errors
    /// When a variable is missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub async fn from_environment() -> Result<Self, Unusable> {
        let (keys, requests) = (config::variable("API_KEYS_TABLE")?, config::variable("REQUESTS_TABLE")?);
        let (table, rejected) = (config::variable("SIGNALS_TABLE")?, config::variable("REJECTED_SIGNALS_TABLE")?);
        let days = config::whole_number("SIGNAL_RETENTION_DAYS")?;
        let retention = (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60)));
        let client = client::from_environment().await?;
        Ok(Self::new(
            ApiKeys::new(client.clone(), keys),
            Requests::new(client.clone(), requests),
            store::signals::Signals::new(client.clone(), table, retention),
            RejectedSignals::new(client, rejected),
        ))
    }

    /// The function over these tables.
    #[must_use]
    pub fn new(keys: ApiKeys, requests: Requests, table: store::signals::Signals, rejected: RejectedSignals) -> Self {
        Self { authenticator: Authenticator::new(keys), requests, table, rejected }
    }

    /// Does what the first request would otherwise wait for: see [`Authenticator::warm_up`].
    pub async fn warm_up(&self) {
        self.authenticator.warm_up().await;
    }

    /// Answers one request, whatever it is.
    pub async fn handle(&self, request: &Request, invocation: &Invocation) -> Response<Body> {
        response::conclude(invocation, async |record| self.accept(request, invocation, record).await).await
    }

    async fn accept(&self, request: &Request, invocation: &Invocation, record: &mut Record) -> Result<Answer, Problem> {
        let route = request::route(ROUTES, request)?;
        record.route(route);
        if request::asks_for_options(request) {
            return Ok(Answer::Options(route));
        }
        let caller = self.authenticator.authenticate(request.headers(), invocation).await?;
        record.caller(&caller);
        let body = request::read_body(request)?;
        record.bytes(body.len());
        let batch = Batch::parse(request::parse_json(&body)?).map_err(refusal)?;
        let request_identifier = batch.request_identifier.clone().unwrap_or_else(RequestIdentifier::random);
        if !batch.rejected.is_empty() && request::prefers_strict_handling(request.headers()) {
            record.signals(Counts { received: batch.received(), accepted: 0, replayed: false });
            return Err(outcome::refuse_whole(&request_identifier, batch));
        }
        let outcome = self.store(&caller, &body, batch, request_identifier, invocation, record).await?;
        record.signals(outcome.counts());
        let (answer, faults) = outcome.answer()?;
        record.faults(&faults);
        Ok(answer)
    }

    /// Claims the request, if its caller named it and something of it is valid, and writes its signals: the valid ones
    /// to be kept, the others to be looked at.
    async fn store<'a>(
        &self,
        caller: &Caller,
        body: &str,
        batch: Batch<'a>,
        request_identifier: RequestIdentifier,
        invocation: &Invocation,
        record: &mut Record,
    ) -> Result<Outcome<'a>, Problem> {
        let claim = Claim {
            account_id: &caller.account_id,
            request_identifier: &request_identifier,
            body,
            batch: &batch,
            received_at: invocation.arrived,
            invocation_id: &invocation.id,
        };
        let named = batch.request_identifier.is_some() && !batch.signals.is_empty();
        let deadline = invocation.budget.less(FOR_A_LATE_CLAIM).at_most(WRITE_TIMEOUT);
        let replay_of = if named { self.claim(claim, deadline).await? } else { None };
        let received_at = replay_of.unwrap_or(invocation.arrived);
        let origin = Origin { account_id: &caller.account_id, request_identifier: &request_identifier, received_at };
        let rejected: Vec<Kept<'_>> = batch.rejected.iter().map(Kept::from).collect();
        let (stored, kept) = tokio::join!(
            self.table.put(origin, &batch.signals, deadline),
            self.rejected.keep(origin, &caller.key_id, &rejected, invocation.budget.at_most(FOR_KEEPING)),
        );
        note(kept, record);
        let refused = match stored {
            Ok(refused) => refused,
            Err(error) => {
                let claimed = named || self.claim_late(claim).await;
                let retry_with = claimed.then_some(request_identifier);
                return Err(Problem::StorageUnavailable { error, retry_with });
            }
        };
        let faults: Vec<_> = refused.iter().map(|index| outcome::refused_by_store(*index)).collect();
        let also_rejected = outcome::keep_refused(&batch, &refused, &faults);
        let budget = invocation.budget.at_most(FOR_KEEPING);
        note(self.rejected.keep(origin, &caller.key_id, &also_rejected, budget).await, record);
        Ok(Outcome { batch, request_identifier, replayed: replay_of.is_some(), refused })
    }

    /// When the request first arrived, if this is a retry.
    async fn claim(&self, claim: Claim<'_>, deadline: Budget) -> Result<Option<Timestamp>, Problem> {
        match self.requests.claim(claim, Moment::First, deadline).await {
            Ok(Claimed::First) => Ok(None),
            Ok(Claimed::Retry { received_at }) => Ok(Some(received_at)),
            Ok(Claimed::Reused) => Err(Problem::RequestIdentifierReused),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Whether a retry with this identifier will write the same items over themselves.
    async fn claim_late(&self, claim: Claim<'_>) -> bool {
        let budget = Budget::lasting(FOR_A_LATE_CLAIM);
        matches!(self.requests.claim(claim, Moment::Late, budget).await, Ok(Claimed::First))
    }
}

/// That rejected signals could not be kept is for the operator to know, and changes no response.
fn note(kept: Result<(), StoreError>, record: &mut Record) {
    if let Err(error) = kept {
        tracing::error!(%error, "rejected signals could not be kept");
        record.rejected_not_kept();
    }
}

fn refusal(fault: BatchFault) -> Problem {
    match fault {
        BatchFault::Invalid(faults) => Problem::ValidationFailed(faults),
        BatchFault::TooManySignals { sent } => Problem::TooManySignals { sent },
    }
}

/// A claim that DynamoDB refuses is a defect of this service: everything in it is made here.
fn unavailable(error: StoreError) -> Problem {
    match error {
        StoreError::Invalid | StoreError::ItemTooLarge | StoreError::Corrupt => Problem::defect(&error),
        error @ StoreError::Unavailable(_) => Problem::StorageUnavailable { error, retry_with: None },
    }
}
