//! A number that stands on more than one page is everywhere that of the code or of a template; one
//! of AWS is everywhere the same.

use model::key_entry::EXPIRY_NOTICE_PERIOD;
use model::limits::{MAX_NAME_BYTES, MAX_SIGNALS_PER_REQUEST};
use service::budget::WRITE_BUDGET;
use store::idempotency::IDEMPOTENCY_TTL;
use store::rejected_signals::RETENTION;

use super::api::grouped;
use crate::support::page::{Page, root};
use crate::support::template::read_template;

const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;

/// The names of small numbers, as sentences have them.
const WORDS: [&str; 11] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// Asserts that pages have these sentences, with the number in place of `{}`, however their lines
/// are broken.
fn assert_pages_say(number: &str, sentences: &[(&str, &str)]) {
    for (path, sentence) in sentences {
        assert!(sentence.contains("{}"), "{sentence} has no place for it");
        let sentence = sentence.replace("{}", number);
        let page = Page::read(path);
        let words: Vec<_> = page.text.split_whitespace().collect();
        assert!(
            words.join(" ").contains(&sentence),
            "{path} does not say: {sentence}"
        );
    }
}

#[test]
fn write_budget_on_the_pages_is_that_of_the_code() {
    assert_pages_say(
        &WRITE_BUDGET.as_secs_f64().to_string(),
        &[
            (
                "docs/outages.md",
                "covers all writes of a request together: {} seconds.",
            ),
            (
                "docs/outages.md",
                "Each request waits {} seconds for DynamoDB",
            ),
            ("docs/outages.md", "no response for {} s S->>Q"),
            ("docs/outages.md", "no response for {} s F->>Q"),
            ("docs/outages.md", "A 200 after {} to about 1.6 seconds."),
            (
                "docs/outages.md",
                "two calls one after the other in {} seconds",
            ),
            ("docs/operate.md", "or [{} seconds]("),
            ("docs/internals/design.md", "| signals | 5 s | {} s |"),
            ("docs/internals/design.md", "| a customer | 5 s | {} s |"),
            (
                "docs/internals/design.md",
                "**{} seconds before the queue.**",
            ),
        ],
    );
}

#[test]
fn hours_in_which_a_request_identifier_is_remembered_are_those_of_the_code() {
    assert_pages_say(
        &(IDEMPOTENCY_TTL.as_secs() / 3_600).to_string(),
        &[
            (
                "docs/api.md",
                "Intake remembers the identifier for {} hours",
            ),
            ("docs/api.md", "any batch that is sent again after {} hours"),
            ("docs/api.md", "a new `requestIdentifier` or after {} hours"),
            ("docs/api.md", "used with another body within {} hours"),
            ("docs/clients.md", "Stop {} hours after the first attempt"),
            (
                "docs/outages.md",
                "the other's record had expired ({} hours)",
            ),
            (
                "docs/outages.md",
                "without a `requestIdentifier` or after {} hours",
            ),
            ("docs/security.md", "and Lambda's id | {} hours, and"),
            ("docs/security.md", "For {} hours, a client's retry"),
            (
                "docs/internals/design.md",
                "a `requestIdentifier` again after {} hours",
            ),
        ],
    );
}

#[test]
fn days_of_rejected_signals_and_of_the_notice_of_an_expiry_are_those_of_the_code() {
    assert_pages_say(
        &(RETENTION.as_secs() / SECONDS_OF_A_DAY).to_string(),
        &[
            (
                "docs/api.md",
                "**Rejected signals are kept** for {} days with",
            ),
            ("docs/outages.md", "invalid signals are [kept for {} days]("),
            (
                "docs/data-model.md",
                "{} days after the request that kept the signal",
            ),
            ("docs/security.md", "of a rejected signal | {} days and"),
        ],
    );
    assert_pages_say(
        &(EXPIRY_NOTICE_PERIOD.as_secs() / SECONDS_OF_A_DAY).to_string(),
        &[
            ("docs/cli.md", "an active key expires within {} days"),
            ("docs/cli.md", "none ends within {} days"),
        ],
    );
}

#[test]
fn limits_on_other_pages_than_that_of_the_api_are_those_of_the_code() {
    assert_pages_say(
        &MAX_SIGNALS_PER_REQUEST.to_string(),
        &[
            ("docs/api.md", "1 to {} signals, in any mixture"),
            ("docs/internals/design.md", "and a batch up to {} signals"),
        ],
    );
    assert_pages_say(
        &grouped(MAX_NAME_BYTES),
        &[(
            "docs/internals/checks.md",
            "names of attributes over {} bytes",
        )],
    );
}

#[test]
fn days_of_messages_and_of_records_that_were_not_delivered_are_those_of_the_templates() {
    let template = read_template("template.yaml");
    let queue = &template["Resources"]["OverflowQueue"]["Properties"];
    let retention = queue["MessageRetentionPeriod"].as_u64().unwrap();
    assert_pages_say(
        &(retention / SECONDS_OF_A_DAY).to_string(),
        &[
            (
                "docs/outages.md",
                "SQS deletes a message {} days after it was sent",
            ),
            ("docs/outages.md", "lost: {} days after it was sent"),
            ("docs/outages.md", "It is not drained within {} days"),
            ("docs/outages.md", "the {} days begin again"),
            (
                "docs/runbook.md",
                "SQS deletes it {} days after its `SentTimestamp`",
            ),
        ],
    );
    let deliveries = queue["RedrivePolicy"]["maxReceiveCount"].as_u64().unwrap();
    let between = queue["VisibilityTimeout"].as_u64().unwrap();
    let days = usize::try_from(deliveries * between / SECONDS_OF_A_DAY).unwrap();
    assert_pages_say(
        WORDS[days],
        &[
            ("docs/outages.md", "deliveries take {} days"),
            ("docs/runbook.md", "[within {} days]("),
        ],
    );
    let delivery = read_template("delivery/template.yaml");
    let bucket = &delivery["Resources"]["FailureBucket"]["Properties"];
    let rule = &bucket["LifecycleConfiguration"]["Rules"][0];
    assert_pages_say(
        &rule["ExpirationInDays"].to_string(),
        &[
            ("delivery/README.md", "failure bucket, {} days"),
            ("delivery/README.md", "For {} days, it has the raw record"),
            ("docs/security.md", "has only a claim check | {} days |"),
        ],
    );
}

#[test]
fn request_rate_on_the_pages_is_the_default_of_the_template() {
    let template = read_template("template.yaml");
    let default_of = |parameter: &str| template["Parameters"][parameter]["Default"].to_string();
    assert_pages_say(
        &default_of("ThrottleRate"),
        &[
            ("docs/api.md", "Each route accepts {} requests a second"),
            ("docs/operate.md", "`ThrottleRate`, {} requests a second"),
        ],
    );
    let burst = "requests a second, and {} in a burst";
    assert_pages_say(&default_of("ThrottleBurst"), &[("docs/api.md", burst)]);
}

/// The numbers of AWS, and those that a module of the code has for itself.
#[test]
fn number_that_stands_on_two_pages_is_the_same_on_both() {
    let facts: [(&str, &[(&str, &str)]); 7] = [
        // A second attempt of a call.
        (
            "500",
            &[
                ("docs/outages.md", "A call without a response after {} ms"),
                (
                    "docs/internals/design.md",
                    "**A hedged request after {} ms.**",
                ),
            ],
        ),
        // The key snapshot.
        (
            "350",
            &[
                ("docs/outages.md", "does not respond within {} ms"),
                ("docs/outages.md", "| responds within {} ms |"),
                (
                    "docs/internals/design.md",
                    "**The key snapshot after {} ms.**",
                ),
            ],
        ),
        // How long an invalid key is remembered.
        (
            "10",
            &[
                ("docs/api.md", "caches for {} seconds that a key is invalid"),
                ("docs/outages.md", "the table said in the last {} seconds"),
                ("docs/outages.md", "[a new key, for {} seconds]("),
            ],
        ),
        // The longest a request holds its environment.
        (
            "1.6",
            &[
                ("docs/outages.md", "environment for up to {} seconds"),
                ("docs/outages.md", "(10 in {} to 1.25 s)"),
                ("docs/operate.md", "held for [{}]("),
            ],
        ),
        // Keys that live shorter have no notice of their expiry.
        (
            "7",
            &[
                ("docs/cli.md", "lifetime is shorter than {} days"),
                ("docs/runbook.md", "lifetime is shorter than {} days"),
            ],
        ),
        // Point-in-time recovery, and backups of deleted tables.
        (
            "35",
            &[
                (
                    "docs/security.md",
                    "every state of the last {} days | {} days |",
                ),
                ("docs/runbook.md", "any second between {} days and"),
                ("docs/runbook.md", "a backup of its last state for {} days"),
            ],
        ),
        // The stream of a table.
        (
            "24",
            &[
                ("docs/data-model.md", "It keeps a record for {} hours"),
                ("docs/security.md", "copies of what changed | {} hours |"),
                ("delivery/README.md", "streams, {} hours"),
            ],
        ),
    ];
    for (number, sentences) in facts {
        assert_pages_say(number, sentences);
    }
}

#[test]
fn hours_after_which_page_ts_drops_a_batch_are_those_of_the_program() {
    let program = std::fs::read_to_string(root().join("docs/examples/page.ts")).unwrap();
    let (_, rest) = program.split_once("FORGET_AFTER_MS = ").unwrap();
    let (hours, _) = rest.split_once(" * 3_600_000;").unwrap();
    let sentence = "`onDropped` gets a batch that is {} hours old";
    assert_pages_say(hours, &[("docs/clients.md", sentence)]);
    let (_, rest) = program.split_once("MAX_KEPT_CHARACTERS = ").unwrap();
    let (characters, _) = rest.split_once(';').unwrap();
    let sentence = "limited to {} characters";
    assert_pages_say(
        &characters.replace('_', ","),
        &[("docs/clients.md", sentence)],
    );
}

#[test]
fn minutes_on_the_pages_are_those_that_were_measured() {
    let measured = Page::read("docs/internals/checks.md").table("How long it takes", "what");
    let minutes_of = |what: &str| {
        let row = measured.iter().find(|row| row[0] == what).unwrap();
        let seconds: f64 = row[3].strip_suffix(" s").unwrap().parse().unwrap();
        let minutes = (seconds / 60.0).round().to_string();
        WORDS[minutes.parse::<usize>().unwrap()]
    };
    let rows = [
        (
            "from the clone to the first response, with downloads",
            "README.md",
            "| about {} minutes: it compiles |",
        ),
        (
            "the first run of the tests, after that",
            "README.md",
            "| about {} minutes after that |",
        ),
        (
            "the tests, with compiled dependencies, beside `.ci/run deploy`",
            "README.md",
            "after that | about {} minutes |",
        ),
        (
            "the tests, with compiled dependencies, beside `.ci/run deploy`",
            "docs/architecture.md",
            "which takes about {} minutes when the dependencies are compiled",
        ),
    ];
    for (what, page, sentence) in rows {
        assert_pages_say(minutes_of(what), &[(page, sentence)]);
    }
}
