//! openapi.yaml matches the code: the functions return each response example, and each code, limit,
//! path and method is that of the code.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod document;
mod examples;

use std::collections::BTreeSet;

use aws::cause::Cause;
use customers::{CustomerResult, CustomersFunction};
use model::customer::{FENCE_PREFIX, PROFILE_FIELDS, RESERVED_FIELDS};
use model::limits::{
    MAX_BODY_BYTES, MAX_ERRORS_PER_SIGNAL, MAX_IDENTIFIER_CHARS, MAX_PROFILE_VALUE_CHARS,
    MAX_SIGNAL_BYTES, MAX_SIGNALS_PER_REQUEST, MAX_UNKNOWN_FIELDS, MAX_UNKNOWN_NAME_CHARS,
    MAX_UNKNOWN_VALUE_CHARS,
};
use model::validation::{FieldErrorCode, WarningCode};
use serde_json::json;
use service::problem::ProblemType;
use service::route::Route;
use service::runtime::Function as _;
use signals::SignalsFunction;
use testkit::{RequestBuilder, TestApp};

use self::document::Document;

/// Examples that no request produces. Redocly validates them, as all others, against their schema
/// (`.ci/run contract`).
const ONLY_BY_SCHEMA: [&str; 1] = ["refused-by-store"];

#[tokio::test]
async fn response_examples_equal_the_responses_of_the_functions() {
    let document = Document::read();
    let mut different = Vec::new();
    for operation in document.operations() {
        for example in document.responses(&operation) {
            let title = format!(
                "{} {} {} {}",
                operation.method, operation.path, example.status, example.name
            );
            let mut body =
                if let Some(response) = examples::response(&document, &operation, &example).await {
                    assert_eq!(
                        response.status, example.status,
                        "{title}: {}",
                        response.text
                    );
                    assert_eq!(
                        response.header("content-type"),
                        example.media_type,
                        "{title}"
                    );
                    for (name, header) in &example.headers {
                        document.assert_valid(&header["schema"], &json!(response.header(name)));
                    }
                    response.json()
                } else if let Some((kind, body)) = examples::problem(example.name) {
                    assert_eq!(kind.status, example.status, "{title}");
                    body
                } else {
                    assert!(
                        ONLY_BY_SCHEMA.contains(&example.name),
                        "{title} has no request: give it x-request"
                    );
                    continue;
                };
            document.assert_valid(example.schema, &body);
            if example.name == "without-identifier" {
                // The function generates another one for each request.
                body["requestIdentifier"] = example.value["requestIdentifier"].clone();
            }
            if body != *example.value {
                different.push(format!("{title}\n{body}"));
            }
        }
    }
    assert!(
        different.is_empty(),
        "responses that differ from openapi.yaml:\n{}",
        different.join("\n")
    );
}

#[tokio::test]
async fn rejected_example_bodies_are_invalid_for_the_schema() {
    let document = Document::read();
    let mut seen = 0;
    for operation in document.operations() {
        let Some(schema) = document
            .request_body(&operation)
            .map(|body| &body["schema"])
        else {
            continue;
        };
        for example in document.responses(&operation) {
            let is_rejected = example.value["fieldErrors"]
                .as_array()
                .is_some_and(|errors| !errors.is_empty());
            let Some(body) = example.request.and_then(|request| request["body"].as_str()) else {
                continue;
            };
            if let (true, Ok(body)) = (is_rejected, serde_json::from_str(body)) {
                assert_ne!(
                    document.errors(schema, &body),
                    Vec::<String>::new(),
                    "{}: {body}",
                    example.name
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 6, "only {seen} bodies");
}

/// The codes in a schema's list.
fn listed(document: &Document, pointer: &str) -> BTreeSet<String> {
    document
        .at(pointer)
        .as_array()
        .unwrap()
        .iter()
        .map(|code| code.as_str().unwrap().to_owned())
        .collect()
}

/// Every problem type, in the order of docs/api.md: those of all endpoints, and those of one.
pub(crate) fn problem_types() -> Vec<ProblemType> {
    let mut all = ProblemType::ALL.to_vec();
    all.extend(signals::problem::PROBLEM_TYPES);
    all.extend(customers::problem::PROBLEM_TYPES);
    all.sort_by_key(|kind| kind.status);
    all
}

#[test]
fn problem_codes_are_listed_with_examples_at_their_status() {
    let document = Document::read();
    let problem_types = problem_types();
    let of_code: BTreeSet<_> = problem_types
        .iter()
        .map(|kind| (kind.status, kind.code.to_owned()))
        .collect();
    let with_examples: BTreeSet<_> = document
        .operations()
        .iter()
        .flat_map(|operation| document.responses(operation))
        .filter(|example| example.media_type == "application/problem+json")
        .map(|example| {
            (
                example.status,
                example.value["code"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(with_examples, of_code);
    let codes = of_code.into_iter().map(|(_, code)| code).collect();
    assert_eq!(
        listed(
            &document,
            "/components/schemas/Problem/properties/code/examples"
        ),
        codes
    );
    let statuses: BTreeSet<_> = problem_types.iter().map(|kind| kind.status).collect();
    assert_eq!(
        document.schema("Problem")["properties"]["status"]["enum"],
        json!(statuses)
    );
}

#[test]
fn field_error_codes_are_listed_with_examples() {
    let document = Document::read();
    let codes: BTreeSet<_> = FieldErrorCode::ALL
        .iter()
        .map(|code| code.as_str().to_owned())
        .collect();
    assert_eq!(
        listed(
            &document,
            "/components/schemas/FieldError/properties/code/examples"
        ),
        codes
    );
    let mut shown = BTreeSet::new();
    for operation in document.operations() {
        for example in document.responses(&operation) {
            let errors = example.value["fieldErrors"]
                .as_array()
                .into_iter()
                .flatten();
            shown.extend(errors.map(|error| error["code"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(shown, codes);
    let codes = [WarningCode::UndocumentedMember, WarningCode::UnexpectedType];
    assert_eq!(
        document.schema("Warning")["properties"]["code"]["examples"],
        json!(codes)
    );
}

#[test]
fn limits_equal_those_of_the_code() {
    let document = Document::read();
    let limit = |pointer: &str| {
        usize::try_from(
            document
                .at(&format!("/components/{pointer}"))
                .as_u64()
                .unwrap(),
        )
        .unwrap()
    };
    assert_eq!(limit("requestBodies/Customer/x-max-bytes"), MAX_BODY_BYTES);
    assert_eq!(limit("requestBodies/Signals/x-max-bytes"), MAX_BODY_BYTES);
    assert_eq!(limit("schemas/Signal/x-max-bytes"), MAX_SIGNAL_BYTES);
    assert_eq!(
        limit("schemas/SignalBatch/properties/signals/maxItems"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/SignalsStored/properties/received/maximum"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/SignalsStored/properties/accepted/maximum"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/SignalsStored/properties/rejected/maximum"),
        MAX_SIGNALS_PER_REQUEST - 1
    );
    assert_eq!(
        limit("schemas/BatchRejected/allOf/1/properties/received/maximum"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/BatchRejected/allOf/1/properties/rejected/maximum"),
        MAX_SIGNALS_PER_REQUEST
    );
    assert_eq!(
        limit("schemas/FieldErrors/maxItems"),
        MAX_SIGNALS_PER_REQUEST * MAX_ERRORS_PER_SIGNAL
    );
    assert_eq!(limit("schemas/Identifier/maxLength"), MAX_IDENTIFIER_CHARS);
    assert_eq!(
        limit("schemas/ProfileValue/maxLength"),
        MAX_PROFILE_VALUE_CHARS
    );
    let profile = "schemas/CustomerData";
    assert_eq!(
        limit(&format!("{profile}/propertyNames/maxLength")),
        MAX_UNKNOWN_NAME_CHARS
    );
    assert_eq!(
        limit(&format!("{profile}/maxProperties")),
        PROFILE_FIELDS.len() + MAX_UNKNOWN_FIELDS
    );
    assert_eq!(
        limit(&format!("{profile}/x-max-json-characters-of-other-fields")),
        MAX_UNKNOWN_VALUE_CHARS
    );
}

#[test]
fn profile_and_reserved_names_equal_those_of_the_code() {
    let document = Document::read();
    let profile = document.schema("CustomerData");
    let documented: BTreeSet<_> = profile["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(documented, PROFILE_FIELDS.into());
    let reserved = json!([{"enum": RESERVED_FIELDS}, {"pattern": format!("^{FENCE_PREFIX}")}]);
    assert_eq!(profile["propertyNames"]["not"]["anyOf"], reserved);
    let results = [
        CustomerResult::Created,
        CustomerResult::Updated,
        CustomerResult::Deferred(Cause::Throttled.into()),
    ];
    assert_eq!(
        document.schema("CustomerStored")["properties"]["result"]["examples"],
        json!(results)
    );
}

#[tokio::test]
async fn documented_field_of_data_with_another_type_has_a_warning() {
    let document = Document::read();
    let (app, key) = TestApp::with_key("shop").await;
    let fields = document.schema("EventData")["properties"]
        .as_object()
        .unwrap();
    for (name, field) in fields {
        let data = format!(r#"{{"{name}":true}}"#);
        let signal = format!(r#"{{"customerId":"c","eventType":"t","data":{data}}}"#);
        let call = RequestBuilder::signals(format!(r#"{{"signals":[{signal}]}}"#));
        let warnings = app.send(call.key(&key)).await.json()["warnings"].clone();
        let message = warnings[0]["message"].as_str().unwrap_or_default();
        let expected = format!("should be a {};", field["type"].as_str().unwrap());
        assert!(message.contains(&expected), "{name}: {warnings}");
    }
}

#[test]
fn subject_identifier_repeats_the_rules_of_identifier() {
    let document = Document::read();
    let [identifier, subject] =
        ["Identifier", "SubjectIdentifier"].map(|name| document.schema(name));
    for rule in ["type", "maxLength", "pattern"] {
        assert_eq!(identifier[rule], subject[rule], "{rule}");
    }
}

#[test]
fn paths_and_methods_equal_the_routes_of_the_functions() {
    let document = Document::read();
    let in_document: BTreeSet<_> = document
        .operations()
        .into_iter()
        .map(|operation| (operation.path.to_owned(), operation.method))
        .collect();
    let routes = CustomersFunction::ROUTES
        .iter()
        .chain(SignalsFunction::ROUTES);
    let in_code: BTreeSet<_> = routes
        .flat_map(|route| {
            route
                .methods
                .iter()
                .chain(&["OPTIONS"])
                .map(|method| (route.path.to_owned(), (*method).to_owned()))
        })
        .collect();
    assert_eq!(in_document, in_code);
}

#[tokio::test]
async fn options_response_equals_the_document_whatever_is_sent() {
    let document = Document::read();
    let app = TestApp::start();
    for operation in document
        .operations()
        .iter()
        .filter(|operation| operation.method == "OPTIONS")
    {
        assert_eq!(
            operation.definition["security"],
            json!([]),
            "{}",
            operation.path
        );
        let documented = document.resolve(&operation.definition["responses"]["204"]);
        let call = RequestBuilder::new("OPTIONS", operation.path).without_header("content-type");
        let response = app
            .send(
                call.key("no-key")
                    .body("{")
                    .header("content-encoding", "br"),
            )
            .await;
        assert_eq!(
            (response.status, response.text.as_str()),
            (204, ""),
            "{}",
            operation.path
        );
        let described = documented["headers"].as_object().unwrap();
        for (name, header) in described {
            document.assert_valid(
                &document.resolve(header)["schema"],
                &json!(response.header(name)),
            );
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
fn allow_headers_equal_those_of_the_code() {
    let document = Document::read();
    let in_code: BTreeSet<_> = CustomersFunction::ROUTES
        .iter()
        .chain(SignalsFunction::ROUTES)
        .map(Route::allow)
        .collect();
    assert_eq!(
        listed(&document, "/components/schemas/AllowedMethods/enum"),
        in_code
    );
}

#[test]
fn gateway_responses_are_messages() {
    let document = Document::read();
    for operation in document.operations() {
        for (status, response) in operation.definition["responses"].as_object().unwrap() {
            let plain = &document.resolve(response)["content"]["application/json"];
            if status != "200" && !plain.is_null() {
                assert_eq!(
                    plain["schema"],
                    json!({"$ref": "#/components/schemas/GatewayMessage"})
                );
            }
        }
    }
}
