//! `doctor` finds each fault of an AWS that responds like that of a healthy stack, with one response changed.

use std::time::{Duration, Instant};

use harness::TestApp;
use harness::fault_proxy::Fault;
use serde_json::{Value, json};

use crate::support::fake_aws::{
    ACCOUNT_SETTINGS, Change, FakeAws, TOPIC, key_item, run_at, run_at_aws,
};
use crate::support::fault::operator_behind_proxy;
use crate::support::operator::{CommandOutput, Operator};

/// Runs `doctor` over an AWS with this change.
async fn doctor(change: Option<Change>) -> CommandOutput {
    run_at_aws(change, &["--stack", "intake-test", "doctor", "--json"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_nothing_wrong_with_a_healthy_stack() {
    let run = doctor(None).await.success();
    let found: Vec<_> = run
        .json()
        .iter()
        .map(|one| json!({"check": one["check"], "seen": one["seen"]}))
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    let version = format!(
        "{version}, as this command line; whether there is a newer release is not known here"
    );
    let expected = [
        ("Stack", "UPDATE_COMPLETE: no deployment is in progress"),
        ("Version", version.as_str()),
        ("Table ApiKeys", "as the template says"),
        ("Table Customers", "as the template says"),
        ("Table Signals", "as the template says"),
        ("Table Idempotency", "as the template says"),
        ("Table RejectedSignals", "as the template says"),
        ("Key expiries", "1 active key(s), none ends within 30 days"),
        ("Key snapshot", "0 key(s), as in the table"),
        ("Alarms", "2 alarms, none fires, 1 without data"),
        ("Notifications", "no alarm failed to notify its topic"),
        (
            "Concurrency",
            "1000 concurrent executions in this account and region, 900 of them not reserved. Drains and delivery hold up to 2 of \
             these, a delivery 16 more; the API has the rest",
        ),
        (
            "Overflow queue",
            "3 message(s), the oldest 0 s old; in 30 minutes 0 failed drain(s), 0 crash(es), 0 throttled",
        ),
        ("Dead letters", "none"),
    ];
    assert_eq!(
        found,
        expected.map(|(check, seen)| json!({"check": check, "seen": seen}))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn alarms_without_a_topic_are_told() {
    let alarms = json!([{"AlarmName": "intake-test-DefectsAlarm-1A", "StateValue": "OK", "AlarmActions": []}]);
    let change = Change {
        operation: "DescribeAlarms",
        about: "",
        place: "/MetricAlarms",
        value: alarms,
    };
    let run = doctor(Some(change)).await.success();
    let checks = run.json();
    let found = checks.iter().find(|one| one["check"] == "Alarms").unwrap();
    assert_eq!(
        found["seen"],
        "2 alarms, none fires, 0 without data; they notify no one: set PageTopicArn and TicketTopicArn to SNS topics"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn quota_that_a_delivery_can_use_up_fails() {
    let limit = json!({"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10});
    let change = || Change {
        operation: ACCOUNT_SETTINGS,
        about: "",
        place: "",
        value: json!({"AccountLimit": limit}),
    };
    let arguments = ["--stack", "intake-test", "doctor", "--json"];
    let aws = FakeAws::new(Some(change())).with_delivery();
    let failed = run_at(aws, &arguments).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let checks = failed.json();
    let found = checks
        .iter()
        .find(|one| one["check"] == "Concurrency")
        .unwrap();
    assert_eq!(
        found["seen"],
        "10 concurrent executions in this account and region, 10 of them not reserved. Drains and delivery hold up to 18 of \
         these; the API has the rest: raise the quota in Service Quotas, AWS Lambda, \"Concurrent executions\""
    );
    doctor(Some(change())).await.success();
}

#[tokio::test(flavor = "multi_thread")]
async fn alarms_and_delivery_of_a_stack_that_is_given_by_its_arn_are_found() {
    let arn = "arn:aws:cloudformation:eu-central-1:111122223333:stack/intake-test/51af3dc0-da77-11e4-872e-1234567db123";
    let aws = FakeAws::new(None).with_delivery();
    let run = run_at(aws, &["--stack", arn, "doctor", "--json"])
        .await
        .success();
    let checks = run.json();
    let seen = |check: &str| {
        let found = checks.iter().find(|one| one["check"] == check).unwrap();
        found["seen"].as_str().unwrap().to_owned()
    };
    assert_eq!(seen("Alarms"), "2 alarms, none fires, 1 without data");
    let concurrency = seen("Concurrency");
    let with_delivery = "Drains and delivery hold up to 18 of these;";
    assert!(concurrency.contains(with_delivery), "{concurrency}");
}

#[tokio::test(flavor = "multi_thread")]
async fn table_that_throttles_is_a_finding_and_no_reason_to_wait_for_minutes() {
    let app = TestApp::start();
    let throttled = Fault::THROTTLED.always().for_operation("Scan");
    let faulted = operator_behind_proxy(&app, throttled).await;
    let began = Instant::now();
    let run = faulted.operator.run(&["doctor", "--json"]);
    assert!(began.elapsed() < Duration::from_mins(1), "{run:?}");
    assert_eq!(run.code, Some(1), "{run:?}");
    let checks = run.json();
    let expiries = checks
        .iter()
        .find(|one| one["check"] == "Key expiries")
        .unwrap();
    assert_eq!(expiries["result"], "failed", "{expiries}");
}

/// A changed response of AWS, and the check that fails because of it.
struct BrokenCondition {
    check: &'static str,
    /// What the check says.
    seen: &'static str,
    change: Change,
}

fn broken_tables() -> [BrokenCondition; 4] {
    [
        BrokenCondition {
            check: "Table Signals",
            seen: "its stream has nothing",
            change: Change {
                operation: "DescribeTable",
                about: "\"SignalsTable\"",
                place: "/Table/StreamSpecification",
                value: Value::Null,
            },
        },
        BrokenCondition {
            check: "Table Customers",
            seen: "deletion protection is false, the parameter says true",
            change: Change {
                operation: "DescribeTable",
                about: "CustomersTable",
                place: "/Table/DeletionProtectionEnabled",
                value: json!(false),
            },
        },
        BrokenCondition {
            check: "Table Idempotency",
            seen: "it is not on demand",
            change: Change {
                operation: "DescribeTable",
                about: "IdempotencyTable",
                place: "/Table/BillingModeSummary",
                value: Value::Null,
            },
        },
        BrokenCondition {
            check: "Table Idempotency",
            seen: "its status is INACCESSIBLE_ENCRYPTION_CREDENTIALS",
            change: Change {
                operation: "DescribeTable",
                about: "IdempotencyTable",
                place: "/Table/TableStatus",
                value: json!("INACCESSIBLE_ENCRYPTION_CREDENTIALS"),
            },
        },
    ]
}

fn broken_expiry_and_backups() -> [BrokenCondition; 2] {
    [
        BrokenCondition {
            check: "Table RejectedSignals",
            seen: "the time to live is that of no attribute",
            change: Change {
                operation: "DescribeTimeToLive",
                about: "RejectedSignalsTable",
                place: "/TimeToLiveDescription/TimeToLiveStatus",
                value: json!("DISABLED"),
            },
        },
        BrokenCondition {
            check: "Table ApiKeys",
            seen: "point-in-time recovery is off",
            change: Change {
                operation: "DescribeContinuousBackups",
                about: "ApiKeysTable",
                place: "/ContinuousBackupsDescription/PointInTimeRecoveryDescription/PointInTimeRecoveryStatus",
                value: json!("DISABLED"),
            },
        },
    ]
}

fn broken_notifications() -> [BrokenCondition; 2] {
    let failed = |error: &str| Change {
        operation: "DescribeAlarmHistory",
        about: "",
        place: "/AlarmHistoryItems/0/HistorySummary",
        value: json!(format!(
            "Failed to execute action {TOPIC}. Received error: \"{error}\""
        )),
    };
    [
        BrokenCondition {
            check: "Notifications",
            seen: "intake-test-DefectsAlarm-1A could not notify arn:aws:sns:eu-central-1:123456789012:alarms. Received error: \
                   \"null (Service: AWSKMS; Status Code: 400; Error Code: AccessDeniedException)\": alarms cannot publish to \
                   a topic that is encrypted with alias/aws/sns. Use a key of your own",
            change: failed(
                "null (Service: AWSKMS; Status Code: 400; Error Code: AccessDeniedException)",
            ),
        },
        BrokenCondition {
            check: "Notifications",
            seen: "intake-test-DefectsAlarm-1A could not notify arn:aws:sns:eu-central-1:123456789012:alarms. Received error: \
                   \"Topic does not exist\"",
            change: failed("Topic does not exist"),
        },
    ]
}

fn broken_keys_and_alarms() -> [BrokenCondition; 3] {
    [
        BrokenCondition {
            check: "Key expiries",
            seen: "key_1 of shop ends in 5 day(s)",
            change: Change {
                operation: "Scan",
                about: "\"Segment\":0",
                place: "/Items",
                value: json!([key_item(5)]),
            },
        },
        BrokenCondition {
            check: "Alarms",
            seen: "intake-test-DefectsAlarm-1A fires",
            change: Change {
                operation: "DescribeAlarms",
                about: "DefectsAlarm",
                place: "/MetricAlarms/0/StateValue",
                value: json!("ALARM"),
            },
        },
        BrokenCondition {
            check: "Alarms",
            seen: "the stack has no alarms",
            change: Change {
                operation: "DescribeAlarms",
                about: "",
                place: "/MetricAlarms",
                value: json!([]),
            },
        },
    ]
}

fn broken_queues() -> [BrokenCondition; 5] {
    [
        BrokenCondition {
            check: "Overflow queue",
            seen: "3 message(s), the oldest 0 s old; in 30 minutes 7 failed drain(s), 0 crash(es), 0 throttled",
            change: Change {
                operation: "GetMetricStatistics",
                about: "DrainFailures",
                place: "/Datapoints",
                value: json!([{"Sum": 7.0}]),
            },
        },
        BrokenCondition {
            check: "Overflow queue",
            seen: "3 message(s), the oldest 0 s old; in 30 minutes 0 failed drain(s), 2 crash(es), 0 throttled",
            change: Change {
                operation: "GetMetricStatistics",
                about: "Errors",
                place: "/Datapoints",
                value: json!([{"Sum": 2.0}]),
            },
        },
        BrokenCondition {
            check: "Overflow queue",
            seen: "3 message(s), the oldest 0 s old; in 30 minutes 0 failed drain(s), 0 crash(es), 9 throttled",
            change: Change {
                operation: "GetMetricStatistics",
                about: "Throttles",
                place: "/Datapoints",
                value: json!([{"Sum": 9.0}]),
            },
        },
        BrokenCondition {
            check: "Overflow queue",
            seen: "3 message(s), the oldest 1800 s old; in 30 minutes 0 failed drain(s), 0 crash(es), 0 throttled",
            change: Change {
                operation: "GetMetricStatistics",
                about: "ApproximateAgeOfOldestMessage",
                place: "/Datapoints",
                value: json!([{"Maximum": 1800.0}]),
            },
        },
        BrokenCondition {
            check: "Dead letters",
            seen: "2 message(s): find out why, then `cargo intake --stack intake-test overflow redrive`",
            change: Change {
                operation: "GetQueueAttributes",
                about: "dead-letters",
                place: "/Attributes/ApproximateNumberOfMessages",
                value: json!("2"),
            },
        },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_broken_condition_fails_its_check() {
    let conditions = broken_tables()
        .into_iter()
        .chain(broken_expiry_and_backups())
        .chain(broken_keys_and_alarms())
        .chain(broken_notifications())
        .chain(broken_queues());
    for condition in conditions {
        let BrokenCondition {
            check,
            seen,
            change,
        } = condition;
        let run = doctor(Some(change)).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn check_that_cannot_be_made_has_failed_with_the_reason() {
    let change = Change {
        operation: "DescribeAlarms",
        about: "",
        place: "",
        value: json!({"__type": "AccessDenied", "message": "not you"}),
    };
    let run = doctor(Some(change)).await;
    assert_eq!(run.code, Some(1), "{run:?}");
    for check in ["Alarms", "Notifications"] {
        let checks = run.json();
        let found = checks.iter().find(|one| one["check"] == check).unwrap();
        assert_eq!(
            found["seen"],
            "unknown: CloudWatch refused the call: AccessDenied: not you"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_without_a_deployed_stack_skips_what_only_that_has() {
    let app = TestApp::start();
    let assert_result = |run: &CommandOutput, check: &str, result: &str| {
        let checks = run.json();
        let found = checks.iter().find(|one| one["check"] == check);
        assert_eq!(found.expect(check)["result"], result, "{check}");
    };

    let operator = Operator::new(&app);
    operator.run(&["keys", "publish"]).success();
    let without_cloudwatch = Operator::new(&app).variable("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
    let with_variables = without_cloudwatch.run(&["doctor", "--json"]);
    for check in ["Stack", "Alarms", "Notifications"] {
        assert_result(&with_variables, check, "skipped");
    }
    for check in ["Key expiries", "Key snapshot"] {
        assert_result(&with_variables, check, "held");
    }

    operator.write_env_file("dev.env");
    let local = operator
        .run(&["--local=dev.env", "doctor", "--json"])
        .success();
    for check in ["Alarms", "Overflow queue", "Table Signals"] {
        assert_result(&local, check, "skipped");
    }
    for check in ["Key expiries", "Key snapshot", "Dead letters"] {
        assert_result(&local, check, "held");
    }
}
