//! Any headers and any bytes: a body is read as text within the limit, or refused with a 4xx. The input is lines of
//! `name: value`, an empty line, and the body.

use lambda_http::http::Request;
use lambda_http::{Body, http};
use model::json::JsonText;
use model::limits::MAX_BODY_BYTES;
use service::context::RequestContext;
use service::problem::Problem;
use service::request::{prefers_strict_handling, read_body};

/// Tries one input.
pub(super) fn check(input: &[u8]) {
    let mut request = Request::new(Body::Empty);
    let mut rest = input;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { break };
        let name = http::HeaderName::from_bytes(line[..colon].trim_ascii());
        let value = http::HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            let _ = request.headers_mut().try_append(name, value);
        }
    }
    *request.body_mut() = Body::Binary(rest.to_vec());
    let _ = prefers_strict_handling(request.headers());
    let mut context = RequestContext::from_request(&request);
    let parse = |body: &str| JsonText::parse(body).map(|_| body.len()).map_err(Problem::from);
    match read_body(&request, &mut context).and_then(|body| parse(&body)) {
        Ok(length) => assert!(length <= MAX_BODY_BYTES),
        Err(problem) => assert!((400..500).contains(&problem.problem_type().status)),
    }
}
