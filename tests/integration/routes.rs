//! SPEC 2.5: routing comes before everything else, and what the functions answer is what template.yaml routes to them.

use std::collections::BTreeSet;
use std::path::Path;

use dev::Template;
use shared::request::Route;
use tests::{Call, Stack};

#[tokio::test]
async fn another_path_is_a_404_and_another_method_a_405_that_allows_the_right_ones() {
    let stack = Stack::start();
    stack.send(Call::new("GET", "/api/nothing")).await.assert_problem(404, "not-found");
    stack.send(Call::new("POST", "/api/customers/")).await.assert_problem(404, "not-found");
    for (method, path, allow) in [
        ("GET", "/api/customers", "PATCH, POST"),
        ("DELETE", "/api/customers", "PATCH, POST"),
        ("POST", "/api/sdk/ping", "GET"),
        ("PUT", "/api/event-flows/signal", "POST"),
    ] {
        let answer = stack.send(Call::new(method, path)).await;
        answer.assert_problem(405, "method-not-allowed");
        assert_eq!(answer.header("allow"), allow);
    }
}

#[test]
fn the_template_routes_every_path_to_the_function_that_answers_it() {
    let template = Template::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../template.yaml")).unwrap();
    let in_template: BTreeSet<_> = template
        .functions
        .iter()
        .flat_map(|function| function.routes.iter().map(|route| (function.package.clone(), route.path.clone())))
        .collect();
    let of = |package: &str, routes: &[Route]| {
        routes.iter().map(|route| (package.to_owned(), route.path.to_owned())).collect::<Vec<_>>()
    };
    let mut in_code = of("customers", customers::ROUTES);
    in_code.extend(of("signals", signals::ROUTES));
    assert_eq!(in_template, in_code.into_iter().collect());
}
