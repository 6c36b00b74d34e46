//! The functions return the response examples, and the examples are valid for their schemas.

use harness::{RequestBuilder, TestApp};
use serde_json::{Value, json};

use super::document::{Document, DocumentedExample, Operation};
use super::examples;

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
            let Some(mut body) = body_of_the_code(&document, &operation, &example, &title).await
            else {
                continue;
            };
            document.assert_valid(example.schema, &body);
            if ["without-identifier", "doubtful"].contains(&example.name) {
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

/// The body that the code makes of an example: the response to its request, or the problem of its
/// name. `None` for an example of [`ONLY_BY_SCHEMA`].
async fn body_of_the_code(
    document: &Document,
    operation: &Operation<'_>,
    example: &DocumentedExample<'_>,
    title: &str,
) -> Option<Value> {
    if let Some(response) = examples::response(document, operation, example).await {
        let text = &response.text;
        assert_eq!(response.status, example.status, "{title}: {text}");
        let content_type = response.header("content-type");
        assert_eq!(content_type, example.media_type, "{title}");
        for (name, header) in &example.headers {
            let value = response.header(name);
            if header["required"] == true || !value.is_empty() {
                document.assert_valid(&header["schema"], &json!(value));
            }
        }
        return Some(response.json());
    }
    if let Some((problem_type, body)) = examples::problem(example.name) {
        assert_eq!(problem_type.status, example.status, "{title}");
        return Some(body);
    }
    assert!(
        ONLY_BY_SCHEMA.contains(&example.name),
        "{title} has no request: give it x-request"
    );
    None
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
            let Ok(body) = serde_json::from_str(body) else {
                continue;
            };
            if is_rejected {
                let errors = document.errors(schema, &body);
                assert!(!errors.is_empty(), "{}: {body}", example.name);
                seen += 1;
            }
        }
    }
    assert!(seen >= 6, "only {seen} bodies");
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
