//! The HTTP response to a request, from what the endpoint says or from the problem.

use lambda_http::http::header::{ALLOW, CONTENT_TYPE};
use lambda_http::http::{HeaderName, HeaderValue, StatusCode};
use lambda_http::{Body, Response};
use serde::Serialize;

use crate::outcome::{EndpointOutcome, Failure, Reply};
use crate::problem::ProblemType;
use crate::problem_document::{self, ProblemDocument};
use crate::route::Route;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The response to the request of this invocation.
pub fn respond<O: EndpointOutcome>(
    result: &Result<Reply<O>, Failure<O>>,
    request_id: &str,
) -> Response<Body> {
    let mut response = match result {
        Ok(Reply::Options(route)) => allowed_methods(route),
        Ok(Reply::Handled(outcome)) => json("application/json", &outcome.body()),
        Err(Failure::Rejected { detail, outcome }) => {
            let problem_type = ProblemType::VALIDATION_FAILED;
            let detail = detail.clone();
            let document = ProblemDocument::new(problem_type, detail, request_id, outcome.body());
            problem_response(&document)
        }
        Err(Failure::Problem(problem)) => {
            let document = problem_document::document(problem, request_id);
            let mut response = problem_response(&document);
            response
                .headers_mut()
                .extend(problem_document::headers(problem));
            response
        }
    };
    if let Ok(id) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

fn allowed_methods(route: &Route) -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::NO_CONTENT;
    let allow = HeaderValue::try_from(route.allow()).expect("the names of methods are ASCII");
    response.headers_mut().insert(ALLOW, allow);
    response
}

fn problem_response(document: &ProblemDocument<'_, impl Serialize>) -> Response<Body> {
    let mut response = json("application/problem+json", document);
    *response.status_mut() =
        StatusCode::from_u16(document.status()).expect("problem types have valid statuses");
    response
}

fn json(media_type: &'static str, body: &impl Serialize) -> Response<Body> {
    let body = serde_json::to_string(body).expect("structures of strings and numbers serialize");
    let mut response = Response::new(Body::Text(body));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
