//! template.yaml routes the paths of the functions, and lets browsers call them (docs/api.md,
//! Endpoints).

use std::collections::{BTreeMap, BTreeSet};

use customers::CustomersFunction;
use service::route::Route;
use service::runtime::http::HttpFunction as _;
use signals::SignalsFunction;

#[test]
fn template_routes_each_path_to_the_function_that_serves_it() {
    let in_template: BTreeSet<_> = testkit::template()
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

/// The values of a header of the responses to browsers, without commas.
fn listed(name: &str) -> BTreeSet<String> {
    let cors = testkit::template().cors.clone().unwrap();
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
    // The libraries that trace a page's requests add these to each of them (W3C Trace Context, W3C
    // Baggage).
    let of_tracing = ["baggage", "traceparent", "tracestate"];
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
