//! The responses of the services of a healthy stack: CloudFormation, DynamoDB, SQS, Lambda, CloudWatch and its
//! logs, and of those that give credentials: STS, single sign-on, the metadata service and that of containers.

use harness::http_server::response;
use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use super::StateOfStack;
use crate::support::operator::VARIABLES;

const DAY: u64 = 24 * 60 * 60;

pub(super) fn query_error(code: &str, message: &str) -> String {
    format!(
        "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
    )
}

/// An hour from now, as AWS's services write it.
fn in_an_hour() -> String {
    let millis = Timestamp::now().millis() + 60 * 60 * 1_000;
    Timestamp::from_millis(millis).to_string()
}

pub(super) fn assumed_role(operation: &str) -> String {
    let end = in_an_hour();
    format!(
        "<{operation}Response><{operation}Result><Credentials><AccessKeyId>{operation}</AccessKeyId>\
         <SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>{end}</Expiration></Credentials>\
         <AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn><AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>\
         </{operation}Result></{operation}Response>"
    )
}

/// The path of `GetAccountSettings` in the API of Lambda.
pub(crate) const ACCOUNT_SETTINGS: &str = "/2016-08-19/account-settings";

/// The responses of Lambda, of single sign-on and `aws login`, of the metadata service of a machine, and of
/// that of a container.
pub(super) fn response_to_path(path: &str) -> Response<Full<Bytes>> {
    let end = in_an_hour();
    let credentials = |id: &str| {
        json!({
            "Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": id, "SecretAccessKey": "s", "Token": "t",
            "Expiration": end, "LastUpdated": "2026-01-01T00:00:00Z",
        })
        .to_string()
    };
    match path {
        "/federation/credentials" => {
            let millis = Timestamp::now().millis() + 60 * 60 * 1_000;
            let role = json!({"roleCredentials": {
                "accessKeyId": "Sso", "secretAccessKey": "s", "sessionToken": "t", "expiration": millis,
            }});
            response(200, &[], role.to_string())
        }
        "/latest/api/token" => response(
            200,
            &[("x-aws-ec2-metadata-token-ttl-seconds", "21600")],
            "token",
        ),
        "/latest/meta-data/placement/region" => response(200, &[], "eu-central-1"),
        "/latest/meta-data/iam/security-credentials/" => response(200, &[], "role"),
        "/latest/meta-data/iam/security-credentials/role" => {
            response(200, &[], credentials("Machine"))
        }
        "/container" => response(200, &[], credentials("Container")),
        "/v1/token" => {
            let token = json!({
                "accessToken": {"accessKeyId": "NewLogin", "secretAccessKey": "s", "sessionToken": "t"},
                "tokenType": "aws_sigv4", "expiresIn": 900, "refreshToken": "r2",
            });
            response(200, &[], token.to_string())
        }
        ACCOUNT_SETTINGS => {
            let limit =
                json!({"ConcurrentExecutions": 1_000, "UnreservedConcurrentExecutions": 900});
            response(200, &[], json!({"AccountLimit": limit}).to_string())
        }
        _ => response(404, &[], ""),
    }
}

/// The bucket of the key snapshot.
pub(crate) const KEY_SNAPSHOT_BUCKET: &str = "intake-test-keys";

/// The response of S3 to a read of the key snapshot, or to its replacement. It has no key, since the hash of the one
/// in the table is none.
pub(super) fn key_snapshot() -> Response<Full<Bytes>> {
    let object = store::key_snapshot::write(&[], Timestamp::now()).unwrap();
    let headers = [
        ("etag", "\"1\""),
        ("last-modified", "Fri, 20 Nov 2026 22:33:44 GMT"),
    ];
    response(200, &headers, object)
}

fn missing_stack() -> (u16, String) {
    let missing = query_error("ValidationError", "Stack with id elsewhere does not exist");
    (400, missing)
}

fn member(kind: &str, name: &str, value: &str) -> String {
    format!("<member><{kind}Key>{name}</{kind}Key><{kind}Value>{value}</{kind}Value></member>")
}

fn described_stack(name: &str, status: &str, parameters: &str, outputs: &str) -> (u16, String) {
    let xml = format!(
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>{name}</StackName>\
         <CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>{status}</StackStatus>\
         <Parameters>{parameters}</Parameters><Outputs>{outputs}</Outputs>\
         </member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
    );
    (200, xml)
}

/// The stack of a delivery, if it exists.
pub(super) fn describe_delivery(exists: bool) -> (u16, String) {
    if !exists {
        return missing_stack();
    }
    let outputs = member("Output", "LakeBucketName", "lake");
    described_stack("intake-test-delivery", "UPDATE_COMPLETE", "", &outputs)
}

/// A stack with the parameters of template.yaml and, unless its state has none, the outputs.
pub(super) fn describe_stack(call: &str, state: Option<StateOfStack>) -> (u16, String) {
    let is_named =
        call.contains("StackName=intake-test") || call.contains("%3Astack%2Fintake-test%2F");
    if !is_named {
        return missing_stack();
    }
    let state = state.unwrap_or(StateOfStack {
        status: "UPDATE_COMPLETE",
        has_outputs: true,
    });
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
    outputs += &member("Output", "KeySnapshotBucket", KEY_SNAPSHOT_BUCKET);
    let parameters = [
        ("DeletionProtection", "true"),
        ("SignalRetentionDays", "30"),
        ("ThrottleRate", "1000"),
    ];
    let parameters = parameters
        .map(|(name, value)| member("Parameter", name, value))
        .concat();
    if !state.has_outputs {
        outputs.clear();
    }
    described_stack("intake-test", state.status, &parameters, &outputs)
}

/// The dimensions of the metrics that are read in this namespace.
fn dimensions(namespace: &Value) -> Value {
    if namespace == "AWS/SQS" {
        json!([{"Name": "QueueName", "Value": "overflow"}])
    } else {
        json!([{"Name": "FunctionName", "Value": "intake-test-overflow"}])
    }
}

pub(super) fn response_to(operation: &str, call: &Value) -> Value {
    let table = call["TableName"].as_str().unwrap_or_default();
    match operation {
        "DescribeTable" => described_table(table),
        "DescribeTimeToLive" => time_to_live(table),
        "DescribeContinuousBackups" => continuous_backups(table),
        "Scan" if call["Segment"] == 0 && table == "ApiKeysTable" => {
            json!({"Items": [key_item(90)], "Count": 1, "ScannedCount": 1})
        }
        "Scan" => json!({"Items": [], "Count": 0, "ScannedCount": 0}),
        "PutItem" | "GetItem" => json!({}),
        "DescribeAlarms" => alarms(call["AlarmNamePrefix"].as_str().unwrap()),
        "DescribeAlarmHistory" => {
            assert_eq!(call["HistoryItemType"], "Action");
            json!({"AlarmHistoryItems": [{"HistorySummary": format!("Successfully executed action {TOPIC}")}]})
        }
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

/// The topic of the alarms.
pub(crate) const TOPIC: &str = "arn:aws:sns:eu-central-1:123456789012:alarms";

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
    let topic = json!([TOPIC]);
    let named = named.map(
        |(name, state)| json!({"AlarmName": name, "StateValue": state, "AlarmActions": topic}),
    );
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
