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

#[test]
fn queues_in_a_file_are_there_again_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.sqlite.queue");
    let mut queues = Queues::open(&path).unwrap();
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
    let finished = std::fs::read(&path).unwrap();

    for unfinished in [
        &b"{\"sent\":{\"id\":\"9\",\"bo"[..],
        b"{\"sent\":{\"id\":\"9\",\"body\":\"\xc3",
        b"",
    ] {
        std::fs::write(&path, [&finished, unfinished].concat()).unwrap();
        let queues = Queues::open(&path).unwrap();
        assert_eq!(contents(&queues.overflow), [("1", "b\n"), ("3", "d")]);
        assert_eq!(contents(&queues.dead_letters), [("2", "c")]);
        assert_eq!(queues.sent, 4);
    }
    Queues::open(&path)
        .unwrap()
        .answer("StartMessageMoveTask", json!({}))
        .unwrap();
    assert_eq!(Queues::open(&path).unwrap().overflow.messages.len(), 3);
    Queues::open(&path).unwrap().clear();
    assert_eq!(contents(&Queues::open(&path).unwrap().overflow), []);
}
