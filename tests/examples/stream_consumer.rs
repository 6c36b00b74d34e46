//! A Lambda function behind the stream of signals. Needs the crates `lambda_runtime`, `serde_json` and `tokio`.

use std::io::Write as _;

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::{Value, json};

/// The JSON text of a value in DynamoDB's JSON. A number is copied, so that it keeps its digits.
fn plain(value: &Value) -> Option<String> {
    let (kind, inner) = value.as_object()?.iter().next()?;
    let field = |(name, value): (&String, &Value)| Some(format!("{}:{}", json!(name), plain(value)?));
    Some(match kind.as_str() {
        "M" => format!("{{{}}}", inner.as_object()?.iter().map(field).collect::<Option<Vec<_>>>()?.join(",")),
        "L" => format!("[{}]", inner.as_array()?.iter().map(plain).collect::<Option<Vec<_>>>()?.join(",")),
        "N" => inner.as_str()?.to_owned(),
        "NULL" => "null".to_owned(),
        _ => inner.to_string(),
    })
}

/// What the consumer does with the item of a signal, as JSON text.
fn handle(item: &str) -> Result<(), Error> {
    Ok(writeln!(std::io::stdout(), "{item}")?)
}

pub(crate) fn consume(event: &Value, mut handle: impl FnMut(&str) -> Result<(), Error>) -> Value {
    let mut failures = Vec::new();
    for record in event.get("Records").and_then(Value::as_array).into_iter().flatten() {
        // A signal that expires or is erased is a REMOVE.
        if record.get("eventName").and_then(Value::as_str) != Some("INSERT") {
            continue;
        }
        let item = record.pointer("/dynamodb/NewImage").and_then(|image| plain(&json!({"M": image})));
        if item.is_none_or(|item| handle(&item).is_err()) {
            // Lambda delivers this record and those after it again.
            failures.push(json!({"itemIdentifier": record.pointer("/dynamodb/SequenceNumber")}));
            break;
        }
    }
    json!({"batchItemFailures": failures})
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    run(service_fn(|event: LambdaEvent<Value>| async move { Ok::<_, Error>(consume(&event.payload, handle)) })).await
}
