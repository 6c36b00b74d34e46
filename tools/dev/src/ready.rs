//! Waits until the functions behind the gateway are ready. Must not know how they are run.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use axum::body::Bytes;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use emulator::development_key;

use crate::functions::Functions;
use crate::gateway::Gateway;
use crate::sent::Sent;

/// How long the functions may take to start.
const READY_TIMEOUT: Duration = Duration::from_mins(1);

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A request of which only Intake has this response: the path, the body that is posted to it or
/// nothing to get it, the status, and a part of the response. One for each function of the API,
/// after which the function knows the development key: `--faults` come later.
const HEALTH_CHECKS: [(&str, &str, u16, &str); 2] = [
    ("/api/sdk/ping", "", 200, "\"pong\""),
    ("/api/event-flows/signal", "{}", 400, "validation-failed"),
];

/// Waits until every function passes its health check behind the gateway.
///
/// # Errors
/// A function ends, or a health check does not pass in time.
pub(crate) async fn wait_until_ready(functions: &Functions, gateway: &Gateway) -> Result<()> {
    let start = Instant::now();
    for (path, body, expected, words) in HEALTH_CHECKS {
        while let Some(function) = gateway.function_of(&Method::POST, path) {
            let response = gateway.forward(&health_check(path, body), function).await;
            let text = String::from_utf8_lossy(response.body());
            if response.status() == expected && text.contains(words) {
                break;
            }
            if let Some(name) = functions.ended() {
                bail!("The function {name} ended by itself: see its output above.");
            }
            if start.elapsed() > READY_TIMEOUT {
                let seconds = READY_TIMEOUT.as_secs();
                bail!(
                    "{path} does not have the expected response after {seconds} s; the last response was: {text}"
                );
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    Ok(())
}

fn health_check(path: &'static str, body: &'static str) -> Sent {
    let mut headers =
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    headers.extend(
        HeaderValue::try_from(format!("Bearer {}", development_key::API_KEY))
            .map(|key| (AUTHORIZATION, key)),
    );
    let method = if body.is_empty() {
        Method::GET
    } else {
        Method::POST
    };
    Sent {
        method,
        uri: Uri::from_static(path),
        headers,
        body: Some(Bytes::from_static(body.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use emulator::Template;

    use super::HEALTH_CHECKS;

    #[test]
    fn each_function_of_the_template_is_built_and_has_a_health_check() {
        let template =
            Template::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml").as_ref())
                .unwrap();
        let builds_first = include_str!("../../start/src/main.rs");

        for function in &template.functions {
            let is_ready_without = function.routes.is_empty();
            let asked = function
                .routes
                .iter()
                .any(|route| HEALTH_CHECKS.iter().any(|(path, ..)| *path == route.path));
            assert!(
                builds_first.contains(&format!("\"{}\"", function.package)),
                "{}",
                function.package
            );
            assert!(
                asked || is_ready_without,
                "nothing is asked of {}",
                function.logical_id
            );
        }
    }
}
