//! The paths, the methods and the responses to `OPTIONS` are those of the functions.

use std::collections::BTreeSet;

use customers::CustomersFunction;
use harness::{RequestBuilder, TestApp};
use serde_json::json;
use service::route::Route;
use service::runtime::http::HttpFunction as _;
use signals::SignalsFunction;

use super::document::Document;

#[test]
fn paths_and_methods_equal_the_routes_of_the_functions() {
    let document = Document::read();
    let in_document: BTreeSet<_> = document
        .operations()
        .into_iter()
        .map(|operation| format!("{} {}", operation.method, operation.path))
        .collect();
    let mut in_code = BTreeSet::new();
    for route in CustomersFunction::ROUTES
        .iter()
        .chain(SignalsFunction::ROUTES)
    {
        in_code.insert(format!("OPTIONS {}", route.path));
        for method in route.methods {
            in_code.insert(format!("{method} {}", route.path));
        }
    }
    assert_eq!(in_document, in_code);
}

#[test]
fn allow_headers_equal_those_of_the_code() {
    let document = Document::read();
    let in_code: BTreeSet<_> = CustomersFunction::ROUTES
        .iter()
        .chain(SignalsFunction::ROUTES)
        .map(Route::allow)
        .collect();
    let listed = document.texts_at("/components/schemas/AllowedMethods/enum");
    assert_eq!(listed, in_code);
}

#[tokio::test]
async fn options_response_equals_the_document_whatever_is_sent() {
    let document = Document::read();
    let app = TestApp::start();
    for operation in document.operations() {
        if operation.method != "OPTIONS" {
            continue;
        }
        let path = operation.path;
        assert_eq!(operation.definition["security"], json!([]), "{path}");
        let documented = document.resolve(&operation.definition["responses"]["204"]);
        let call = RequestBuilder::new("OPTIONS", path)
            .without_header("content-type")
            .key("no-key")
            .body("{")
            .header("content-encoding", "br");
        let response = app.send(call).await;
        assert_eq!(response.status, 204, "{path}");
        assert_eq!(response.text, "", "{path}");
        let described = documented["headers"].as_object().unwrap();
        for (name, header) in described {
            let schema = &document.resolve(header)["schema"];
            document.assert_valid(schema, &json!(response.header(name)));
        }
        let names: BTreeSet<_> = described.keys().map(|name| name.to_lowercase()).collect();
        assert_eq!(
            names,
            response.headers.keys().map(ToString::to_string).collect()
        );
        assert!(documented.get("content").is_none());
    }
}

#[test]
fn responses_of_api_gateway_have_the_schema_of_its_messages() {
    let document = Document::read();
    let mut compared = 0;
    for operation in document.operations() {
        for (status, response) in operation.definition["responses"].as_object().unwrap() {
            let plain = &document.resolve(response)["content"]["application/json"];
            if status != "200" && !plain.is_null() {
                assert_eq!(
                    plain["schema"],
                    json!({"$ref": "#/components/schemas/GatewayMessage"})
                );
                compared += 1;
            }
        }
    }
    assert!(compared >= 5, "{compared} responses");
}

/// The validator of orval, a generator of clients, prints an error for any other member.
#[test]
fn variables_of_the_server_have_only_a_default() {
    let document = Document::read();
    let servers = document.at("/servers").as_array().unwrap();
    let variables = servers
        .iter()
        .filter_map(|server| server["variables"].as_object());
    for (name, variable) in variables.flatten() {
        let members: Vec<_> = variable.as_object().unwrap().keys().collect();
        assert_eq!(members, ["default"], "{name}");
    }
}

/// TypeScript tells a problem from a message of API Gateway by `code`, if the message can have none.
#[test]
fn message_of_api_gateway_has_no_other_members() {
    let document = Document::read();
    let schema = document.schema("GatewayMessage").as_object().unwrap();
    assert!(!schema.contains_key("additionalProperties"));
}
