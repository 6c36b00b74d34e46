//! Routing precedes every other check, and template.yaml routes the same paths (docs/api.md, Endpoints and Errors).

use std::collections::BTreeSet;
use std::path::Path;

use customers::CustomersFunction;
use emulator::Template;
use service::route::Route;
use service::runtime::Function as _;
use signals::SignalsFunction;
use testkit::{RequestBuilder, TestApp};

#[tokio::test]
async fn unknown_path_is_a_404_and_unknown_method_a_405_with_allow() {
    let app = TestApp::start();
    app.send(RequestBuilder::new("GET", "/api/nothing")).await.assert_problem(404, "not-found");
    for method in ["POST", "OPTIONS"] {
        app.send(RequestBuilder::new(method, "/api/customers/")).await.assert_problem(404, "not-found");
    }
    for (method, path, allow) in [
        ("GET", "/api/customers", "PATCH, POST, OPTIONS"),
        ("DELETE", "/api/customers", "PATCH, POST, OPTIONS"),
        ("POST", "/api/sdk/ping", "GET, OPTIONS"),
        ("HEAD", "/api/sdk/ping", "GET, OPTIONS"),
        ("PUT", "/api/event-flows/signal", "POST, OPTIONS"),
        ("PATCH", "/api/event-flows/signal", "POST, OPTIONS"),
    ] {
        let response = app.send(RequestBuilder::new(method, path)).await;
        response.assert_problem(405, "method-not-allowed");
        assert_eq!(response.header("allow"), allow);
    }
}

#[tokio::test]
async fn options_on_a_known_path_is_a_204_with_allow() {
    let app = TestApp::start();
    for (path, allow) in [
        ("/api/customers", "PATCH, POST, OPTIONS"),
        ("/api/sdk/ping", "GET, OPTIONS"),
        ("/api/event-flows/signal", "POST, OPTIONS"),
    ] {
        let preflight = RequestBuilder::new("OPTIONS", path)
            .without_header("content-type")
            .header("origin", "https://shop.example")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type");
        let with_everything =
            RequestBuilder::new("OPTIONS", path).key("no-key").body("{").header("content-encoding", "br");
        for call in [preflight, with_everything] {
            let response = app.send(call.invocation("i1")).await;
            assert_eq!((response.status, response.text.as_str()), (204, ""), "{path}");
            let headers: Vec<_> =
                response.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
            assert_eq!(headers, [("allow", allow.as_bytes()), ("x-request-id", b"i1")], "{path}");
        }
    }
}

#[test]
fn template_routes_each_path_to_the_function_that_serves_it() {
    let template = Template::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../template.yaml")).unwrap();
    let in_template: BTreeSet<_> = template
        .functions
        .iter()
        .flat_map(|function| function.routes.iter().map(|route| (function.package.clone(), route.path.clone())))
        .collect();
    let of = |package: &str, routes: &[Route]| {
        routes.iter().map(|route| (package.to_owned(), route.path.to_owned())).collect::<Vec<_>>()
    };
    let mut in_code = of("customers", CustomersFunction::ROUTES);
    in_code.extend(of("signals", SignalsFunction::ROUTES));
    assert_eq!(in_template, in_code.into_iter().collect());
}

#[test]
fn template_allows_browsers_every_method_and_header() {
    let cors = testkit::template().cors.clone().unwrap();
    let listed = |name: &str| {
        let header = cors.preflight.iter().chain(&cors.other).find(|(header, _)| *header == name).unwrap();
        header.1.split(',').map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let routes = CustomersFunction::ROUTES.iter().chain(SignalsFunction::ROUTES);
    let methods: BTreeSet<_> =
        routes.flat_map(|route| route.allow().split(", ").map(str::to_owned).collect::<Vec<_>>()).collect();
    assert_eq!(listed("access-control-allow-methods"), methods);
    let read = ["authorization", "content-encoding", "content-type", "prefer"];
    assert_eq!(listed("access-control-allow-headers"), read.map(str::to_owned).into());
    assert_eq!(listed("access-control-expose-headers"), ["retry-after", "x-request-id"].map(str::to_owned).into());
}
