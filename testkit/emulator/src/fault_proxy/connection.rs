//! One connection of a client, call by call: carries out the faults.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

use super::answer::{all_unprocessed, json_answer, refusal};
use super::fault::Fault;
use super::message::{HttpMessage, Stream};
use super::state::Shared;
use processes::loopback::is_foreign;

/// What a connection does after a call.
enum Next {
    /// It sends this answer and waits for the next call.
    Answer(HttpMessage),
    /// It sends these bytes and closes.
    SendAndClose(Vec<u8>),
    Reset,
    /// It closes. The client has closed its side already.
    Close,
}

pub(super) async fn serve(client: TcpStream, number: u64, shared: &Shared) -> io::Result<()> {
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
                let answer = upstream.call(&call).await?;
                Next::Answer(answer)
            }
            Some(fault) => carry_out(fault, &mut client, &mut upstream, call).await?,
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
) -> io::Result<Next> {
    match fault {
        Fault::ResetBefore => Ok(Next::Reset),
        Fault::ResetAfter => {
            upstream.call(&call).await?;
            Ok(Next::Reset)
        }
        Fault::ErrorAfter => {
            upstream.call(&call).await?;
            Ok(Next::Answer(refusal(Fault::InternalServerError)))
        }
        Fault::CutBody => cut_body(upstream, &call).await,
        Fault::EmptyBody => replace_answer(upstream, &call, &[], "").await,
        Fault::HtmlBody => {
            let headers = [("content-type", "text/html")];
            replace_answer(upstream, &call, &headers, "<html></html>").await
        }
        Fault::Slow(delay) => answer_after(delay, upstream, &call).await,
        Fault::Hanging => Ok(hang(client).await),
        Fault::Swallowed(delay) => {
            tokio::time::sleep(delay).await;
            let answer = json_answer("200 OK", "{\"UnprocessedItems\":{}}");
            Ok(Next::Answer(answer))
        }
        Fault::Unprocessed => all_unprocessed(call).map(Next::Answer),
        Fault::Throttled
        | Fault::TableThrottled
        | Fault::InternalServerError
        | Fault::Status(_)
        | Fault::AccessDenied
        | Fault::ExpiredToken
        | Fault::SignatureExpired
        | Fault::Invalid => Ok(Next::Answer(refusal(fault))),
    }
}

/// Does the call, and sends its answer without the last byte.
async fn cut_body(upstream: &mut Stream, call: &HttpMessage) -> io::Result<Next> {
    let answer = upstream.call(call).await?;
    let mut bytes = answer.to_bytes();
    // An answer of DynamoDB has a body of two bytes at least.
    bytes.pop();
    Ok(Next::SendAndClose(bytes))
}

/// Does the call, and sends a 200 with this body in place of its answer.
async fn replace_answer(
    upstream: &mut Stream,
    call: &HttpMessage,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<Next> {
    upstream.call(call).await?;
    let answer = HttpMessage::answer("200 OK", headers, body);
    Ok(Next::Answer(answer))
}

/// Does the call, and sends its answer after `delay`.
async fn answer_after(
    delay: Duration,
    upstream: &mut Stream,
    call: &HttpMessage,
) -> io::Result<Next> {
    let answer = upstream.call(call).await?;
    tokio::time::sleep(delay).await;
    Ok(Next::Answer(answer))
}

/// Answers nothing until the client gives up.
async fn hang(client: &mut Stream) -> Next {
    client.closed().await;
    Next::Close
}
