//! What API Gateway does in front of the functions: its own responses, the pages of other origins, its request rate.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};

use super::api::{Api, Call, PING, SIGNALS};
use super::check::{Check, Expected};
use super::run::Run;
use crate::stack::{CORS_ORIGINS, Stack, THROTTLE_BURST, THROTTLE_RATE};

const OWN: &str = "Responses of API Gateway";
/// Why a check is skipped on a stack that has no API Gateway.
pub(super) const ONLY_GATEWAY: &str = "only API Gateway shows it";

const BROWSERS: &str = "Browsers";

/// What a page may send beside what every browser lets it.
const PAGE_HEADERS: [&str; 4] = ["authorization", "content-encoding", "content-type", "prefer"];

/// Requests of a burst at the same time.
const BURST_CONCURRENCY: usize = 200;

pub(super) async fn own_responses(run: &Run<'_>, is_gateway: bool) {
    let unknown = Call::post("/api/no-such-path", "{}");
    let other_host = Call::new("GET", PING).header("host", "another.invalid");
    for (status, name, call) in [(404, "404: no route", unknown), (403, "403: another host name", other_host)] {
        if is_gateway {
            run.check(OWN, name, &call, &Expected::gateway(status)).await;
        } else {
            run.add(Check::skipped(OWN, name, ONLY_GATEWAY));
        }
    }
}

/// Preflight requests of the pages that may call the API, and of one that may not.
pub(super) async fn pages(run: &Run<'_>, stack: &Stack) {
    let Some(origins) = stack.optional(CORS_ORIGINS) else {
        let reason = if stack.is_local { ONLY_GATEWAY } else { "CORS is off: CorsOrigins is empty" };
        run.add(Check::skipped(BROWSERS, "Preflight requests", reason));
        return;
    };
    for configured in origins.split(',') {
        // API Gateway allows every origin, or every one of a scheme, by a star.
        let origin =
            if configured == "*" { "https://a.example".to_owned() } else { configured.replace('*', "a.example") };
        let (call, detail) = preflight(&run.api, &origin).await;
        let name = format!("Preflight request from {origin}");
        run.add(match detail {
            Ok(()) => Check::held(BROWSERS, name, "allowed"),
            Err(reason) => Check::failed(BROWSERS, name, reason).repeat(&call),
        });
    }
    if !origins.split(',').any(|origin| origin.ends_with('*')) {
        let (call, allowed) = preflight(&run.api, "https://another.invalid").await;
        let name = "Preflight request from another origin";
        run.add(match allowed {
            Ok(()) => Check::failed(BROWSERS, name, "the origin is allowed").repeat(&call),
            Err(_) => Check::held(BROWSERS, name, "not allowed"),
        });
    }
}

/// Whether a page of `origin` may send signals, and why not.
async fn preflight(api: &Api, origin: &str) -> (Call, Result<(), String>) {
    let call = Call::new("OPTIONS", SIGNALS)
        .key(None)
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", &PAGE_HEADERS.join(","));
    let response = match api.send(&call).await {
        Ok(response) => response,
        Err(error) => return (call, Err(format!("no response: {error:#}"))),
    };
    let listed = |name: &str, wanted: &str| {
        response.header(name).split(',').any(|item| item.trim().eq_ignore_ascii_case(wanted))
    };
    let allowed = response.header("access-control-allow-origin");
    let result = if !(200..300).contains(&response.status) {
        Err(format!("expected a status of 2xx, got {}", response.status))
    } else if allowed != origin && allowed != "*" {
        Err("the origin is not allowed".to_owned())
    } else if !listed("access-control-allow-methods", "post") {
        Err("POST is not allowed".to_owned())
    } else {
        let missing = PAGE_HEADERS.iter().find(|header| !listed("access-control-allow-headers", header));
        missing.map_or(Ok(()), |header| Err(format!("the header {header} is not allowed")))
    };
    (call, result)
}

/// More pings than the route takes: API Gateway has to answer some with 429, and all of them again a little later.
pub(super) async fn burst(run: &Run<'_>, stack: &Stack) {
    const NAME: &str = "429: requests above ThrottleRate";
    let number = |variable| stack.optional(variable).and_then(|value| value.parse::<usize>().ok());
    let (Some(rate), Some(burst)) = (number(THROTTLE_RATE), number(THROTTLE_BURST)) else {
        run.add(Check::skipped(OWN, NAME, "the stack has no ThrottleRate and ThrottleBurst"));
        return;
    };
    let call = &Call::new("GET", PING);
    let count = burst.saturating_add(rate.saturating_mul(2));
    let began = Instant::now();
    let requests = (0..count).map(|_| async move { run.api.send_once(call).await });
    let statuses: Vec<u16> = stream::iter(requests)
        .buffer_unordered(BURST_CONCURRENCY)
        .map(|response| response.map_or(0, |response| response.status))
        .collect()
        .await;
    let took = began.elapsed().as_secs_f64();
    let throttled = statuses.iter().filter(|status| **status == 429).count();
    let others = statuses.iter().filter(|status| ![200, 429].contains(*status)).count();
    let detail = format!("{throttled} of {count} pings in {took:.1} s were answered 429, {others} neither 200 nor 429");
    run.add(if others > 0 {
        Check::failed(OWN, NAME, detail).repeat(call)
    } else if throttled == 0 {
        Check::skipped(OWN, NAME, format!("this machine was too slow to exceed the rate: {detail}"))
    } else {
        Check::held(OWN, NAME, detail)
    });
    tokio::time::sleep(Duration::from_secs(2)).await;
    run.check(OWN, "200 after a burst", call, &Expected::status(200)).await;
}
