//! DynamoDB's protocol over HTTP: a header names the operation, and the call and the response are JSON. This
//! module must not know what is stored.

use std::sync::Arc;

use dynoxide::{Database, DynoxideError};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use processes::http_server::{Service, response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, mpsc};

use super::reserved_names;

/// What comes before the operation in its header.
const TARGET_PREFIX: &str = "DynamoDB_20120810.";

/// The largest body that DynamoDB accepts, in bytes.
const MAX_CALL_BYTES: usize = 16 * 1024 * 1024;

const UNKNOWN_OPERATION: &str =
    r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;

/// Gets the message of each response that says that the emulator failed.
pub(super) type Failures = mpsc::UnboundedSender<String>;

/// Responds to the calls to a database, one after another, in a thread beside that of the server: a large batch
/// takes seconds, and other services respond meanwhile. A call that its client gives up before its turn is
/// not done. So a batch that is sent again and again does not pile up.
pub(super) struct Protocol {
    pub(super) database: Arc<Mutex<Database>>,
    pub(super) failures: Option<Failures>,
}

impl Service for Protocol {
    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        if request.body().len() > MAX_CALL_BYTES {
            return response(413, &[], "");
        }
        let target = request.headers().get("x-amz-target");
        let operation = target
            .and_then(|target| target.to_str().ok()?.strip_prefix(TARGET_PREFIX))
            .unwrap_or_default()
            .to_owned();
        let call = request.into_body();
        let database = Arc::clone(&self.database).lock_owned().await;
        let operating = tokio::task::spawn_blocking(move || operate(&database, &operation, &call));
        let response = operating.await.unwrap_or_else(|panic| {
            let error = DynoxideError::InternalServerError(panic.to_string());
            Some(Err(error))
        });
        match response {
            Some(Ok(response)) => json_response(200, response),
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
    let response = match operation {
        "BatchGetItem" => respond(call, |call| database.batch_get_item(call)),
        "BatchWriteItem" => respond(call, |call| database.batch_write_item(call)),
        "CreateTable" => respond(call, |call| database.create_table(call)),
        "DeleteItem" => respond(call, |call| database.delete_item(call)),
        "DeleteTable" => respond(call, |call| database.delete_table(call)),
        "DescribeTable" => respond(call, |call| database.describe_table(call)),
        "DescribeTimeToLive" => respond(call, |call| database.describe_time_to_live(call)),
        "ExecuteStatement" => respond(call, |call| database.execute_statement(call)),
        "GetItem" => respond(call, |call| database.get_item(call)),
        "ListTables" => respond(call, |call| database.list_tables(call)),
        "PutItem" => respond(call, |call| database.put_item(call)),
        "Query" => respond(call, |call| database.query(call)),
        "Scan" => respond(call, |call| database.scan(call)),
        "TransactGetItems" => respond(call, |call| database.transact_get_items(call)),
        "TransactWriteItems" => respond(call, |call| database.transact_write_items(call)),
        "UpdateItem" => respond(call, |call| database.update_item(call)),
        "UpdateTable" => respond(call, |call| database.update_table(call)),
        "UpdateTimeToLive" => respond(call, |call| database.update_time_to_live(call)),
        _ => return None,
    };
    Some(response)
}

fn respond<Call: DeserializeOwned, Output: Serialize>(
    call: &[u8],
    operation: impl FnOnce(Call) -> dynoxide::Result<Output>,
) -> dynoxide::Result<Vec<u8>> {
    let call = reserved_names::hide(call);
    let call = serde_json::from_slice(&call).map_err(|error| unreadable(&error))?;
    let response = operation(call)?;
    let response = serde_json::to_vec(&response);
    let response =
        response.map_err(|error| DynoxideError::InternalServerError(error.to_string()))?;
    Ok(reserved_names::show(response))
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::BodyExt as _;
    use tokio::time::timeout;

    use super::*;

    const TABLE: &str = r#"{"TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}]}"#;

    fn call(operation: &str, body: &'static str) -> Request<Bytes> {
        let target = format!("{TARGET_PREFIX}{operation}");
        let request = Request::builder().header("x-amz-target", target);
        request.body(Bytes::from(body)).unwrap()
    }

    async fn table_names(protocol: &Protocol) -> Bytes {
        let response = protocol.respond(call("ListTables", "{}")).await;
        let Ok(body) = response.into_body().collect().await;
        body.to_bytes()
    }

    #[tokio::test]
    async fn call_that_is_given_up_before_its_turn_is_not_done() {
        let database = Database::memory().unwrap();
        let protocol = Protocol {
            database: Arc::new(Mutex::new(database)),
            failures: None,
        };
        let earlier_call = Arc::clone(&protocol.database).lock_owned().await;
        let waiting = protocol.respond(call("CreateTable", TABLE));
        assert!(timeout(Duration::ZERO, waiting).await.is_err());
        drop(earlier_call);
        assert_eq!(table_names(&protocol).await, r#"{"TableNames":[]}"#);
        protocol.respond(call("CreateTable", TABLE)).await;
        assert_eq!(table_names(&protocol).await, r#"{"TableNames":["Table"]}"#);
    }
}
