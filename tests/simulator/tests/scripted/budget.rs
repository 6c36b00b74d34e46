//! The time of a request (docs/internals/design.md, Calls to AWS).

use std::time::Duration;

use aws::deadline::Deadline;
use service::budget::RequestBudget;
use store::retry::MAX_REQUEST_DURATION;
use tokio::time::{Instant, sleep};

const DESIGN: &str = include_str!("../../../../docs/internals/design.md");

/// Waits until the deadline of a part. Returns how long that took, as the page writes it.
async fn use_up(part: Deadline) -> String {
    let left = part.remaining();
    sleep(left).await;
    format!("{} s", left.as_secs_f64())
}

#[tokio::test(start_paused = true)]
async fn parts_of_the_longest_request_are_those_of_the_design() {
    for (endpoint, has_late_record) in [("signals", true), ("a customer", false)] {
        let started = Instant::now();
        let whole = RequestBudget::of(MAX_REQUEST_DURATION);
        let budget = if has_late_record {
            whole.before_late_record()
        } else {
            whole
        };
        let key_lookup = use_up(whole.key_lookup()).await;
        let writes = use_up(budget.writes()).await;
        let queue = use_up(budget.queue()).await;
        let late = if has_late_record {
            use_up(whole.late_record()).await
        } else {
            String::new()
        };
        assert_eq!(started.elapsed(), MAX_REQUEST_DURATION, "{endpoint}");
        let row = format!("| {endpoint} | {key_lookup} | {writes} | {queue} | {late} |");
        let row = row.replace("|  |", "| |");
        assert!(DESIGN.contains(&row), "design.md has not: {row}");
    }
}

#[tokio::test(start_paused = true)]
async fn writes_of_a_request_that_has_little_time_leave_the_queue_its_part() {
    let budget = RequestBudget::of(Duration::from_secs(3));
    // The queue has 2.5 of the 3 seconds.
    assert_eq!(budget.writes().remaining(), Duration::from_millis(500));
}
