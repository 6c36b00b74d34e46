//! One connection of a client, call by call: carries out the faults. Must not know why a call has
//! one.

use std::io;

use serde_json::Value;
use tokio::net::TcpStream;

use crate::answer::{json_answer, refusal};
use crate::loopback::is_foreign;
use crate::message::{Message, Stream};
use crate::plan::Fault;
use crate::state::Shared;
use crate::writes;

pub(crate) async fn serve(client: TcpStream, number: u64, shared: &Shared) -> io::Result<()> {
    let mut client = Stream::new(client);
    let mut upstream = shared.connect().await?;
    while let Some(call) = client.next().await? {
        if is_foreign(call.header("origin").is_some(), call.header("host")) {
            let forbidden = Message::answer("403 Forbidden", &[("connection", "close")], "");
            return client.send(&forbidden).await;
        }
        let fault = shared.decide(number, call.operation(), &call.body);
        let answer = match fault {
            None => forward(&mut upstream, call, shared).await?,
            Some(Fault::ResetBefore) => return client.reset(),
            Some(Fault::ResetAfter) => {
                upstream.call(&call).await?;
                return client.reset();
            }
            Some(Fault::CutBody) => {
                let answer = upstream.call(&call).await?;
                let mut bytes = answer.to_bytes();
                // An answer of DynamoDB has a body of two bytes at least.
                bytes.pop();
                return client.send_bytes(&bytes).await;
            }
            Some(Fault::EmptyBody) => {
                upstream.call(&call).await?;
                Message::answer("200 OK", &[], "")
            }
            Some(Fault::HtmlBody) => {
                upstream.call(&call).await?;
                Message::answer("200 OK", &[("content-type", "text/html")], "<html></html>")
            }
            Some(Fault::Slow(delay)) => {
                let answer = upstream.call(&call).await?;
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
                upstream.call(&call).await?;
                return Ok(());
            }
            Some(Fault::Swallowed(delay)) => {
                tokio::time::sleep(delay).await;
                json_answer("200 OK", "{\"UnprocessedItems\":{}}")
            }
            Some(Fault::Unprocessed { done: 0 }) => writes::none(call)?,
            Some(Fault::Unprocessed { done }) => {
                let mut seen = 0;
                let is_done = |_: &Value| {
                    seen += 1;
                    seen <= done
                };
                writes::some(&mut upstream, call, is_done).await?
            }
            Some(Fault::UnprocessedWhere(marker)) => {
                let is_done = |request: &Value| !request.to_string().contains(marker);
                writes::some(&mut upstream, call, is_done).await?
            }
            Some(fault) => refusal(fault),
        };
        client.send(&answer).await?;
    }
    Ok(())
}

/// Does a call that has no fault, as far as the tables have capacity for it.
async fn forward(upstream: &mut Stream, call: Message, shared: &Shared) -> io::Result<Message> {
    match shared.capacity() {
        Some(capacity) => writes::within_capacity(upstream, call, &capacity, shared).await,
        None => upstream.call(&call).await,
    }
}
