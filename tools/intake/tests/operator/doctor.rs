//! `doctor`, over an AWS that answers as a healthy stack has it, but for one thing.

pub(crate) mod fake_aws;

use emulator::sqs::FakeSqs;
use serde_json::{Value, json};
use testkit::TestApp;
use testkit::http_server::HttpServer;

use self::fake_aws::{Change, FakeAws, key};
use crate::operator::{CommandOutput, Operator};

/// Runs it with this change.
async fn doctor(change: Option<Change>) -> CommandOutput {
    run_at_aws(change, &["--stack", "intake-test", "doctor", "--json"]).await
}

/// Runs a command over an AWS with this change.
pub(crate) async fn run_at_aws(change: Option<Change>, arguments: &[&str]) -> CommandOutput {
    let aws = HttpServer::start(FakeAws::new(change), None).await.unwrap();
    let operator = Operator::with_nothing()
        .variable("AWS_REGION", "eu-central-1")
        .variable("AWS_ACCESS_KEY_ID", "local")
        .variable("AWS_SECRET_ACCESS_KEY", "local")
        .variable("INTAKE_STACK", "intake-test")
        .variable("API_KEYS_TABLE", "elsewhere")
        .variable("AWS_ENDPOINT_URL", &aws.endpoint());
    operator.run(arguments)
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_nothing_wrong_with_a_healthy_stack() {
    let run = doctor(None).await.success();
    let found: Vec<_> = run
        .json()
        .iter()
        .map(|one| (one["check"].clone(), one["seen"].clone()))
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    let version = format!(
        "{version}, as this command line; whether there is a newer release is not known here"
    );
    let expected = [
        ("Version", version.as_str()),
        ("Table ApiKeys", "as the template says"),
        ("Table Customers", "as the template says"),
        ("Table Signals", "as the template says"),
        ("Table Idempotency", "as the template says"),
        ("Table RejectedSignals", "as the template says"),
        ("Key expiries", "1 active key(s), none ends within 30 days"),
        ("Key snapshot", "this stack has no bucket for one"),
        ("Alarms", "2 alarms, none fires, 1 without data"),
        (
            "Overflow queue",
            "3 message(s), the oldest 0 s old; in half an hour 0 failed drain(s), 0 crash(es), 0 throttled",
        ),
        ("Dead letters", "none"),
    ];
    assert_eq!(
        found,
        expected.map(|(check, seen)| (json!(check), json!(seen)))
    );
}

/// A check and what it says where the answer to an operation with this text in its call is another
/// one at this place.
type Case = (&'static str, &'static str, [&'static str; 3], Value);

fn broken_conditions() -> [Case; 10] {
    let (table, backups) = ("DescribeTable", "DescribeContinuousBackups");
    let recovery =
        "/ContinuousBackupsDescription/PointInTimeRecoveryDescription/PointInTimeRecoveryStatus";
    let unprotected = "deletion protection is false, the parameter says true";
    let unreadable = "its status is INACCESSIBLE_ENCRYPTION_CREDENTIALS";
    let refusal = json!({"__type": "AccessDenied", "message": "not you"});
    [
        (
            "Table Signals",
            "its stream has nothing",
            [table, "\"SignalsTable\"", "/Table/StreamSpecification"],
            Value::Null,
        ),
        (
            "Table Customers",
            unprotected,
            [table, "CustomersTable", "/Table/DeletionProtectionEnabled"],
            json!(false),
        ),
        (
            "Table Idempotency",
            "it is not on demand",
            [table, "IdempotencyTable", "/Table/BillingModeSummary"],
            Value::Null,
        ),
        (
            "Table Idempotency",
            unreadable,
            [table, "IdempotencyTable", "/Table/TableStatus"],
            json!("INACCESSIBLE_ENCRYPTION_CREDENTIALS"),
        ),
        (
            "Table RejectedSignals",
            "the time to live is that of no attribute",
            [
                "DescribeTimeToLive",
                "RejectedSignalsTable",
                "/TimeToLiveDescription/TimeToLiveStatus",
            ],
            json!("DISABLED"),
        ),
        (
            "Table ApiKeys",
            "point-in-time recovery is off",
            [backups, "ApiKeysTable", recovery],
            json!("DISABLED"),
        ),
        (
            "Key expiries",
            "key_1 of shop ends in 5 day(s)",
            ["Scan", "\"Segment\":0", "/Items"],
            json!([key(5)]),
        ),
        (
            "Alarms",
            "intake-test-DefectsAlarm-1A fires",
            [
                "DescribeAlarms",
                "DefectsAlarm",
                "/MetricAlarms/0/StateValue",
            ],
            json!("ALARM"),
        ),
        (
            "Alarms",
            "the stack has no alarms",
            ["DescribeAlarms", "", "/MetricAlarms"],
            json!([]),
        ),
        (
            "Alarms",
            "unknown: DescribeAlarms: 400 AccessDenied not you",
            ["DescribeAlarms", "", ""],
            refusal,
        ),
    ]
}

fn broken_drains() -> [Case; 5] {
    [
        (
            "Overflow queue",
            "3 message(s), the oldest 0 s old; in half an hour 7 failed drain(s), 0 crash(es), 0 throttled",
            ["GetMetricStatistics", "DrainFailures", "/Datapoints"],
            json!([{"Sum": 7.0}]),
        ),
        (
            "Overflow queue",
            "3 message(s), the oldest 0 s old; in half an hour 0 failed drain(s), 2 crash(es), 0 throttled",
            ["GetMetricStatistics", "Errors", "/Datapoints"],
            json!([{"Sum": 2.0}]),
        ),
        (
            "Overflow queue",
            "3 message(s), the oldest 0 s old; in half an hour 0 failed drain(s), 0 crash(es), 9 throttled",
            ["GetMetricStatistics", "Throttles", "/Datapoints"],
            json!([{"Sum": 9.0}]),
        ),
        (
            "Overflow queue",
            "3 message(s), the oldest 1800 s old; in half an hour 0 failed drain(s), 0 crash(es), 0 throttled",
            [
                "GetMetricStatistics",
                "ApproximateAgeOfOldestMessage",
                "/Datapoints",
            ],
            json!([{"Maximum": 1800.0}]),
        ),
        (
            "Dead letters",
            "2 message(s): find out why, then `cargo intake overflow redrive`",
            [
                "GetQueueAttributes",
                "dead-letters",
                "/Attributes/ApproximateNumberOfMessages",
            ],
            json!("2"),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_broken_condition_fails_its_check() {
    for (check, seen, [operation, about, place], value) in
        broken_conditions().into_iter().chain(broken_drains())
    {
        let run = doctor(Some(Change {
            operation,
            about,
            place,
            value,
        }))
        .await;
        assert_eq!(run.code, Some(1), "{check}: {run:?}");
        let failed: Vec<Value> = run
            .json()
            .into_iter()
            .filter(|one| one["result"] == "failed")
            .collect();
        assert_eq!(
            failed,
            [json!({"check": check, "result": "failed", "seen": seen})]
        );
        assert!(
            run.stderr.ends_with("error: 1 check(s) failed.\n"),
            "{run:?}"
        );
    }
}

/// The expectations are those of template.yaml.
#[test]
fn tables_of_the_template_have_what_doctor_expects_of_them() {
    let template = include_str!("../../../../template.yaml");
    for (table, stream, expires, is_backed_up) in [
        ("ApiKeysTable", None, false, true),
        ("CustomersTable", Some("NEW_AND_OLD_IMAGES"), false, true),
        ("SignalsTable", Some("NEW_IMAGE"), true, true),
        ("IdempotencyTable", None, true, false),
        ("RejectedSignalsTable", None, true, true),
    ] {
        let resource = template
            .split(&format!("\n  {table}:\n"))
            .nth(1)
            .unwrap()
            .split("\n\n")
            .next()
            .unwrap();
        assert_eq!(
            resource
                .split("StreamViewType: ")
                .nth(1)
                .and_then(|rest| rest.lines().next()),
            stream,
            "{table}"
        );
        assert_eq!(
            resource.contains("AttributeName: expiresAt, Enabled: true"),
            expires,
            "{table}"
        );
        let recovery = format!("PointInTimeRecoveryEnabled: {is_backed_up}");
        for line in [
            "PAY_PER_REQUEST",
            recovery.as_str(),
            "DeletionProtectionEnabled: !Ref DeletionProtection",
        ] {
            assert!(resource.contains(line), "{table}: {line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_without_a_deployed_stack_skips_what_only_that_has() {
    let (app, sqs) = (TestApp::start(), FakeSqs::start().await.unwrap());
    let operator = Operator::of(&app).with_queues(&sqs);
    operator.write_env_file("dev.env");
    let local = operator
        .run(&["--local=dev.env", "doctor", "--json"])
        .success();
    let skipped = ["Alarms", "Overflow queue", "Table Signals"];
    for (run, skipped) in [
        (Operator::of(&app).run(&["doctor", "--json"]), &skipped[..2]),
        (local, &skipped[..]),
    ] {
        let result = |check: &str| {
            run.json()
                .into_iter()
                .find(|one| one["check"] == check)
                .expect(check)["result"]
                .clone()
        };
        for check in skipped {
            assert_eq!(result(check), "skipped");
        }
        assert_eq!(result("Key expiries"), "held");
    }
}
