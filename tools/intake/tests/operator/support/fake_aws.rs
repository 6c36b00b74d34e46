//! An AWS that answers like that of a healthy stack, with one answer changed.

use std::sync::atomic::{AtomicBool, Ordering};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::http_server::{HttpServer, Service};

use super::operator::{CommandOutput, Operator, VARIABLES};

const DAY: u64 = 24 * 60 * 60;

/// Another value in the answer to a call.
pub(crate) struct Change {
    /// The operation that is called.
    pub(crate) operation: &'static str,
    /// A text in the body of the call.
    pub(crate) about: &'static str,
    /// Where the value is in the answer, as a JSON Pointer.
    pub(crate) place: &'static str,
    pub(crate) value: Value,
}

/// The services that a command calls.
#[derive(Default)]
pub(crate) struct FakeAws {
    pub(crate) change: Option<Change>,
    is_described: AtomicBool,
}

impl FakeAws {
    pub(crate) fn new(change: Option<Change>) -> Self {
        Self {
            change,
            ..Self::default()
        }
    }
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

impl Service for FakeAws {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let header = |name: &str| {
            request
                .headers()
                .get(name)
                .map_or("", |value| value.to_str().unwrap())
                .to_owned()
        };
        assert!(
            header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=local/"),
            "{request:?}"
        );
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        let Some(operation) = header("x-amz-target")
            .split('.')
            .nth(1)
            .map(ToOwned::to_owned)
        else {
            let was_described = self.is_described.swap(true, Ordering::Relaxed);
            assert!(!was_described, "the stack is described once");
            let (status, xml) = describe_stack(&body);
            return Response::builder()
                .status(status)
                .body(Full::from(xml))
                .unwrap();
        };
        let call: Value = serde_json::from_str(&body).unwrap();
        let mut answer = answer(&operation, &call);
        let change = self.change.as_ref();
        if let Some(change) =
            change.filter(|change| change.operation == operation && body.contains(change.about))
        {
            *answer.pointer_mut(change.place).unwrap() = change.value.clone();
        }
        let status = if answer["__type"].is_string() {
            400
        } else {
            200
        };
        Response::builder()
            .status(status)
            .body(Full::from(answer.to_string()))
            .unwrap()
    }
}

/// A stack with the outputs and parameters of template.yaml, if it is asked for.
fn describe_stack(call: &str) -> (u16, String) {
    if !call.contains("StackName=intake-test") {
        let missing = "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>\
                       <Message>Stack with id elsewhere does not exist</Message></Error></ErrorResponse>";
        return (400, missing.to_owned());
    }
    let member = |kind: &str, name: &str, value: &str| {
        format!("<member><{kind}Key>{name}</{kind}Key><{kind}Value>{value}</{kind}Value></member>")
    };
    let mut outputs = String::new();
    for (_, table) in VARIABLES {
        outputs += &member("Output", &format!("{table}Name"), table);
    }
    outputs += &member("Output", "Version", env!("CARGO_PKG_VERSION"));
    outputs += &member("Output", "OverflowFunctionName", "intake-test-overflow");
    outputs += &member("Output", "OverflowQueueUrl", "https://sqs/1/overflow");
    outputs += &member(
        "Output",
        "OverflowDeadLetterQueueUrl",
        "https://sqs/1/dead-letters",
    );
    let parameters = [
        ("DeletionProtection", "true"),
        ("SignalRetentionDays", "30"),
        ("ThrottleRate", "1000"),
    ];
    let parameters = parameters
        .map(|(name, value)| member("Parameter", name, value))
        .concat();
    let xml = format!(
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>intake-test</StackName>\
         <CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>UPDATE_COMPLETE</StackStatus>\
         <Parameters>{parameters}</Parameters><Outputs>{outputs}</Outputs>\
         </member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
    );
    (200, xml)
}

/// The dimensions of the metrics that are read in this namespace.
fn dimensions(namespace: &Value) -> Value {
    if namespace == "AWS/SQS" {
        json!([{"Name": "QueueName", "Value": "overflow"}])
    } else {
        json!([{"Name": "FunctionName", "Value": "intake-test-overflow"}])
    }
}

fn answer(operation: &str, call: &Value) -> Value {
    let table = call["TableName"].as_str().unwrap_or_default();
    match operation {
        "DescribeTable" => described_table(table),
        "DescribeTimeToLive" => time_to_live(table),
        "DescribeContinuousBackups" => continuous_backups(table),
        "Scan" if call["Segment"] == 0 && table == "ApiKeysTable" => {
            json!({"Items": [key_item(90)], "Count": 1, "ScannedCount": 1})
        }
        "Scan" => json!({"Items": [], "Count": 0, "ScannedCount": 0}),
        "DescribeAlarms" => alarms(call["AlarmNamePrefix"].as_str().unwrap()),
        "GetMetricStatistics" => {
            assert_eq!(call["Dimensions"], dimensions(&call["Namespace"]));
            json!({"Datapoints": []})
        }
        "GetQueueAttributes" => queue_attributes(&call["QueueUrl"]),
        "StartQuery" => start_query(call),
        "GetQueryResults" => {
            assert_eq!(call["queryId"], "q1");
            query_results()
        }
        _ => panic!("{operation} was not expected"),
    }
}

fn described_table(table: &str) -> Value {
    let stream = match table {
        "SignalsTable" => json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}),
        "CustomersTable" => {
            json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"})
        }
        _ => Value::Null,
    };
    json!({"Table": {
        "TableStatus": "ACTIVE", "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "StreamSpecification": stream, "DeletionProtectionEnabled": true,
    }})
}

fn time_to_live(table: &str) -> Value {
    if ["ApiKeysTable", "CustomersTable"].contains(&table) {
        return json!({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}});
    }
    json!({"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "expiresAt"}})
}

fn continuous_backups(table: &str) -> Value {
    let status = if table == "IdempotencyTable" {
        "DISABLED"
    } else {
        "ENABLED"
    };
    json!({"ContinuousBackupsDescription": {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": status},
    }})
}

/// The alarms whose names begin with the prefix.
fn alarms(prefix: &str) -> Value {
    let alarms = [
        ("intake-test-DefectsAlarm-1A", "OK"),
        (
            "intake-test-Monitoring-2B-QuietAlarm-3C",
            "INSUFFICIENT_DATA",
        ),
        // These alarms belong to the stacks intake-test-dev and intake-test-delivery.
        ("intake-test-dev-DefectsAlarm-4D", "ALARM"),
        ("intake-test-delivery-AgeAlarm-5E", "ALARM"),
    ];
    let named = alarms.iter().filter(|(name, _)| name.starts_with(prefix));
    let named = named.map(|(name, state)| json!({"AlarmName": name, "StateValue": state}));
    json!({"MetricAlarms": named.collect::<Vec<_>>()})
}

fn queue_attributes(url: &Value) -> Value {
    let waiting = if url == "https://sqs/1/overflow" {
        "3"
    } else {
        "0"
    };
    json!({"Attributes": {
        "ApproximateNumberOfMessages": waiting, "ApproximateNumberOfMessagesNotVisible": "0",
        "ApproximateNumberOfMessagesDelayed": "0",
    }})
}

fn start_query(call: &Value) -> Value {
    let log_groups = json!([
        "/aws/lambda/intake-test/customers",
        "/aws/lambda/intake-test/signals"
    ]);
    assert_eq!(call["logGroupNames"], log_groups);
    // The command reads the clock twice.
    let seconds = call["endTime"].as_u64().unwrap() - call["startTime"].as_u64().unwrap();
    assert!((DAY..DAY + 60).contains(&seconds), "{seconds}");
    json!({"queryId": "q1"})
}

fn query_results() -> Value {
    let row = |fields: &[(&str, &str)]| {
        fields
            .iter()
            .map(|(field, value)| json!({"field": field, "value": value}))
            .collect::<Value>()
    };
    let web = [
        ("accountId", "shop"),
        ("keyId", "key_1"),
        ("requests", "7"),
        ("accepted", "120"),
        ("rejected", "3"),
        ("lastSeen", "1795214024123"),
    ];
    let app = [
        ("accountId", "shop"),
        ("keyId", "key_2"),
        ("requests", "1"),
        ("lastSeen", "2026-11-20 22:33:44.123"),
    ];
    json!({"status": "Complete", "results": [row(&web), row(&app)]})
}

/// A key that was created a year ago and ends in so many days.
pub(crate) fn key_item(days: u64) -> Value {
    let now = Timestamp::now();
    let created = Timestamp::from_millis(now.millis() - 365 * DAY * 1_000);
    json!({
        "keyHash": {"S": "0"}, "keyId": {"S": "key_1"}, "accountId": {"S": "shop"}, "name": {"S": "web"},
        "createdAt": {"S": created.to_string()}, "expiresAt": {"N": (now.seconds() + days * DAY + 60).to_string()},
    })
}
