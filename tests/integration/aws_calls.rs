//! The wire of a call to AWS: what the store's client sends, byte for byte but for times and signatures.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use model::api_key::ApiKey;
use model::customer::CustomerUpdate;
use model::deadline::Deadline;
use model::json::JsonText;
use model::timestamp::Timestamp;
use service::context::MAX_REQUEST_DURATION;
use store::api_keys::ApiKeysTable;
use store::client::{Client, Connection};
use store::customers::{CustomersTable, UpsertOutcome, UpsertResult};
use store::environment::{CONNECT_TIMEOUT, DYNAMODB, dynamodb_limits, http_client};

/// A client, and what it sends to a server that answers one request with `body`.
fn client(body: &'static str) -> (Client, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = Connection {
        http_client: http_client(CONNECT_TIMEOUT).unwrap(),
        endpoint: format!("http://{}", listener.local_addr().unwrap()),
        region: "eu-central-1".to_owned(),
        credentials: SharedCredentialsProvider::new(Credentials::new("id", "secret", Some("t".into()), None, "test")),
    };
    let sent = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !is_whole(&request) {
            let mut bytes = [0; 4096];
            let length = stream.read(&mut bytes).unwrap();
            request.extend(bytes.iter().take(length));
        }
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        String::from_utf8(request).unwrap()
    });
    (Client::new(DYNAMODB, connection, dynamodb_limits()), sent)
}

fn is_whole(request: &[u8]) -> bool {
    let request = String::from_utf8_lossy(request);
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.unwrap().parse::<usize>().unwrap() == body.len()
}

fn deadline() -> Deadline {
    Deadline::after(MAX_REQUEST_DURATION)
}

#[tokio::test]
async fn call_is_signed_and_names_its_operation_and_intake() {
    let (client, sent) = client("{}");
    let hash = ApiKey::random().unwrap().hash();
    assert_eq!(ApiKeysTable::new(client, "keys").find(&hash, deadline()).await, Ok(None));
    let sent = sent.join().unwrap();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    let (mut lines, mut names) = (Vec::new(), Vec::new());
    for line in head.lines() {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        names.push(name);
        match name {
            "authorization" => lines.extend(value.split(' ').filter(|part| !part.starts_with("Signature="))),
            "host" | "x-amz-date" => {}
            _ => lines.push(line),
        }
    }
    assert_eq!(names.iter().filter(|name| ["host", "x-amz-date"].contains(name)).count(), 2);
    let day = lines.iter().find_map(|part| part.strip_prefix("Credential=id/")?.split('/').next()).unwrap();
    let credential = format!("Credential=id/{day}/eu-central-1/dynamodb/aws4_request,");
    let expected = [
        "POST / HTTP/1.1",
        "content-type: application/x-amz-json-1.0",
        "x-amz-target: DynamoDB_20120810.GetItem",
        concat!("user-agent: intake/", env!("CARGO_PKG_VERSION")),
        "AWS4-HMAC-SHA256",
        &credential,
        "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target,",
        "x-amz-security-token: t",
        &format!("content-length: {}", body.len()),
    ];
    assert_eq!(lines, expected);
    let hash = hash.to_hex();
    assert_eq!(body, format!(r#"{{"TableName":"keys","Key":{{"keyHash":{{"S":"{hash}"}}}},"ConsistentRead":true}}"#));
}

#[tokio::test]
async fn update_of_a_customer_sets_and_removes_what_it_names() {
    let (client, sent) = client(r#"{"Attributes":{"createdAt":{"S":"2026-11-20T22:16:40.009Z"},"n":{"N":"1"}}}"#);
    let text = r#"{"customerId":"c-1","customerData":{"email":"a@b.example","tags":["x",1.50],"city":null}}"#;
    let update = CustomerUpdate::parse(JsonText::parse(text).unwrap()).unwrap();
    let now = Timestamp::from_millis(1_795_213_000_009);
    let table = CustomersTable::new(client, "customers");
    let outcome = table.upsert(&"shop".parse().unwrap(), &update, now, deadline()).await;
    assert_eq!(outcome, Ok(UpsertOutcome { result: UpsertResult::Updated, updated_at: now }));
    let sent = sent.join().unwrap();
    let expected = concat!(
        r#"{"TableName":"customers","Key":{"pk":{"S":"shop#c-1"}},"#,
        r#""UpdateExpression":"SET accountId = :account, customerId = :customer, updatedAt = :now, "#,
        r#"createdAt = if_not_exists(createdAt, :now), #0 = :0, #1 = :1 REMOVE #2","#,
        r#""ConditionExpression":"attribute_not_exists(updatedAt) OR updatedAt < :now","#,
        r#""ReturnValues":"UPDATED_OLD","ReturnValuesOnConditionCheckFailure":"ALL_OLD","#,
        r##""ExpressionAttributeNames":{"#0":"email","#1":"tags","#2":"city"},"##,
        r#""ExpressionAttributeValues":{":account":{"S":"shop"},":customer":{"S":"c-1"},"#,
        r#"":now":{"S":"2026-11-20T22:16:40.009Z"},":0":{"S":"a@b.example"},":1":{"L":[{"S":"x"},{"N":"1.50"}]}}}"#,
    );
    assert_eq!(sent.split_once("\r\n\r\n").unwrap().1, expected);
}
