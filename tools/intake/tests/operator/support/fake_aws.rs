//! An AWS that answers like that of a healthy stack, with one answer changed: CloudFormation, DynamoDB,
//! SQS, Lambda, CloudWatch and its logs, and those that give credentials: STS, single sign-on, the metadata
//! service and that of containers.

use std::sync::Mutex;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::http_server::{HttpServer, Service, response};

use super::cbor::{from_cbor, to_cbor};
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

/// A call that a command made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The name of the host, without the port.
    pub(crate) host: String,
    pub(crate) operation: String,
    /// The id of the access key that signed the call; empty without a signature.
    pub(crate) access_key: String,
}

/// The services that a command calls.
#[derive(Default)]
pub(crate) struct FakeAws {
    pub(crate) change: Option<Change>,
    /// Whether there is the stack of a delivery.
    has_delivery: bool,
    calls: Mutex<Vec<Call>>,
}

impl FakeAws {
    pub(crate) fn new(change: Option<Change>) -> Self {
        Self {
            change,
            ..Self::default()
        }
    }

    /// The same AWS, with the stack of a delivery.
    pub(crate) fn with_delivery(self) -> Self {
        Self {
            has_delivery: true,
            ..self
        }
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// How often an operation was called.
    pub(crate) fn count(&self, operation: &str) -> usize {
        let calls = self.calls();
        calls
            .iter()
            .filter(|call| call.operation == operation)
            .count()
    }
}

/// Runs a command over an AWS with this change.
pub(crate) async fn run_at_aws(change: Option<Change>, arguments: &[&str]) -> CommandOutput {
    run_at(FakeAws::new(change), arguments).await
}

/// Runs a command over this AWS.
pub(crate) async fn run_at(aws: FakeAws, arguments: &[&str]) -> CommandOutput {
    let aws = HttpServer::start(aws, None).await.unwrap();
    let operator = Operator::with_nothing()
        .variable("AWS_REGION", "eu-central-1")
        .variable("AWS_ACCESS_KEY_ID", "local")
        .variable("AWS_SECRET_ACCESS_KEY", "local")
        .variable("INTAKE_STACK", "intake-test")
        .variable("API_KEYS_TABLE", "elsewhere")
        .variable("AWS_ENDPOINT_URL", &aws.endpoint());
    operator.run(arguments)
}

/// The protocol of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Json,
    Cbor,
    /// A form that is answered with XML.
    Query,
    /// A path of an HTTP API.
    Rest,
}

impl Service for FakeAws {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let header = |name: &str| {
            let value = request.headers().get(name);
            value.map_or("", |value| value.to_str().unwrap())
        };
        let path = request.uri().path();
        let (protocol, operation) =
            if let Some((_, operation)) = header("x-amz-target").split_once('.') {
                (Protocol::Json, operation.to_owned())
            } else if let Some((_, operation)) = path.split_once("/operation/") {
                (Protocol::Cbor, operation.to_owned())
            } else if path == "/" {
                let body = String::from_utf8_lossy(request.body());
                let action = body
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("Action="));
                (Protocol::Query, action.unwrap().to_owned())
            } else {
                (Protocol::Rest, path.to_owned())
            };
        let authorization = header("authorization");
        let access_key = authorization
            .split_once("AWS4-HMAC-SHA256 Credential=")
            .and_then(|(_, rest)| rest.split_once('/'));
        let access_key = access_key.map_or("", |(access_key, _)| access_key);
        if matches!(protocol, Protocol::Json | Protocol::Cbor) {
            assert_ne!(access_key, "", "{request:?}");
        }
        let host = request.uri().host().unwrap_or(header("host"));
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        self.calls.lock().unwrap().push(Call {
            host: host.to_owned(),
            operation: operation.clone(),
            access_key: access_key.to_owned(),
        });
        match protocol {
            Protocol::Rest => self.answer_path(path),
            Protocol::Query => self.answer_query(&operation, request.body()),
            Protocol::Json => {
                let call = serde_json::from_slice(request.body()).unwrap();
                let answer = self.changed_answer(&operation, &call);
                response(status(&answer), &[], answer.to_string())
            }
            Protocol::Cbor => {
                let answer = self.changed_answer(&operation, &from_cbor(request.body()));
                let headers = [
                    ("smithy-protocol", "rpc-v2-cbor"),
                    ("content-type", "application/cbor"),
                ];
                response(status(&answer), &headers, to_cbor(&answer))
            }
        }
    }
}

fn status(answer: &Value) -> u16 {
    if answer["__type"].is_string() {
        400
    } else {
        200
    }
}

impl FakeAws {
    fn answer_path(&self, path: &str) -> Response<Full<Bytes>> {
        let change = self.change.as_ref();
        match change.filter(|change| change.operation == path) {
            Some(change) => response(status(&change.value), &[], change.value.to_string()),
            None => answer_path(path),
        }
    }

    fn answer_query(&self, operation: &str, body: &Bytes) -> Response<Full<Bytes>> {
        let body = String::from_utf8_lossy(body);
        if let Some(change) = &self.change
            && change.operation == operation
        {
            let code = change.value["code"].as_str().unwrap();
            let message = change.value["message"].as_str().unwrap();
            return response(400, &[], query_error(code, message));
        }
        match operation {
            "DescribeStacks" => {
                let is_delivery = body.contains("StackName=intake-test-delivery");
                let times = if is_delivery { 2 } else { 1 };
                assert_eq!(self.count(operation), times, "a stack is described once");
                let exists = !is_delivery || self.has_delivery;
                let (status, xml) = describe_stack(&body, exists);
                response(status, &[], xml)
            }
            "AssumeRole" | "AssumeRoleWithWebIdentity" => {
                response(200, &[], assumed_role(operation))
            }
            _ => panic!("{operation} was not expected"),
        }
    }

    /// The answer to a call, with the change if it is about the call.
    fn changed_answer(&self, operation: &str, call: &Value) -> Value {
        let mut answer = answer(operation, call);
        let body = call.to_string();
        let change = self.change.as_ref();
        if let Some(change) =
            change.filter(|change| change.operation == operation && body.contains(change.about))
        {
            *answer.pointer_mut(change.place).unwrap() = change.value.clone();
        }
        answer
    }
}

fn query_error(code: &str, message: &str) -> String {
    format!(
        "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
    )
}

/// An hour from now, as AWS's services write it.
fn in_an_hour() -> String {
    let millis = Timestamp::now().millis() + 60 * 60 * 1_000;
    Timestamp::from_millis(millis).to_string()
}

fn assumed_role(operation: &str) -> String {
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

/// The answers of Lambda, of single sign-on and `aws login`, of the metadata service of a machine, and of
/// that of a container.
fn answer_path(path: &str) -> Response<Full<Bytes>> {
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

/// A stack with the outputs and parameters of template.yaml, if it exists.
fn describe_stack(call: &str, exists: bool) -> (u16, String) {
    if !exists || !call.contains("StackName=intake-test") {
        let missing = query_error("ValidationError", "Stack with id elsewhere does not exist");
        return (400, missing);
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
        "PutItem" | "GetItem" => json!({}),
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
    let topic = json!(["arn:aws:sns:eu-central-1:123456789012:alarms"]);
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
