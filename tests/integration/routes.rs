//! template.yaml routes the paths of the functions, and lets browsers call them (docs/api.md,
//! Endpoints).

use std::collections::{BTreeMap, BTreeSet};

use customers::CustomersFunction;
use harness::{RequestBuilder, TestApp};
use service::route::Route;
use service::runtime::http::HttpFunction as _;
use signals::SignalsFunction;

use crate::support::clock::NOW;

#[test]
fn template_routes_each_path_to_the_function_that_serves_it() {
    let in_template: BTreeSet<_> = harness::template()
        .functions
        .iter()
        .flat_map(|function| {
            function
                .routes
                .iter()
                .map(|route| (function.package.clone(), route.path.clone()))
        })
        .collect();
    let of = |package: &str, routes: &[Route]| {
        routes
            .iter()
            .map(|route| (package.to_owned(), route.path.to_owned()))
            .collect::<Vec<_>>()
    };
    let mut in_code = of("customers", CustomersFunction::ROUTES);
    in_code.extend(of("signals", SignalsFunction::ROUTES));
    assert_eq!(in_template, in_code.into_iter().collect());
}

#[tokio::test]
async fn head_has_the_status_and_the_headers_of_get_without_a_body() {
    let (app, key) = TestApp::with_key("shop").await;
    let send = |method: &str, key: &str| {
        let request = RequestBuilder::new(method, "/api/sdk/ping").invocation("the-same");
        app.send(request.key(key).received_at(NOW))
    };
    for (key, status) in [(key.as_str(), 200), ("unknown", 401)] {
        let get = send("GET", key).await;
        let head = send("HEAD", key).await;
        assert_eq!((head.status, head.text.as_str()), (status, ""));
        assert_eq!(head.headers, get.headers);
        assert_ne!(get.text, "");
    }
    let elsewhere = RequestBuilder::new("HEAD", "/api/customers").key(&key);
    let refused = app.send(elsewhere).await;
    assert_eq!((refused.status, refused.text.as_str()), (405, ""));
    assert_eq!(refused.header("allow"), "PATCH, POST, OPTIONS");
}

/// The values of a header of the responses to browsers, without commas.
fn listed(name: &str) -> BTreeSet<String> {
    let cors = harness::template().cors.clone().unwrap();
    let headers: BTreeMap<_, _> = cors.preflight.into_iter().chain(cors.other).collect();
    headers
        .get(name)
        .unwrap()
        .split(',')
        .map(str::to_owned)
        .collect()
}

#[test]
fn template_allows_browsers_every_method() {
    let mut methods = BTreeSet::new();
    for route in CustomersFunction::ROUTES
        .iter()
        .chain(SignalsFunction::ROUTES)
    {
        methods.extend(route.allow().split(", ").map(str::to_owned));
    }
    assert_eq!(listed("access-control-allow-methods"), methods);
    assert_eq!(listed("access-control-max-age"), ["3600".to_owned()].into());
}

#[test]
fn template_allows_browsers_every_header() {
    let read = [
        "authorization",
        "content-encoding",
        "content-type",
        "prefer",
    ];
    // The libraries that trace a page's requests add these to each of them: by W3C Trace Context and
    // W3C Baggage; Sentry; Datadog; Zipkin's B3; Elastic, New Relic, Application Insights, Jaeger and
    // X-Ray.
    let of_tracing = [
        "baggage",
        "traceparent",
        "tracestate",
        "sentry-trace",
        "x-datadog-origin",
        "x-datadog-parent-id",
        "x-datadog-sampling-priority",
        "x-datadog-trace-id",
        "b3",
        "x-b3-flags",
        "x-b3-parentspanid",
        "x-b3-sampled",
        "x-b3-spanid",
        "x-b3-traceid",
        "elastic-apm-traceparent",
        "newrelic",
        "request-context",
        "request-id",
        "uber-trace-id",
        "x-amzn-trace-id",
    ];
    let allowed = read
        .into_iter()
        .chain(of_tracing)
        .map(str::to_owned)
        .collect();
    assert_eq!(listed("access-control-allow-headers"), allowed);
    assert_eq!(
        listed("access-control-expose-headers"),
        ["retry-after", "x-request-id"].map(str::to_owned).into()
    );
}
