use serde_json::json;

use super::*;
use crate::sqs::{DEAD_LETTER_QUEUE, OVERFLOW_QUEUE};

const HIDDEN: Duration = Duration::from_secs(5);

fn queues(bodies: &[&str]) -> Queues {
    let mut queues = Queues::in_memory().unwrap();
    for body in bodies {
        queues
            .respond(
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
    let response = queues
        .respond("GetQueueAttributes", json!({"QueueUrl": url}))
        .unwrap();
    let attributes = &response["Attributes"];
    assert_eq!(attributes["ApproximateNumberOfMessages"], waiting);
    assert_eq!(attributes["ApproximateNumberOfMessagesNotVisible"], hidden);
}

/// The messages that are received at this time.
fn received(queues: &Queues, most: usize, now: Instant) -> Vec<String> {
    let messages = queues.receive(most, HIDDEN, now).unwrap();
    messages.into_iter().map(|message| message.id).collect()
}

#[test]
fn received_message_is_hidden_until_its_timeout() {
    let mut queues = queues(&["a", "b"]);
    let now = Instant::now();
    assert_eq!(received(&queues, 1, now), ["0"]);
    assert_eq!(received(&queues, 10, now), ["1"]);
    assert_counts(&mut queues, OVERFLOW_QUEUE, "0", "2");
    assert!(received(&queues, 10, now + HIDDEN / 2).is_empty());
    assert_eq!(received(&queues, 10, now + HIDDEN), ["0", "1"]);
}

#[test]
fn messages_that_would_exceed_an_event_are_received_later() {
    let large = "x".repeat(MAX_BYTES);
    let queues = queues(&[large.as_str(); 4]);
    let now = Instant::now();
    assert_eq!(received(&queues, 10, now).len(), 3);
    assert_eq!(received(&queues, 10, now), ["3"]);
}

#[test]
fn dead_letters_have_as_many_receives_as_in_the_template() {
    let template = include_str!("../../../../../template.yaml");
    let expected = format!("maxReceiveCount: {MAX_RECEIVES}\n");
    assert!(template.contains(&expected));
}

#[test]
fn message_that_is_never_deleted_becomes_a_dead_letter_and_is_redriven() {
    let mut queues = queues(&["a"]);
    let mut now = Instant::now();
    for _ in 0..MAX_RECEIVES {
        assert_eq!(received(&queues, 1, now).len(), 1);
        now += HIDDEN;
    }
    assert!(received(&queues, 1, now).is_empty());
    assert_counts(&mut queues, OVERFLOW_QUEUE, "0", "0");
    queues.respond("StartMessageMoveTask", json!({})).unwrap();
    assert_counts(&mut queues, OVERFLOW_QUEUE, "1", "0");
    assert_counts(&mut queues, DEAD_LETTER_QUEUE, "0", "0");
}

#[test]
fn queues_in_a_file_are_there_again_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.sqlite.queue");
    let open = || Queues::open(&path).unwrap();
    let bodies = |queues: &Queues, is_dead| {
        let messages = queues.take(is_dead).unwrap().into_iter();
        messages.map(|message| message.body).collect::<Vec<_>>()
    };
    let mut queues = open();
    for (url, body) in [
        (OVERFLOW_QUEUE, "a"),
        (OVERFLOW_QUEUE, "b\n"),
        (DEAD_LETTER_QUEUE, "c"),
        (OVERFLOW_QUEUE, "d"),
    ] {
        queues
            .respond("SendMessage", json!({"QueueUrl": url, "MessageBody": body}))
            .unwrap();
    }
    queues.receive(2, HIDDEN, Instant::now()).unwrap();
    queues.delete("0").unwrap();
    drop(queues);

    let queues = open();
    assert_eq!(queues.sent, 4);
    assert_eq!(received(&queues, 10, Instant::now()), ["1", "3"]);
    open().respond("StartMessageMoveTask", json!({})).unwrap();
    assert_eq!(bodies(&open(), false), ["b\n", "c", "d"]);
    assert!(bodies(&open(), true).is_empty());
}

#[test]
fn file_that_is_no_queue_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.sqlite.queue");
    for text in ["my notes\n", "{\"sent\":{\"id\":\"7\"}}\n", "\u{feff}"] {
        std::fs::write(&path, text).unwrap();
        let error = Queues::open(&path).unwrap_err().to_string();
        let expected = format!(
            "{} is not a data file of the local stack: name another file.",
            path.display()
        );
        assert_eq!(error, expected, "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn file_of_the_queue_of_the_oldest_version_is_read_and_another_one_is_refused() {
    const OLDEST: u32 = 1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.sqlite.queue");
    let mut queues = Queues::open(&path).unwrap();
    queues.add("a", None, false).unwrap();
    drop(queues);
    let version = |database: &Connection| -> u32 {
        database
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap()
    };
    let queues = Queues::open(&path).unwrap();
    assert_eq!(version(&queues.messages), OLDEST);
    assert_eq!(queues.remaining(false).unwrap(), 1);
    for other in [0, OLDEST + 1] {
        let change = queues.messages.pragma_update(None, "user_version", other);
        change.unwrap();
        let error = Queues::open(&path).unwrap_err().to_string();
        let expected = format!(
            "{} is a data file of another version of the local stack: delete it, or name another file.",
            path.display()
        );
        assert_eq!(error, expected);
        assert_eq!(version(&queues.messages), other);
    }
}
