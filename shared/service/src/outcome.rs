//! The outcome of a request, from which the response is made. Lambda's runtime drops it
//! afterwards; the local stack shows it.
//!
//! This module must not know which endpoints there are: each has an [`EndpointOutcome`] of its own.

use lambda_http::{Body, Response};
use model::validation::FieldError;
use serde::Serialize;
use store::error::{OwnFault, UnstoredReason};

use crate::context::RequestContext;
use crate::problem::{Problem, ProblemType, Unauthorized, UnauthorizedReason};
use crate::route::Route;
use crate::telemetry::metric::Metrics;

/// What an endpoint says of a request that it has handled.
pub trait EndpointOutcome {
    /// The body of the response. In a [`Failure::Rejected`], these are the members that the problem
    /// document has beside the usual ones.
    fn body(&self) -> impl Serialize;

    /// Why a part of the request is in the overflow queue, or was refused although it was valid; `None` if all
    /// is stored.
    fn unstored_reason(&self) -> Option<&UnstoredReason> {
        None
    }

    /// The validation errors of the request, which its log line counts by their codes.
    fn field_errors(&self) -> &[FieldError] {
        &[]
    }

    /// Adds the endpoint's own metrics to the log line of the request.
    fn add_metrics(&self, metrics: &mut Metrics);

    /// Writes further lines to the log, after the line of the request.
    fn write_lines(&self, _: &RequestContext) {}
}

/// A request that has a response.
#[derive(Debug)]
pub struct Served<O> {
    pub response: Response<Body>,
    /// What is known of the request: its API key, for example.
    pub context: RequestContext,
    /// What the response was made from.
    pub result: Result<Reply<O>, Failure<O>>,
}

/// The response to a request that its endpoint has handled, or to OPTIONS.
#[derive(Debug)]
pub enum Reply<O> {
    /// The methods of a path: a 204 without a body.
    Options(&'static Route),
    /// What the endpoint has done: a 200.
    Handled(O),
}

/// Why a request got an error.
#[derive(Debug)]
pub enum Failure<O> {
    /// A problem ended it.
    Problem(Problem),
    /// The endpoint read the whole request, and rejected its content: a 400
    /// `validation-failed`.
    Rejected {
        /// The detail of the problem: a sentence without a value of the client.
        detail: String,
        outcome: O,
    },
}

impl<O> From<Problem> for Failure<O> {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl<O: EndpointOutcome> Served<O> {
    /// What the endpoint says of the request, accepted or rejected. `None` if a problem ended it, and
    /// for OPTIONS.
    pub fn outcome(&self) -> Option<&O> {
        match &self.result {
            Ok(Reply::Handled(outcome)) | Err(Failure::Rejected { outcome, .. }) => Some(outcome),
            Ok(Reply::Options(_)) | Err(Failure::Problem(_)) => None,
        }
    }

    fn problem(&self) -> Option<&Problem> {
        match &self.result {
            Err(Failure::Problem(problem)) => Some(problem),
            Ok(_) | Err(Failure::Rejected { .. }) => None,
        }
    }

    /// The problem type of the response, if it is one.
    pub fn problem_type(&self) -> Option<ProblemType> {
        match &self.result {
            Err(Failure::Problem(problem)) => Some(problem.problem_type()),
            Err(Failure::Rejected { .. }) => Some(ProblemType::VALIDATION_FAILED),
            Ok(_) => None,
        }
    }

    /// Why the request, or a valid part of it, is not stored.
    pub fn unstored_reason(&self) -> Option<&UnstoredReason> {
        match self.problem() {
            Some(problem) => problem.unstored_reason(),
            None => self.outcome()?.unstored_reason(),
        }
    }

    /// What is wrong with this service, if that is why something was not stored, or why the key was not
    /// looked up in its table.
    pub(crate) fn own_fault(&self) -> Option<OwnFault> {
        let of_store = self.unstored_reason().and_then(UnstoredReason::own_fault);
        of_store.or(self.context.key_table_fault())
    }

    /// The validation errors in the response.
    pub fn field_errors(&self) -> &[FieldError] {
        match (self.problem(), self.outcome()) {
            (Some(problem), _) => problem.field_errors(),
            (None, Some(outcome)) => outcome.field_errors(),
            (None, None) => &[],
        }
    }

    /// Why the response is a 401, if it is.
    pub fn unauthorized(&self) -> Option<Unauthorized> {
        match self.problem() {
            Some(Problem::Unauthorized(unauthorized)) => Some(*unauthorized),
            _ => None,
        }
    }

    pub(crate) fn unauthorized_reason(&self) -> Option<UnauthorizedReason> {
        self.unauthorized().map(|unauthorized| unauthorized.reason)
    }

    /// Whether AWS refused the credentials of the function: its process then cannot go on.
    pub fn are_credentials_refused(&self) -> bool {
        self.unstored_reason()
            .is_some_and(UnstoredReason::are_credentials_refused)
    }
}
