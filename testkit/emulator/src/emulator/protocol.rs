//! DynamoDB's protocol over HTTP: a header names the operation, and call and answer are JSON. This
//! module must not know what is stored.

use dynoxide::{Database, DynoxideError};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use processes::http_server::{Service, response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::reserved_names;

/// What comes before the operation in its header.
const TARGET_PREFIX: &str = "DynamoDB_20120810.";

/// The largest body that DynamoDB takes, in bytes.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

const UNKNOWN_OPERATION: &str =
    r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;

/// Gets the message of each answer that says that the emulator failed.
pub(super) type Failures = mpsc::UnboundedSender<String>;

/// Answers the calls to a database. A call blocks a thread of its own, because the database does one
/// call after another, and one with a large batch takes seconds: other services answer meanwhile.
pub(super) struct Protocol {
    pub(super) database: Database,
    pub(super) failures: Option<Failures>,
}

impl Service for Protocol {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        if request.body().len() > MAX_BODY_BYTES {
            return response(413, &[], "");
        }
        let target = request.headers().get("x-amz-target");
        let operation = target
            .and_then(|target| target.to_str().ok()?.strip_prefix(TARGET_PREFIX))
            .unwrap_or_default()
            .to_owned();
        let database = self.database.clone();
        let call = request.into_body();
        let operating = tokio::task::spawn_blocking(move || operate(&database, &operation, &call));
        let answer = operating.await.unwrap_or_else(|panic| {
            let error = DynoxideError::InternalServerError(panic.to_string());
            Some(Err(error))
        });
        match answer {
            Some(Ok(answer)) => json_response(200, answer),
            Some(Err(error)) => {
                self.report(&error);
                json_response(error.status_code(), error.to_json())
            }
            None => json_response(400, UNKNOWN_OPERATION),
        }
    }
}

impl Protocol {
    /// Hands a failure of the emulator to the program that started it. A function only learns that
    /// DynamoDB failed.
    fn report(&self, error: &DynoxideError) {
        if error.status_code() < 500 {
            return;
        }
        if let Some(failures) = &self.failures {
            // The program may have stopped listening.
            let _ = failures.send(error.to_string());
        }
    }
}

/// Does an operation, if it is one that the emulator has.
fn operate(database: &Database, operation: &str, call: &[u8]) -> Option<dynoxide::Result<Vec<u8>>> {
    let answer = match operation {
        "BatchGetItem" => answer(call, |call| database.batch_get_item(call)),
        "BatchWriteItem" => answer(call, |call| database.batch_write_item(call)),
        "CreateTable" => answer(call, |call| database.create_table(call)),
        "DeleteItem" => answer(call, |call| database.delete_item(call)),
        "DeleteTable" => answer(call, |call| database.delete_table(call)),
        "DescribeTable" => answer(call, |call| database.describe_table(call)),
        "DescribeTimeToLive" => answer(call, |call| database.describe_time_to_live(call)),
        "ExecuteStatement" => answer(call, |call| database.execute_statement(call)),
        "GetItem" => answer(call, |call| database.get_item(call)),
        "ListTables" => answer(call, |call| database.list_tables(call)),
        "PutItem" => answer(call, |call| database.put_item(call)),
        "Query" => answer(call, |call| database.query(call)),
        "Scan" => answer(call, |call| database.scan(call)),
        "TransactGetItems" => answer(call, |call| database.transact_get_items(call)),
        "TransactWriteItems" => answer(call, |call| database.transact_write_items(call)),
        "UpdateItem" => answer(call, |call| database.update_item(call)),
        "UpdateTable" => answer(call, |call| database.update_table(call)),
        "UpdateTimeToLive" => answer(call, |call| database.update_time_to_live(call)),
        _ => return None,
    };
    Some(answer)
}

fn answer<Call: DeserializeOwned, Answer: Serialize>(
    call: &[u8],
    operation: impl FnOnce(Call) -> dynoxide::Result<Answer>,
) -> dynoxide::Result<Vec<u8>> {
    let call = reserved_names::hide(call);
    let call = serde_json::from_slice(&call).map_err(|error| unreadable(&error))?;
    let answer = operation(call)?;
    let answer = serde_json::to_vec(&answer);
    let answer = answer.map_err(|error| DynoxideError::InternalServerError(error.to_string()))?;
    Ok(reserved_names::show(answer))
}

/// The error of a call that is not JSON, or has a value which DynamoDB refuses. dynoxide begins
/// messages of the latter with marks for its own server, such as `VALIDATION_REQUEST:`.
fn unreadable(error: &serde_json::Error) -> DynoxideError {
    let message = error.to_string();
    if !error.is_data() {
        return DynoxideError::SerializationException(message);
    }
    let is_mark = |text: &str| text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    match message.split_once(':') {
        Some((mark, text)) if is_mark(mark) => DynoxideError::ValidationException(text.to_owned()),
        _ => DynoxideError::ValidationException(message),
    }
}

fn json_response(status: u16, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let body = body.into();
    let checksum = crc32fast::hash(&body).to_string();
    let headers = [
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amz-crc32", &checksum),
    ];
    response(status, &headers, body)
}
