use serde_json::json;

use super::*;
use crate::sqs::{DEAD_LETTER_QUEUE, OVERFLOW_QUEUE};

const HIDDEN: Duration = Duration::from_secs(5);

fn queues(bodies: &[&str]) -> Queues {
    let mut queues = Queues::default();
    for body in bodies {
        queues
            .answer(
                "SendMessage",
                json!({"QueueUrl": OVERFLOW_QUEUE, "MessageBody": body}),
            )
            .unwrap();
    }
    queues
}

/// The queue says that it has so many messages that wait and so many that are hidden.
#[track_caller]
fn assert_counts(queues: &mut Queues, url: &str, waiting: &str, hidden: &str) {
    let answer = queues
        .answer("GetQueueAttributes", json!({"QueueUrl": url}))
        .unwrap();
    let attributes = &answer["Attributes"];
    assert_eq!(attributes["ApproximateNumberOfMessages"], waiting);
    assert_eq!(attributes["ApproximateNumberOfMessagesNotVisible"], hidden);
}

fn ids(messages: &[QueueMessage]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

#[test]
fn received_message_is_hidden_until_its_timeout() {
    let mut queues = queues(&["a", "b"]);
    let now = Instant::now();
    assert_eq!(ids(&queues.receive(1, HIDDEN, now)), ["0"]);
    assert_eq!(ids(&queues.receive(10, HIDDEN, now)), ["1"]);
    assert_counts(&mut queues, OVERFLOW_QUEUE, "0", "2");
    assert!(queues.receive(10, HIDDEN, now + HIDDEN / 2).is_empty());
    assert_eq!(ids(&queues.receive(10, HIDDEN, now + HIDDEN)), ["0", "1"]);
}

#[test]
fn messages_that_would_exceed_an_event_are_received_later() {
    let large = "x".repeat(MAX_BYTES);
    let mut queues = queues(&[large.as_str(); 4]);
    let now = Instant::now();
    assert_eq!(queues.receive(10, HIDDEN, now).len(), 3);
    assert_eq!(ids(&queues.receive(10, HIDDEN, now)), ["3"]);
}

#[test]
fn message_that_is_never_deleted_becomes_a_dead_letter_and_is_redriven() {
    let mut queues = queues(&["a"]);
    let mut now = Instant::now();
    for _ in 0..MAX_RECEIVES {
        assert_eq!(queues.receive(1, HIDDEN, now).len(), 1);
        now += HIDDEN;
    }
    assert!(queues.receive(1, HIDDEN, now).is_empty());
    assert_eq!(queues.dead_letters.messages.len(), 1);
    assert_eq!(queues.overflow.messages.len(), 0);

    queues.answer("StartMessageMoveTask", json!({})).unwrap();
    assert_counts(&mut queues, OVERFLOW_QUEUE, "1", "0");
    assert_counts(&mut queues, DEAD_LETTER_QUEUE, "0", "0");
}

/// The ids and bodies of the messages of a queue.
fn contents(queue: &Queue) -> Vec<(&str, &str)> {
    queue
        .messages
        .iter()
        .map(|message| (message.id.as_str(), message.body.as_str()))
        .collect()
}

/// A line of the file of a queue.
const SENT: &str =
    "{\"sent\":{\"id\":\"7\",\"body\":\"secret\",\"reason\":null,\"is_dead\":false}}\n";

fn open(path: &Path) -> Result<Queues> {
    Queues::open(path, |_| {})
}

#[test]
fn queues_in_a_file_are_there_again_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.sqlite.queue");
    let mut queues = open(&path).unwrap();
    for (url, body) in [
        (OVERFLOW_QUEUE, "a"),
        (OVERFLOW_QUEUE, "b\n"),
        (DEAD_LETTER_QUEUE, "c"),
        (OVERFLOW_QUEUE, "d"),
    ] {
        queues
            .answer("SendMessage", json!({"QueueUrl": url, "MessageBody": body}))
            .unwrap();
    }
    queues.receive(1, HIDDEN, Instant::now());
    queues.delete("0");
    drop(queues);

    let queues = open(&path).unwrap();
    assert_eq!(contents(&queues.overflow), [("1", "b\n"), ("3", "d")]);
    assert_eq!(contents(&queues.dead_letters), [("2", "c")]);
    assert_eq!(queues.sent, 4);
    open(&path)
        .unwrap()
        .answer("StartMessageMoveTask", json!({}))
        .unwrap();
    assert_eq!(open(&path).unwrap().overflow.messages.len(), 3);
    open(&path).unwrap().clear();
    assert_eq!(contents(&open(&path).unwrap().overflow), []);
}

#[test]
fn last_line_that_a_kill_has_cut_is_left_out_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.sqlite.queue");
    for whole in ["", SENT] {
        for unfinished in [
            &b"{\"sent\":{\"id\":\"9\",\"bo"[..],
            b"{\"sent\":{\"id\":\"9\",\"body\":\"\xc3",
            b"{",
        ] {
            std::fs::write(&path, [whole.as_bytes(), unfinished].concat()).unwrap();
            let mut notes = Vec::new();
            let queues = Queues::open(&path, |note| notes.push(note.to_owned())).unwrap();
            assert_eq!(queues.overflow.messages.len(), whole.lines().count());
            let number = whole.lines().count() + 1;
            let expected = format!(
                "Line {number}, the last one of the queue's file {}, is left out: it has no end, as when the stack was \
                 killed before it acknowledged a message.",
                path.display()
            );
            assert_eq!(notes, [expected]);
            open(&path).unwrap();
        }
    }
}

#[test]
fn file_with_a_line_that_cannot_be_read_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.sqlite.queue");
    for line in [
        SENT.replacen("\"id\"", "\"ib\"", 1),
        SENT.replacen("reason", "raeson", 1),
        SENT.replacen("sent", "send", 1),
        SENT.replacen('{', "[", 1),
        SENT.trim_end().repeat(2) + "\n",
        "\0".repeat(SENT.len()),
        "{\"sent\":{\"id\":\"9\"\n".to_owned(),
        "\n".to_owned(),
    ] {
        let damaged = [SENT, &line, "\"cleared\"\n"].concat();
        std::fs::write(&path, &damaged).unwrap();
        let error = format!("{:#}", open(&path).unwrap_err());
        let expected = format!(
            "Line 2 of the queue's file {} cannot be read",
            path.display()
        );
        assert!(error.starts_with(&expected), "{line}: {error}");
        assert!(!error.contains("secret"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
    }
}

#[test]
fn file_that_is_no_queue_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.sqlite.queue");
    for text in [
        "my notes\n",
        "my notes",
        "{\"a\":1}",
        "{\n  \"a\": 1\n}\n",
        "\u{feff}",
    ] {
        std::fs::write(&path, text).unwrap();
        let error = open(&path).unwrap_err().to_string();
        let expected = format!(
            "{} is not a queue file of the local stack: name another data file.",
            path.display()
        );
        assert_eq!(error, expected, "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn file_beside_that_of_the_queue_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let beside = folder.path().join("dev.sqlite.queue.new");
    std::fs::write(&beside, "my notes").unwrap();
    open(&folder.path().join("dev.sqlite.queue")).unwrap();
    assert_eq!(std::fs::read_to_string(&beside).unwrap(), "my notes");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}
