//! Calls of which DynamoDB does only a part: by a fault, or within the capacity of the tables.

use std::io;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::answer::{json_answer, refusal};
use super::capacity::Capacity;
use super::fault::Fault;
use super::message::{HttpMessage, Stream};
use super::state::Shared;

/// Answers that all requests of a batch are unprocessed. The requests are not parsed, because that
/// takes long where they are large.
pub(super) fn do_none(call: HttpMessage) -> io::Result<HttpMessage> {
    let batch = String::from_utf8(call.body).map_err(|_| io::ErrorKind::InvalidData)?;
    let requests = batch
        .strip_prefix("{\"RequestItems\":")
        .ok_or(io::ErrorKind::InvalidData)?;
    let body = format!("{{\"UnprocessedItems\":{requests}");
    Ok(json_answer("200 OK", body))
}

/// Forwards the requests of a batch that are to be done and answers that the others are
/// unprocessed.
pub(super) async fn do_some(
    upstream: &mut Stream,
    call: HttpMessage,
    mut is_done: impl FnMut(&Value) -> bool,
) -> io::Result<HttpMessage> {
    let SplitBatch { to_do, unprocessed } = split(call, |_, request| is_done(request))?;
    let Some(call) = to_do else {
        return Ok(all_done_but(&unprocessed));
    };
    let answer = upstream.call(&call).await?;
    Ok(with_unprocessed(answer, &unprocessed))
}

/// Forwards what the tables have capacity for. DynamoDB answers the rest as unprocessed, or with an
/// exception when it does nothing of the call (`BatchWriteItem` in the DynamoDB API reference).
pub(super) async fn do_within_capacity(
    upstream: &mut Stream,
    call: HttpMessage,
    capacity: &Capacity,
    shared: &Shared,
) -> io::Result<HttpMessage> {
    let take = |table: &str, key: Option<&Value>, bytes| {
        let key = key.and_then(Value::as_str).unwrap_or_default();
        let is_taken = capacity.take(table, key, bytes, Instant::now());
        shared.count_throttled(!is_taken);
        is_taken
    };
    let key_pointer = match call.operation() {
        "BatchWriteItem" => return do_batch_within_capacity(upstream, call, take).await,
        "PutItem" => "/Item/pk/S",
        "UpdateItem" => "/Key/pk/S",
        _ => return upstream.call(&call).await,
    };
    let write: Value = serde_json::from_slice(&call.body)?;
    let table = write
        .get("TableName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_taken = take(table, write.pointer(key_pointer), call.body.len());
    if !is_taken {
        return Ok(refusal(Fault::TableThrottled));
    }
    upstream.call(&call).await
}

/// As [`do_within_capacity`], for a `BatchWriteItem`. `take` gets the table, the partition key and
/// the size of each request, and says whether there is capacity for it.
async fn do_batch_within_capacity(
    upstream: &mut Stream,
    call: HttpMessage,
    take: impl Fn(&str, Option<&Value>, usize) -> bool,
) -> io::Result<HttpMessage> {
    let is_done = |table: &str, request: &Value| {
        let key = request.pointer("/PutRequest/Item/pk/S");
        take(table, key, request.to_string().len())
    };
    let SplitBatch { to_do, unprocessed } = split(call, is_done)?;
    let Some(call) = to_do else {
        return Ok(refusal(Fault::TableThrottled));
    };
    let answer = upstream.call(&call).await?;
    Ok(with_unprocessed(answer, &unprocessed))
}

/// A `BatchWriteItem` of which a part is done.
struct SplitBatch {
    /// The call with the requests that are done, if there are any.
    to_do: Option<HttpMessage>,
    /// The other requests, by table.
    unprocessed: Map<String, Value>,
}

/// Splits the requests of a `BatchWriteItem` by `is_done`, which gets the table and the request.
fn split(
    mut call: HttpMessage,
    mut is_done: impl FnMut(&str, &Value) -> bool,
) -> io::Result<SplitBatch> {
    let mut batch: Value = serde_json::from_slice(&call.body)?;
    let mut unprocessed = Map::new();
    let tables = batch
        .get_mut("RequestItems")
        .and_then(Value::as_object_mut)
        .ok_or(io::ErrorKind::InvalidData)?;
    for (table, requests) in tables.iter_mut() {
        let all = requests.as_array_mut().ok_or(io::ErrorKind::InvalidData)?;
        let (done, rest): (Vec<_>, Vec<_>) = std::mem::take(all)
            .into_iter()
            .partition(|request| is_done(table, request));
        *all = done;
        if !rest.is_empty() {
            unprocessed.insert(table.clone(), rest.into());
        }
    }
    tables.retain(|_, requests| {
        requests
            .as_array()
            .is_some_and(|requests| !requests.is_empty())
    });
    let is_empty = tables.is_empty();
    if !unprocessed.is_empty() {
        call.body = batch.to_string().into_bytes();
    }
    Ok(SplitBatch {
        to_do: (!is_empty).then_some(call),
        unprocessed,
    })
}

/// The answer to a call of which `done` is the answer to its part.
fn with_unprocessed(done: HttpMessage, unprocessed: &Map<String, Value>) -> HttpMessage {
    if done.first_line.contains(" 200 ") {
        all_done_but(unprocessed)
    } else {
        done
    }
}

fn all_done_but(unprocessed: &Map<String, Value>) -> HttpMessage {
    let body = json!({"UnprocessedItems": unprocessed});
    json_answer("200 OK", body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(batch: &Value) -> HttpMessage {
        HttpMessage {
            first_line: "POST / HTTP/1.1".to_owned(),
            headers: Vec::new(),
            body: batch.to_string().into_bytes(),
        }
    }

    fn json_of(message: &HttpMessage) -> Value {
        serde_json::from_slice(&message.body).unwrap()
    }

    #[test]
    fn batch_is_split_by_table_and_request() {
        let batch = json!({"RequestItems": {"Signals": [1, 2, 3], "Rejected": [2]}});
        let is_done = |table: &str, request: &Value| table == "Signals" && *request != 2;
        let parts = split(call(&batch), is_done).unwrap();
        assert_eq!(
            json_of(&parts.to_do.unwrap()),
            json!({"RequestItems": {"Signals": [1, 3]}})
        );
        assert_eq!(
            Value::from(parts.unprocessed),
            json!({"Signals": [2], "Rejected": [2]})
        );
    }

    #[test]
    fn batch_of_which_nothing_is_done_has_no_call() {
        let batch = json!({"RequestItems": {"Signals": [1, 2]}});
        let parts = split(call(&batch), |_, _| false).unwrap();
        assert!(parts.to_do.is_none());
        assert_eq!(Value::from(parts.unprocessed), batch["RequestItems"]);
        let answer = do_none(call(&batch)).unwrap();
        assert_eq!(
            json_of(&answer),
            json!({"UnprocessedItems": {"Signals": [1, 2]}})
        );
    }

    #[test]
    fn batch_of_which_everything_is_done_is_sent_as_it_is() {
        let batch = json!({"RequestItems": {"Signals": [1, 2]}});
        let parts = split(call(&batch), |_, _| true).unwrap();
        assert_eq!(json_of(&parts.to_do.unwrap()), batch);
        assert!(parts.unprocessed.is_empty());
    }

    #[test]
    fn failure_of_the_part_that_is_done_is_the_answer() {
        let unprocessed = Map::new();
        let failed = HttpMessage::answer("500 Internal Server Error", &[], "");
        let answer = with_unprocessed(failed, &unprocessed);
        assert_eq!(answer.first_line, "HTTP/1.1 500 Internal Server Error");
    }
}
