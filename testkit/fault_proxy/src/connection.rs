//! One connection of a client, call by call: carries out the faults. Must not know why a call has
//! one.

use std::io;

use serde_json::Value;
use tokio::net::TcpStream;

use crate::answer::{json_answer, refusal};
use crate::loopback::is_foreign;
use crate::message::{HttpMessage, Stream};
use crate::plan::Fault;
use crate::state::Shared;
use crate::writes;

/// What a connection does after a call.
enum Next {
    /// It sends this answer and waits for the next call.
    Answer(HttpMessage),
    /// It sends these bytes and closes.
    SendAndClose(Vec<u8>),
    /// It resets.
    Reset,
    /// It closes. The client has closed its side already.
    Close,
}

pub(crate) async fn serve(client: TcpStream, number: u64, shared: &Shared) -> io::Result<()> {
    let mut client = Stream::new(client);
    let mut upstream = shared.connect().await?;
    while let Some(call) = client.next().await? {
        if is_foreign(call.header("origin").is_some(), call.header("host")) {
            let forbidden = HttpMessage::answer("403 Forbidden", &[("connection", "close")], "");
            return client.send(&forbidden).await;
        }
        let fault = shared.decide(number, call.operation(), &call.body);
        let next = match fault {
            None => {
                let answer = forward(&mut upstream, call, shared).await?;
                Next::Answer(answer)
            }
            Some(fault) => carry_out(fault, &mut client, &mut upstream, call, shared).await?,
        };
        match next {
            Next::Answer(answer) => client.send(&answer).await?,
            Next::SendAndClose(bytes) => return client.send_bytes(&bytes).await,
            Next::Reset => return client.reset(),
            Next::Close => return Ok(()),
        }
    }
    Ok(())
}

/// Does to a call what its fault says.
async fn carry_out(
    fault: Fault,
    client: &mut Stream,
    upstream: &mut Stream,
    call: HttpMessage,
    shared: &Shared,
) -> io::Result<Next> {
    let answer = match fault {
        Fault::ResetBefore => return Ok(Next::Reset),
        Fault::ResetAfter => {
            upstream.call(&call).await?;
            return Ok(Next::Reset);
        }
        Fault::CutBody => {
            let answer = upstream.call(&call).await?;
            let mut bytes = answer.to_bytes();
            // An answer of DynamoDB has a body of two bytes at least.
            bytes.pop();
            return Ok(Next::SendAndClose(bytes));
        }
        Fault::EmptyBody => {
            upstream.call(&call).await?;
            HttpMessage::answer("200 OK", &[], "")
        }
        Fault::HtmlBody => {
            upstream.call(&call).await?;
            HttpMessage::answer("200 OK", &[("content-type", "text/html")], "<html></html>")
        }
        Fault::Slow(delay) => {
            let answer = upstream.call(&call).await?;
            tokio::time::sleep(delay).await;
            answer
        }
        Fault::Stall => {
            client.closed().await;
            return Ok(Next::Close);
        }
        Fault::Held => {
            shared.state().held.push(call);
            client.closed().await;
            return Ok(Next::Close);
        }
        Fault::Late(delay) => {
            client.closed().await;
            tokio::time::sleep(delay).await;
            upstream.call(&call).await?;
            return Ok(Next::Close);
        }
        Fault::Swallowed(delay) => {
            tokio::time::sleep(delay).await;
            json_answer("200 OK", "{\"UnprocessedItems\":{}}")
        }
        Fault::Unprocessed { done: 0 } => writes::do_none(call)?,
        Fault::Unprocessed { done } => {
            let mut seen = 0;
            let is_done = |_: &Value| {
                seen += 1;
                seen <= done
            };
            writes::do_some(upstream, call, is_done).await?
        }
        Fault::UnprocessedWhere(marker) => {
            let is_done = |request: &Value| !request.to_string().contains(marker);
            writes::do_some(upstream, call, is_done).await?
        }
        Fault::Throttled
        | Fault::TableThrottled
        | Fault::InternalServerError
        | Fault::ServiceUnavailable
        | Fault::AccessDenied
        | Fault::ExpiredToken
        | Fault::UnrecognizedClient
        | Fault::Invalid => refusal(fault),
    };
    Ok(Next::Answer(answer))
}

/// Does a call that has no fault, as far as the tables have capacity for it.
async fn forward(
    upstream: &mut Stream,
    call: HttpMessage,
    shared: &Shared,
) -> io::Result<HttpMessage> {
    match shared.capacity() {
        Some(capacity) => writes::do_within_capacity(upstream, call, &capacity, shared).await,
        None => upstream.call(&call).await,
    }
}
