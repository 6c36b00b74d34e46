//! Batches of which DynamoDB does only a part.

use std::io;

use serde_json::{Map, Value, json};

use super::answer::json_answer;
use super::message::{HttpMessage, Stream};

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
    is_done: impl FnMut(&Value) -> bool,
) -> io::Result<HttpMessage> {
    let SplitBatch { to_do, unprocessed } = split(call, is_done)?;
    let Some(call) = to_do else {
        return Ok(all_done_but(&unprocessed));
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

/// Splits the requests of a `BatchWriteItem` by `is_done`.
fn split(mut call: HttpMessage, mut is_done: impl FnMut(&Value) -> bool) -> io::Result<SplitBatch> {
    let mut batch: Value = serde_json::from_slice(&call.body)?;
    let mut unprocessed = Map::new();
    let tables = batch
        .get_mut("RequestItems")
        .and_then(Value::as_object_mut)
        .ok_or(io::ErrorKind::InvalidData)?;
    for (table, requests) in tables.iter_mut() {
        let all = requests.as_array_mut().ok_or(io::ErrorKind::InvalidData)?;
        let (done, rest): (Vec<_>, Vec<_>) =
            std::mem::take(all).into_iter().partition(&mut is_done);
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
    fn batch_is_split_by_request() {
        let batch = json!({"RequestItems": {"Signals": [1, 2, 3], "Rejected": [2]}});
        let is_done = |request: &Value| *request != 2;
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
        let parts = split(call(&batch), |_| false).unwrap();
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
        let parts = split(call(&batch), |_| true).unwrap();
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
