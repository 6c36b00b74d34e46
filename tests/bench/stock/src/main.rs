//! A reference implementation of both functions in the most common style: all defaults, a `serde_json::Value` for the body,
//! an `AttributeValue` for each of its values, one call after the other. It is measured and never deployed.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, ReturnValue, WriteRequest};
use lambda_http::{Body, Request, RequestExt, Response, run, service_fn};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

type Failure = Box<dyn Error + Send + Sync>;
type Item = HashMap<String, AttributeValue>;

struct Function {
    client: Client,
    keys: Mutex<HashMap<String, (String, Instant)>>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    tracing_subscriber::fmt().json().with_ansi(false).init();
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    let function = Function { client: Client::new(&config), keys: Mutex::default() };
    let function = &function;
    run(service_fn(|request: Request| async move { function.handle(request).await })).await
}

impl Function {
    async fn handle(&self, request: Request) -> Result<Response<Body>, Failure> {
        let Some(account) = self.account(&request).await? else { return answer(401, &json!({"code": "unauthorized"})) };
        let body: Value = match serde_json::from_slice(request.body()) {
            Ok(body) => body,
            Err(_) => return answer(400, &json!({"code": "malformed-json"})),
        };
        let (status, body) = match request.raw_http_path() {
            "/api/customers" => self.customer(&account, &body).await?,
            _ => self.signals(&account, &body, request.body()).await?,
        };
        tracing::info!(status, account, "request");
        answer(status, &body)
    }

    async fn account(&self, request: &Request) -> Result<Option<String>, Failure> {
        let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let Some(key) = header.and_then(|value| value.strip_prefix("Bearer ")) else { return Ok(None) };
        let hash = hex(&Sha256::digest(key));
        if let Some((account, until)) = self.keys.lock().map_err(|_| "poisoned")?.get(&hash)
            && Instant::now() < *until
        {
            return Ok(Some(account.clone()));
        }
        let table = std::env::var("API_KEYS_TABLE")?;
        let found = self.client.get_item().table_name(table).key("keyHash", s(&hash)).consistent_read(true).send().await?;
        let account = found.item.as_ref().and_then(|item| item.get("accountId")?.as_s().ok().cloned());
        if let Some(account) = &account {
            let until = Instant::now() + Duration::from_secs(60);
            self.keys.lock().map_err(|_| "poisoned")?.insert(hash, (account.clone(), until));
        }
        Ok(account)
    }

    async fn customer(&self, account: &str, body: &Value) -> Result<(u16, Value), Failure> {
        let (Some(id), Some(profile)) = (identifier(&body["customerId"]), body["customerData"].as_object()) else {
            return Ok((400, json!({"code": "validation-failed"})));
        };
        let now = now()?;
        let mut call = self.client.update_item().table_name(std::env::var("CUSTOMERS_TABLE")?);
        call = call.key("pk", s(&format!("{account}#{id}"))).return_values(ReturnValue::UpdatedOld);
        let mut expression = String::from(
            "SET accountId = :account, customerId = :customer, updatedAt = :now, createdAt = if_not_exists(createdAt, :now)",
        );
        for (index, (name, value)) in profile.iter().enumerate() {
            expression.push_str(&format!(", #{index} = :{index}"));
            call = call.expression_attribute_names(format!("#{index}"), name);
            call = call.expression_attribute_values(format!(":{index}"), attribute(value));
        }
        let output = call
            .expression_attribute_values(":account", s(account))
            .expression_attribute_values(":customer", s(id))
            .expression_attribute_values(":now", s(&now))
            .update_expression(expression)
            .send()
            .await?;
        let result = if output.attributes.is_some() { "updated" } else { "created" };
        Ok((200, json!({"customerId": id, "result": result, "updatedAt": now, "warnings": []})))
    }

    async fn signals(&self, account: &str, body: &Value, sent: &[u8]) -> Result<(u16, Value), Failure> {
        let Some(signals) = body["signals"].as_array().filter(|signals| (1..=500).contains(&signals.len())) else {
            return Ok((400, json!({"code": "validation-failed"})));
        };
        let now = now()?;
        let request_identifier = match body["requestIdentifier"].as_str() {
            Some(text) => {
                let request_identifier = Uuid::parse_str(text)?.to_string();
                self.record(account, &request_identifier, sent, &now).await?;
                request_identifier
            }
            None => Uuid::new_v4().to_string(),
        };
        let mut errors = Vec::new();
        let mut writes = Vec::new();
        for (index, signal) in signals.iter().enumerate() {
            match item(account, &request_identifier, &now, index, signal) {
                Some(item) => {
                    let put = PutRequest::builder().set_item(Some(item)).build()?;
                    writes.push(WriteRequest::builder().put_request(put).build());
                }
                None => errors.push(json!({"field": format!("signals[{index}]"), "code": "invalid"})),
            }
        }
        let table = std::env::var("SIGNALS_TABLE")?;
        for batch in writes.chunks(25) {
            let mut left = HashMap::from([(table.clone(), batch.to_vec())]);
            while !left.is_empty() {
                let output = self.client.batch_write_item().set_request_items(Some(left)).send().await?;
                left = output.unprocessed_items.unwrap_or_default();
            }
        }
        let counts = json!({
            "requestIdentifier": request_identifier, "received": signals.len(), "accepted": writes.len(),
            "rejected": errors.len(), "replayed": false, "fieldErrors": errors, "warnings": [],
        });
        Ok((if writes.is_empty() { 400 } else { 200 }, counts))
    }

    async fn record(&self, account: &str, request_identifier: &str, body: &[u8], now: &str) -> Result<(), Failure> {
        self.client
            .put_item()
            .table_name(std::env::var("IDEMPOTENCY_TABLE")?)
            .item("pk", s(&format!("{account}#{request_identifier}")))
            .item("bodyHash", s(&hex(&Sha256::digest(body))))
            .item("receivedAt", s(now))
            .condition_expression("attribute_not_exists(pk)")
            .send()
            .await?;
        Ok(())
    }
}

fn item(account: &str, request_identifier: &str, now: &str, index: usize, signal: &Value) -> Option<Item> {
    let names = if signal["customerId"].is_null() { ["emitterId", "stepNodeId"] } else { ["customerId", "eventType"] };
    let [subject, kind] = [identifier(&signal[names[0]])?, identifier(&signal[names[1]])?];
    let mut item = Item::from([
        ("pk".to_owned(), s(&format!("{account}#{subject}"))),
        ("sk".to_owned(), s(&format!("{now}#{request_identifier}#{index:04}"))),
        ("accountId".to_owned(), s(account)),
        (names[0].to_owned(), s(subject)),
        (names[1].to_owned(), s(kind)),
        ("requestIdentifier".to_owned(), s(request_identifier)),
        ("receivedAt".to_owned(), s(now)),
    ]);
    if let Some(flow) = signal["eventflowIdentifier"].as_str() {
        item.insert("eventflowIdentifier".to_owned(), s(&Uuid::parse_str(flow).ok()?.to_string()));
    }
    if !storable(&signal["data"], 0) {
        return None;
    }
    item.insert("data".to_owned(), attribute(&signal["data"]));
    let unknown: Vec<_> = signal.as_object()?.keys().filter(|name| !CONTRACT.contains(name.as_str())).collect();
    unknown.is_empty().then_some(item)
}

static CONTRACT: std::sync::LazyLock<BTreeSet<&str>> = std::sync::LazyLock::new(|| {
    BTreeSet::from(["customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier", "data"])
});

/// An identifier that is text, not blank, not too long, and no placeholder.
fn identifier(value: &Value) -> Option<&str> {
    let text = value.as_str()?;
    let placeholder = ["null", "undefined", "none", "nan", "nil", "[object object]"].contains(&text.to_lowercase().as_str());
    (!text.trim().is_empty() && text.chars().count() <= 256 && !placeholder).then_some(text)
}

/// Whether DynamoDB can store it: not nested too deeply, and without an empty name.
fn storable(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(list) => depth < 31 && list.iter().all(|value| storable(value, depth + 1)),
        Value::Object(map) => {
            depth < 31 && map.iter().all(|(name, value)| !name.is_empty() && storable(value, depth + 1))
        }
        _ => true,
    }
}

fn attribute(value: &Value) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Null(true),
        Value::Bool(truth) => AttributeValue::Bool(*truth),
        Value::Number(number) => AttributeValue::N(number.to_string()),
        Value::String(text) => s(text),
        Value::Array(list) => AttributeValue::L(list.iter().map(attribute).collect()),
        Value::Object(map) => {
            AttributeValue::M(map.iter().map(|(name, value)| (name.clone(), attribute(value))).collect())
        }
    }
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn now() -> Result<String, Failure> {
    Ok(OffsetDateTime::now_utc().format(&Rfc3339)?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn answer(status: u16, body: &Value) -> Result<Response<Body>, Failure> {
    Ok(Response::builder().status(status).header("content-type", "application/json").body(body.to_string().into())?)
}
