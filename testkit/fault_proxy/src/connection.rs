//! One connection of a client, call by call: carries out the faults. Must not know why a call has one.

use std::io;

use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::message::{Message, Stream};
use crate::plan::Fault;
use crate::state::Shared;
use crate::writes;

pub(crate) async fn serve(client: TcpStream, number: u64, shared: &Shared) -> io::Result<()> {
    let mut client = Stream::new(client);
    let mut upstream = Stream::new(TcpStream::connect(shared.upstream).await?);
    while let Some(call) = client.next().await? {
        let answer = match shared.decide(number, call.operation(), &call.body) {
            None => match shared.capacity() {
                Some(capacity) => writes::within_capacity(&mut upstream, call, &capacity, shared).await?,
                None => forward(&mut upstream, &call).await?,
            },
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
            Some(Fault::Held) => {
                shared.state().held.push(call);
                client.closed().await;
                return Ok(());
            }
            Some(Fault::Late(delay)) => {
                client.closed().await;
                tokio::time::sleep(delay).await;
                return forward(&mut upstream, &call).await.map(drop);
            }
            Some(Fault::Swallowed(delay)) => {
                tokio::time::sleep(delay).await;
                json_answer("200 OK", "{\"UnprocessedItems\":{}}")
            }
            Some(Fault::Unprocessed { done: 0 }) => writes::none(call)?,
            Some(Fault::Unprocessed { done }) => {
                let mut left = done;
                let is_done = move |_: &Value| left.checked_sub(1).inspect(|less| left = *less).is_some();
                writes::some(&mut upstream, call, is_done).await?
            }
            Some(Fault::UnprocessedWhere(marker)) => {
                writes::some(&mut upstream, call, |request| !request.to_string().contains(marker)).await?
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

/// What DynamoDB answers to a call that it does not do.
pub(crate) fn refusal(fault: Fault) -> Message {
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

pub(crate) fn json_answer(status: &str, body: impl Into<Vec<u8>>) -> Message {
    Message::answer(status, &[("content-type", "application/x-amz-json-1.0")], body)
}
