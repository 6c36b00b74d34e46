//! What generators and tools make of openapi.yaml: it has nothing that one of them is known not to
//! read (docs/clients.md, Generate a client).

use serde_json::Value;

use super::document::Document;

/// What `visit` is called with: the member's name, and its value.
fn visit_members(value: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                visit(name, member);
                visit_members(member, visit);
            }
        }
        Value::Array(items) => {
            for item in items {
                visit_members(item, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The names of the schemas that `value` refers to, directly or not.
fn schemas_used_by(document: &Document, value: &Value, names: &mut Vec<String>) {
    let mut found = Vec::new();
    visit_members(value, &mut |name, member| {
        let reference = member.as_str().filter(|_| name == "$ref");
        found.extend(reference.map(|reference| reference.trim_start_matches('#').to_owned()));
    });
    for pointer in found {
        if !names.contains(&pointer) {
            names.push(pointer.clone());
            schemas_used_by(document, document.at(&pointer), names);
        }
    }
}

/// Generated PHP checks a response by its patterns, after the update was stored.
#[test]
fn responses_have_no_patterns() {
    let document = Document::read();
    let mut used = Vec::new();
    for operation in document.operations() {
        schemas_used_by(&document, &operation.definition["responses"], &mut used);
    }
    assert!(used.len() > 20, "only {} parts", used.len());
    for pointer in used {
        visit_members(document.at(&pointer), &mut |name, _| {
            assert_ne!(name, "pattern", "{pointer}");
        });
    }
}

/// PCRE and RE2 do not know `\u`, RE2 no look-around, and Ruby no `\x85`. PHP applies a pattern to
/// bytes, of which those of characters up to U+00FF are in few others.
#[test]
fn patterns_are_read_by_every_engine() {
    let document = Document::read();
    let mut patterns = 0;
    visit_members(document.at(""), &mut |name, member| {
        let Some(pattern) = member.as_str().filter(|_| name == "pattern") else {
            return;
        };
        assert!(
            !pattern.contains("\\u") && !pattern.contains("(?"),
            "{pattern}"
        );
        assert!(
            !pattern.contains("\\x8") && !pattern.contains("\\xA"),
            "{pattern}"
        );
        assert!(
            pattern
                .chars()
                .all(|c| !c.is_ascii_control() && c <= '\u{ff}'),
            "{pattern}"
        );
        patterns += 1;
    });
    assert!(patterns >= 2, "{patterns} patterns");
}

/// swagger-typescript-api follows no reference to a request body or a response.
#[test]
fn request_bodies_and_successes_stand_in_their_operations() {
    let document = Document::read();
    let mut bodies = 0;
    for operation in document.operations() {
        let title = format!("{} {}", operation.method, operation.path);
        let parts = [
            operation.definition.get("requestBody"),
            operation.definition["responses"].get("200"),
        ];
        for part in parts.into_iter().flatten() {
            if document.resolve(part).get("content").is_some() {
                assert!(part.get("$ref").is_none(), "{title}");
                bodies += 1;
            }
        }
    }
    assert_eq!(bodies, 7);
}

/// swagger-typescript-api makes `any` of a schema with `not`.
#[test]
fn values_have_no_negated_schemas() {
    let document = Document::read();
    visit_members(document.at("/components/schemas"), &mut |name, member| {
        assert!(member.get("not").is_none(), "{name}");
        if name == "propertyNames" {
            // Without a type, it makes an index signature of `any`, which is no TypeScript.
            assert_eq!(member["type"], "string");
        }
    });
}

/// Swagger UI sends the example of a parameter with each request.
#[test]
fn parameters_have_no_examples() {
    let document = Document::read();
    let parameters = document.at("/components/parameters").as_object().unwrap();
    for (name, parameter) in parameters {
        for member in ["example", "examples"] {
            assert!(parameter.get(member).is_none(), "{name}");
        }
    }
}

#[test]
fn first_server_is_the_local_stack() {
    let document = Document::read();
    assert_eq!(document.at("/servers/0/url"), "http://127.0.0.1:9000");
}
