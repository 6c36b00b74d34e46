//! A number of the code or of a template that stands on several pages is on each of them, with its unit.
//! How a page words it is the page's own.

use model::key_entry::EXPIRY_NOTICE_PERIOD;
use model::limits::{MAX_NAME_BYTES, MAX_SIGNALS_PER_REQUEST};
use service::budget::WRITE_BUDGET;
use store::idempotency::IDEMPOTENCY_TTL;
use store::rejected_signals::RETENTION;

use super::api::grouped;
use crate::support::page::{Page, root};
use crate::support::template::read_template;

const API: &str = "docs/api.md";
const CLI: &str = "docs/cli.md";
const CLIENTS: &str = "docs/clients.md";
const DATA_MODEL: &str = "docs/data-model.md";
const DELIVERY: &str = "delivery/README.md";
const DESIGN: &str = "docs/internals/design.md";
const OPERATE: &str = "docs/operate.md";
const OUTAGES: &str = "docs/outages.md";
const RUNBOOK: &str = "docs/runbook.md";
const SECURITY: &str = "docs/security.md";

const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;

/// The names of small numbers, as sentences have them.
const WORDS: [&str; 11] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// Whether a text has this number with its unit, and not as the end of a longer one.
fn has(text: &str, number: &str) -> bool {
    let is_part_of_a_number = |c: char| c.is_alphanumeric() || ".,".contains(c);
    text.match_indices(number).any(|(at, _)| {
        let (before, _) = text.split_at(at);
        !before.ends_with(is_part_of_a_number)
    })
}

/// Asserts that pages have this number with its unit, however their lines are broken.
fn assert_on_pages(number: &str, pages: &[&str]) {
    for path in pages {
        let page = Page::read(path);
        let words: Vec<_> = page.text.split_whitespace().collect();
        assert!(has(&words.join(" "), number), "{path} has no {number}");
    }
}

fn days(seconds: u64) -> String {
    format!("{} days", seconds / SECONDS_OF_A_DAY)
}

#[test]
fn number_is_found_with_its_unit_alone() {
    assert!(has("for [14 days](a)", "14 days"));
    assert!(!has("for 14 days", "4 days"));
    assert!(!has("1,500 ms, 0.500 ms", "500 ms"));
}

#[test]
fn times_on_the_pages_are_those_of_the_code() {
    let write_budget = format!("{} seconds", WRITE_BUDGET.as_secs_f64());
    assert_on_pages(&write_budget, &[OUTAGES, OPERATE, DESIGN]);
    let hours = format!("{} hours", IDEMPOTENCY_TTL.as_secs() / 3_600);
    assert_on_pages(&hours, &[API, CLIENTS, OUTAGES, SECURITY, DESIGN]);
    let kept = days(RETENTION.as_secs());
    assert_on_pages(&kept, &[API, OUTAGES, DATA_MODEL, SECURITY]);
    assert_on_pages(&days(EXPIRY_NOTICE_PERIOD.as_secs()), &[CLI]);
}

#[test]
fn limits_on_other_pages_than_that_of_the_api_are_those_of_the_code() {
    let signals = format!("{MAX_SIGNALS_PER_REQUEST} signals");
    assert_on_pages(&signals, &[DESIGN]);
    let bytes = format!("{} bytes", grouped(MAX_NAME_BYTES));
    assert_on_pages(&bytes, &["docs/internals/checks.md"]);
}

#[test]
fn days_of_messages_and_of_records_that_were_not_delivered_are_those_of_the_templates() {
    let template = read_template("template.yaml");
    let queue = &template["Resources"]["OverflowQueue"]["Properties"];
    let retention = queue["MessageRetentionPeriod"].as_u64().unwrap();
    assert_on_pages(&days(retention), &[OUTAGES, RUNBOOK]);
    let deliveries = queue["RedrivePolicy"]["maxReceiveCount"].as_u64().unwrap();
    let between = queue["VisibilityTimeout"].as_u64().unwrap();
    let days_of_deliveries = usize::try_from(deliveries * between / SECONDS_OF_A_DAY).unwrap();
    let in_words = format!("{} days", WORDS[days_of_deliveries]);
    assert_on_pages(&in_words, &[OUTAGES, RUNBOOK]);
    let delivery = read_template("delivery/template.yaml");
    let bucket = &delivery["Resources"]["FailureBucket"]["Properties"];
    let rule = &bucket["LifecycleConfiguration"]["Rules"][0];
    let kept = format!("{} days", rule["ExpirationInDays"]);
    assert_on_pages(&kept, &[DELIVERY, SECURITY]);
}

#[test]
fn request_rate_on_the_pages_is_the_default_of_the_template() {
    let template = read_template("template.yaml");
    let default_of = |parameter: &str| template["Parameters"][parameter]["Default"].to_string();
    let rate = format!("{} requests a second", default_of("ThrottleRate"));
    assert_on_pages(&rate, &[API, OPERATE]);
    let burst = format!("{} in a burst", default_of("ThrottleBurst"));
    assert_on_pages(&burst, &[API]);
}

#[test]
fn limits_of_page_ts_are_those_of_its_page() {
    let program = std::fs::read_to_string(root().join("docs/examples/page.ts")).unwrap();
    let (_, rest) = program.split_once("FORGET_AFTER_MS = ").unwrap();
    let (hours, _) = rest.split_once(" * 3_600_000;").unwrap();
    assert_on_pages(&format!("{hours} hours"), &[CLIENTS]);
    let (_, rest) = program.split_once("MAX_KEPT_CHARACTERS = ").unwrap();
    let (characters, _) = rest.split_once(';').unwrap();
    let characters = format!("{} characters", characters.replace('_', ","));
    assert_on_pages(&characters, &[CLIENTS]);
}

#[test]
fn minutes_on_the_pages_are_those_that_were_measured() {
    let measured = Page::read("docs/internals/checks.md").table("How long it takes", "what");
    let minutes_of = |what: &str| {
        let row = measured.iter().find(|row| row[0] == what).unwrap();
        let seconds: f64 = row[3].strip_suffix(" s").unwrap().parse().unwrap();
        let minutes = (seconds / 60.0).round().to_string();
        format!("{} minutes", WORDS[minutes.parse::<usize>().unwrap()])
    };
    let tests_again = "the tests, with everything compiled";
    let commands = Page::read("README.md").table("Run it", "command");
    for (command, cell, what) in [
        (0, 2, "from the clone to the first response, with downloads"),
        (1, 2, "the first run of the tests, after that"),
        (1, 3, tests_again),
    ] {
        let minutes = minutes_of(what);
        let shown = &commands[command][cell];
        assert!(has(shown, &minutes), "{what}: {minutes}, and not {shown}");
    }
    assert_on_pages(&minutes_of(tests_again), &["docs/architecture.md"]);
}
