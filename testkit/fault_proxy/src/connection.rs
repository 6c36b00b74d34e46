//! One connection of a client, call by call: carries out the faults. Must not know why a call has one.

use std::io;

use serde_json::{Map, Value, json};
use tokio::net::TcpStream;

use crate::message::{Message, Stream};
use crate::plan::Fault;
use crate::state::Shared;

pub(crate) async fn serve(client: TcpStream, number: u64, shared: &Shared) -> io::Result<()> {
    let mut client = Stream::new(client);
    let mut upstream = Stream::new(TcpStream::connect(shared.upstream).await?);
    while let Some(call) = client.next().await? {
        let operation = call.header("x-amz-target").and_then(|target| target.rsplit('.').next()).unwrap_or_default();
        let answer = match shared.decide(number, operation, &call.body) {
            None => forward(&mut upstream, &call).await?,
            Some(Fault::ResetBefore) => return client.reset(),
            Some(Fault::ResetAfter) => {
                forward(&mut upstream, &call).await?;
                return client.reset();
            }
            Some(Fault::CutBody) => {
                let mut bytes = forward(&mut upstream, &call).await?.to_bytes();
                // An answer of DynamoDB has a body of two bytes at least.
                bytes.pop();
                return client.send_bytes(&bytes).await;
            }
            Some(Fault::Slow(delay)) => {
                let answer = forward(&mut upstream, &call).await?;
                tokio::time::sleep(delay).await;
                answer
            }
            Some(Fault::Stall) => {
                client.closed().await;
                return Ok(());
            }
            Some(Fault::Late) => {
                shared.state().late.push(call);
                client.closed().await;
                return Ok(());
            }
            Some(Fault::Swallowed(delay)) => {
                tokio::time::sleep(delay).await;
                json_answer("200 OK", "{\"UnprocessedItems\":{}}")
            }
            Some(Fault::Unprocessed { done: 0 }) => all_unprocessed(call)?,
            Some(Fault::Unprocessed { done }) => {
                let mut left = done;
                let is_done = move |_: &Value| left.checked_sub(1).inspect(|less| left = *less).is_some();
                leave_unprocessed(&mut upstream, call, is_done).await?
            }
            Some(Fault::UnprocessedWhere(marker)) => {
                leave_unprocessed(&mut upstream, call, |request| !request.to_string().contains(marker)).await?
            }
            Some(fault) => refusal(fault),
        };
        client.send(&answer).await?;
    }
    Ok(())
}

pub(crate) async fn forward(upstream: &mut Stream, call: &Message) -> io::Result<Message> {
    upstream.send(call).await?;
    upstream.next().await?.ok_or_else(|| io::ErrorKind::ConnectionAborted.into())
}

/// Answers that all requests of a batch are unprocessed. They are not parsed, which takes long where they are large.
fn all_unprocessed(call: Message) -> io::Result<Message> {
    let batch = String::from_utf8(call.body).map_err(|_| io::ErrorKind::InvalidData)?;
    let requests = batch.strip_prefix("{\"RequestItems\":").ok_or(io::ErrorKind::InvalidData)?;
    Ok(json_answer("200 OK", format!("{{\"UnprocessedItems\":{requests}")))
}

/// Forwards the requests of a batch that are to be done and answers that the others are unprocessed.
async fn leave_unprocessed(
    upstream: &mut Stream,
    mut call: Message,
    mut is_done: impl FnMut(&Value) -> bool,
) -> io::Result<Message> {
    let mut batch: Value = serde_json::from_slice(&call.body)?;
    let mut unprocessed = Map::new();
    let tables = batch.get_mut("RequestItems").and_then(Value::as_object_mut).ok_or(io::ErrorKind::InvalidData)?;
    for (table, requests) in tables.iter_mut() {
        let all = requests.as_array_mut().ok_or(io::ErrorKind::InvalidData)?;
        let (done, rest): (Vec<_>, Vec<_>) = std::mem::take(all).into_iter().partition(&mut is_done);
        *all = done;
        if !rest.is_empty() {
            unprocessed.insert(table.clone(), rest.into());
        }
    }
    tables.retain(|_, requests| requests.as_array().is_some_and(|requests| !requests.is_empty()));
    if !tables.is_empty() {
        call.body = batch.to_string().into_bytes();
        let answer = forward(upstream, &call).await?;
        if !answer.first_line.contains(" 200 ") {
            return Ok(answer);
        }
    }
    Ok(json_answer("200 OK", json!({"UnprocessedItems": unprocessed}).to_string()))
}

/// What DynamoDB answers to a call that it does not do.
fn refusal(fault: Fault) -> Message {
    const DYNAMODB: &str = "com.amazonaws.dynamodb.v20120810";
    const CORAL: &str = "com.amazon.coral.service";
    const VALIDATION: &str = "com.amazon.coral.validate";
    let (status, namespace, name) = match fault {
        Fault::Throttled => ("400 Bad Request", DYNAMODB, "ProvisionedThroughputExceededException"),
        Fault::TableThrottled => ("400 Bad Request", DYNAMODB, "ThrottlingException"),
        Fault::ExpiredToken => ("400 Bad Request", CORAL, "ExpiredTokenException"),
        Fault::UnrecognizedClient => ("400 Bad Request", CORAL, "UnrecognizedClientException"),
        Fault::Invalid => ("400 Bad Request", VALIDATION, "ValidationException"),
        Fault::InternalServerError => ("500 Internal Server Error", DYNAMODB, "InternalServerError"),
        _ => return Message::answer("503 Service Unavailable", &[], ""),
    };
    json_answer(status, json!({"__type": format!("{namespace}#{name}"), "message": "on purpose"}).to_string())
}

fn json_answer(status: &str, body: impl Into<Vec<u8>>) -> Message {
    Message::answer(status, &[("content-type", "application/x-amz-json-1.0")], body)
}
