use super::batch::MAX_RECEIVES;
use super::*;

const HIDDEN: Duration = Duration::from_secs(5);

fn queues(bodies: &[&str]) -> Queues {
    let mut queues = Queues::default();
    for body in bodies {
        queues.answer("SendMessage", json!({"QueueUrl": OVERFLOW_QUEUE, "MessageBody": body})).unwrap();
    }
    queues
}

fn counts(queues: &mut Queues, url: &str) -> [String; 2] {
    let attributes = queues.answer("GetQueueAttributes", json!({"QueueUrl": url})).unwrap();
    ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        .map(|name| attributes["Attributes"][name].as_str().unwrap().to_owned())
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

#[test]
fn received_message_is_hidden_until_its_timeout() {
    let (mut queues, now) = (queues(&["a", "b"]), Instant::now());
    assert_eq!(ids(&queues.receive(1, HIDDEN, now)), ["0"]);
    assert_eq!(ids(&queues.receive(10, HIDDEN, now)), ["1"]);
    assert_eq!(counts(&mut queues, OVERFLOW_QUEUE), ["0", "2"]);
    assert!(queues.receive(10, HIDDEN, now + HIDDEN / 2).is_empty());
    assert_eq!(ids(&queues.receive(10, HIDDEN, now + HIDDEN)), ["0", "1"]);
}

#[test]
fn messages_that_would_exceed_an_event_are_received_later() {
    let large = "x".repeat(MAX_BYTES);
    let (mut queues, now) = (queues(&[large.as_str(); 4]), Instant::now());
    assert_eq!(queues.receive(10, HIDDEN, now).len(), 3);
    assert_eq!(ids(&queues.receive(10, HIDDEN, now)), ["3"]);
}

#[test]
fn message_that_is_never_deleted_becomes_a_dead_letter_and_is_redriven() {
    let (mut queues, mut now) = (queues(&["a"]), Instant::now());
    for _ in 0..MAX_RECEIVES {
        assert_eq!(queues.receive(1, HIDDEN, now).len(), 1);
        now += HIDDEN;
    }
    assert!(queues.receive(1, HIDDEN, now).is_empty());
    assert_eq!([queues.dead_letters.messages.len(), queues.overflow.messages.len()], [1, 0]);

    queues.answer("StartMessageMoveTask", json!({})).unwrap();
    assert_eq!(counts(&mut queues, OVERFLOW_QUEUE), ["1", "0"]);
    assert_eq!(counts(&mut queues, DEAD_LETTER_QUEUE), ["0", "0"]);
}
