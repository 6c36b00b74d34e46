//! The file of a queue on a disk that is full. The test starts a process of its own, which must not
//! inherit the locks that other tests of this package hold on their data files.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail like tests")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use emulator::sqs::{FakeSqs, OVERFLOW_QUEUE};

/// The variable with the file of the queue, in the process that cannot write large files.
const FILE_VARIABLE: &str = "FILE_OF_QUEUE";

#[tokio::test]
async fn message_that_does_not_fit_on_the_disk_leaves_nothing_in_the_file() {
    if let Some(path) = std::env::var_os(FILE_VARIABLE) {
        let queue = FakeSqs::start_in(path.as_ref()).await.unwrap();
        let endpoint = queue.endpoint();
        tokio::task::spawn_blocking(move || send_messages(&endpoint))
            .await
            .unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.sqlite.queue");
    // So many blocks, of 512 or 1,024 bytes, hold the database without the large message. Without the trap, the first large write would end the process.
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$0\"";
    let status = Command::new("sh")
        .args(["-c", limited])
        .arg(std::env::current_exe().unwrap())
        .env(FILE_VARIABLE, &path)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());

    let queue = FakeSqs::start_in(&path).await.unwrap();
    assert_eq!(queue.take_messages(), ["before", "after"]);
}

fn send_messages(endpoint: &str) {
    assert!(send(endpoint, "before").starts_with("HTTP/1.1 200 "));
    let too_large = "x".repeat(500_000);
    assert!(send(endpoint, &too_large).starts_with("HTTP/1.1 500 "));
    assert!(send(endpoint, "after").starts_with("HTTP/1.1 200 "));
}

/// The response to a message that is sent to the overflow queue.
fn send(endpoint: &str, message: &str) -> String {
    let address = endpoint.strip_prefix("http://").unwrap();
    let call = format!(r#"{{"QueueUrl":"{OVERFLOW_QUEUE}","MessageBody":"{message}"}}"#);
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n\
         Content-Length: {}\r\n\r\n{call}",
        call.len()
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}
