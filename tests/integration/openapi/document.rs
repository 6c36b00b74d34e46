//! Reads openapi.yaml: its operations, examples and schemas.

use std::collections::BTreeSet;

use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

use crate::support::page::root;

/// The whole document.
pub(super) struct Document(Value);

/// A method of a path.
pub(super) struct Operation<'d> {
    pub(super) path: &'d str,
    /// In upper case.
    pub(super) method: String,
    pub(super) definition: &'d Value,
}

/// An example of a response.
pub(super) struct DocumentedExample<'d> {
    pub(super) name: &'d str,
    pub(super) status: u16,
    pub(super) media_type: &'d str,
    pub(super) schema: &'d Value,
    pub(super) value: &'d Value,
    /// What the request of this example has beside its body.
    pub(super) request: Option<&'d Value>,
    /// The documented headers of the response.
    pub(super) headers: Vec<(&'d str, &'d Value)>,
}

impl Document {
    pub(super) fn read() -> Self {
        let text = std::fs::read_to_string(root().join("openapi.yaml")).unwrap();
        Self(emulator::yaml::parse(&text).unwrap())
    }

    /// The value at a JSON Pointer.
    pub(super) fn at(&self, pointer: &str) -> &Value {
        self.0
            .pointer(pointer)
            .unwrap_or_else(|| panic!("openapi.yaml has no {pointer}"))
    }

    /// The schema of this name.
    pub(super) fn schema(&self, name: &str) -> &Value {
        self.at(&format!("/components/schemas/{name}"))
    }

    /// The list of texts at a JSON Pointer.
    pub(super) fn texts_at(&self, pointer: &str) -> BTreeSet<String> {
        self.at(pointer)
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    }

    /// `value`, or what it refers to.
    pub(super) fn resolve<'d>(&'d self, value: &'d Value) -> &'d Value {
        value["$ref"].as_str().map_or(value, |reference| {
            self.at(reference.trim_start_matches('#'))
        })
    }

    pub(super) fn operations(&self) -> Vec<Operation<'_>> {
        let mut operations = Vec::new();
        for (path, methods) in self.at("/paths").as_object().unwrap() {
            for (method, definition) in methods.as_object().unwrap() {
                operations.push(Operation {
                    path,
                    method: method.to_uppercase(),
                    definition,
                });
            }
        }
        operations
    }

    /// The body that a request of this operation may have: its schema and its examples.
    pub(super) fn request_body<'d>(&'d self, operation: &Operation<'d>) -> Option<&'d Value> {
        let body = operation.definition.get("requestBody")?;
        Some(&self.resolve(body)["content"]["application/json"])
    }

    /// Every named response example of this operation.
    pub(super) fn responses<'d>(&'d self, operation: &Operation<'d>) -> Vec<DocumentedExample<'d>> {
        let mut examples = Vec::new();
        for (status, response) in operation.definition["responses"].as_object().unwrap() {
            let response = self.resolve(response);
            let headers = response["headers"].as_object().into_iter().flatten();
            let headers: Vec<_> = headers
                .map(|(name, header)| (name.as_str(), self.resolve(header)))
                .collect();
            for (media_type, content) in response["content"].as_object().into_iter().flatten() {
                for (name, example) in content["examples"].as_object().into_iter().flatten() {
                    let example = self.resolve(example);
                    examples.push(DocumentedExample {
                        name,
                        status: status.parse().unwrap(),
                        media_type,
                        schema: &content["schema"],
                        value: &example["value"],
                        request: example.get("x-request"),
                        headers: headers.clone(),
                    });
                }
            }
        }
        examples
    }

    /// Asserts that `value` is valid for `schema`, which is a part of this document.
    #[track_caller]
    pub(super) fn assert_valid(&self, schema: &Value, value: &Value) {
        let errors: Vec<_> = self.errors(schema, value);
        assert!(errors.is_empty(), "{errors:#?}\n{value:#}");
    }

    /// The errors of `value` by `schema`.
    pub(super) fn errors(&self, schema: &Value, value: &Value) -> Vec<String> {
        self.validator(schema)
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    /// The validator of `schema`, which is a part of this document.
    pub(super) fn validator(&self, schema: &Value) -> Validator {
        // References start at the root of the document, so the validator needs its components.
        let mut schema = json!({"allOf": [schema]});
        schema["components"] = self.at("/components").clone();
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true);
        options.build(&schema).expect("a schema")
    }
}
