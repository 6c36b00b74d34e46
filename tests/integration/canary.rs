//! A version that cannot store raises `DefectsAlarm`, which rolls a gradual deployment back, and nothing that
//! a client sends or that AWS suffers does: shown with the processes' own metrics and the expressions of
//! the alarm.
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

use std::collections::BTreeMap;

use futures_util::future::join_all;
use harness::fault_proxy::{Fault, FaultProxy, Plan, Rule};
use harness::function_process::FunctionProcess;
use harness::{
    RequestBuilder, TestApp, build_functions, create_keys_with_snapshot, emulator_options,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::support::requests::{customer, request_with_identifier};
use crate::support::template::read_template;

/// A process, what is wrong with it or its AWS, and the request that it gets.
struct Case {
    program: &'static str,
    /// A variable with a wrong value.
    variable: Option<&'static str>,
    plan: Plan,
    request: RequestBuilder,
    requests: usize,
    /// The statuses that the client may get.
    statuses: &'static [u64],
}

impl Case {
    fn new(program: &'static str, statuses: &'static [u64]) -> Self {
        let request = match program {
            "customers" => customer(),
            _ => request_with_identifier(2),
        };
        Self {
            program,
            variable: None,
            plan: Plan::none(),
            request,
            requests: 4,
            statuses,
        }
    }

    fn with_plan(self, plan: impl Into<Plan>) -> Self {
        Self {
            plan: plan.into(),
            ..self
        }
    }

    fn with_wrong(self, variable: &'static str) -> Self {
        Self {
            variable: Some(variable),
            ..self
        }
    }

    fn with_request(self, request: RequestBuilder) -> Self {
        Self { request, ..self }
    }

    /// Sends the requests to a process, and returns what the alarm makes of its metrics.
    async fn alarm_value(self) -> f64 {
        let app = TestApp::start();
        let proxy = FaultProxy::start(&app.emulator.endpoint(), Plan::none())
            .await
            .unwrap();
        let accounts = ["shop".to_owned()];
        let keys = create_keys_with_snapshot(&app.emulator.endpoint(), &app.s3, &accounts).await;
        let programs = build_functions().unwrap();
        let program = programs.join(self.program);
        let mut options = emulator_options(&program, &proxy.endpoint(), &app.sqs, &app.s3);
        if let Some(variable) = self.variable {
            options
                .variables
                .push((variable.to_owned(), "nowhere".into()));
        }
        let (log, lines) = tokio::sync::mpsc::unbounded_channel();
        options.log = Some(log);
        let mut process = FunctionProcess::start(&options).await.unwrap();
        // The log ends with the last of its senders.
        drop(options);
        process.idle().await.unwrap();
        proxy.set(self.plan);
        for _ in 0..self.requests {
            let event = self.request.clone().key(&keys[0]).event();
            let response = process.invoke(event).await.unwrap().json();
            let status = response["statusCode"].as_u64().unwrap();
            assert!(self.statuses.contains(&status), "{response}");
        }
        process.kill().await.unwrap();
        alarm_value(self.program, &sums_of_metrics(lines).await)
    }
}

/// The sum of each metric that a process wrote.
async fn sums_of_metrics(mut lines: UnboundedReceiver<String>) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    while let Some(line) = lines.recv().await {
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        let directives = line["_aws"]["CloudWatchMetrics"].as_array();
        for directive in directives.into_iter().flatten() {
            if directive["Dimensions"] != json!([["FunctionName"]]) {
                continue;
            }
            for metric in directive["Metrics"].as_array().unwrap() {
                let name = metric["Name"].as_str().unwrap();
                *sums.entry(name.to_owned()).or_default() += line[name].as_f64().unwrap();
            }
        }
    }
    sums
}

/// What `DefectsAlarm` makes of the metrics of one function in a minute.
fn alarm_value(program: &str, sums: &BTreeMap<String, f64>) -> f64 {
    let template = read_template("template.yaml");
    let queries = template["Resources"]["DefectsAlarm"]["Properties"]["Metrics"]
        .as_array()
        .unwrap();
    let function = format!("{}Function", capitalized(program));
    let mut values = BTreeMap::new();
    for query in queries {
        let metric = &query["MetricStat"]["Metric"];
        let is_of_function = metric["Dimensions"][0]["Value"]["Ref"] == function.as_str();
        if is_of_function && metric["Namespace"] == "Intake" {
            let sum = sums.get(metric["MetricName"].as_str().unwrap());
            values.insert(query["Id"].as_str().unwrap(), sum.copied().unwrap_or(0.0));
        }
    }
    // The last expression is the first one of the template, which reads the others.
    let mut watched = 0.0;
    for query in queries.iter().rev() {
        if let Some(expression) = query["Expression"].as_str() {
            watched = evaluated(expression, &values);
            values.insert(query["Id"].as_str().unwrap(), watched);
        }
    }
    watched
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

/// What an expression of the form `SUM([a, b])` or `IF(SUM([a, b]) >= n, yes, no)` makes of these values. A
/// metric without one does not count.
fn evaluated(expression: &str, values: &BTreeMap<&str, f64>) -> f64 {
    if let Some(condition) = expression.strip_prefix("IF(") {
        let (sum, rest) = condition.split_once(" >= ").unwrap();
        let numbers = rest.strip_suffix(')').unwrap().split(", ");
        let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
        let is_reached = evaluated(sum, values) >= numbers[0];
        return if is_reached { numbers[1] } else { numbers[2] };
    }
    let ids = expression.strip_prefix("SUM([").unwrap();
    let ids = ids.strip_suffix("])").unwrap().split(", ");
    ids.filter_map(|id| values.get(id)).sum()
}

const DENIED: Fault = Fault::Refused("AccessDeniedException");

fn invalid_signals() -> RequestBuilder {
    RequestBuilder::signals(json!({"signals": [
        {"customerId": "c", "eventType": "t"},
        {"customerId": "", "eventType": "t"},
    ]}))
}

#[tokio::test(flavor = "multi_thread")]
async fn version_or_configuration_that_cannot_store_raises_the_alarm_within_four_requests() {
    let wrong_expression = Fault::Refused("ValidationException");
    let customers = || Case::new("customers", &[200]);
    let signals = || Case::new("signals", &[200]);
    let cases = [
        // What is written is refused.
        Case::new("customers", &[400])
            .with_plan(wrong_expression.always().for_operation("UpdateItem")),
        Case::new("signals", &[400])
            .with_plan(wrong_expression.always().for_operation("BatchWriteItem")),
        Case::new("signals", &[500]).with_plan(wrong_expression.always().for_operation("PutItem")),
        Case::new("signals", &[400]).with_plan(
            Fault::Refused("SerializationException")
                .always()
                .for_operation("BatchWriteItem"),
        ),
        signals().with_plan(wrong_expression.always().for_operation("GetItem")),
        // A name is wrong.
        customers().with_wrong("API_KEYS_TABLE"),
        customers().with_wrong("CUSTOMERS_TABLE"),
        signals().with_wrong("API_KEYS_TABLE"),
        signals().with_wrong("SIGNALS_TABLE"),
        signals().with_wrong("IDEMPOTENCY_TABLE"),
        signals()
            .with_wrong("REJECTED_SIGNALS_TABLE")
            .with_request(invalid_signals()),
        // The role may not do something.
        signals().with_plan(DENIED.always().for_operation("BatchWriteItem")),
        signals().with_plan(Fault::Refused("KMSDisabledException").always()),
    ];
    for (number, value) in values_of(cases).await.into_iter().enumerate() {
        assert!(value >= 1.0, "case {number}: {value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn outage_and_what_clients_send_raise_no_alarm() {
    let customers = || Case::new("customers", &[200]);
    let signals = || Case::new("signals", &[200]);
    let not_json = RequestBuilder::signals("{");
    let mut cases = vec![
        customers().with_request(RequestBuilder::customer(json!({"customerId": ""}))),
        signals().with_request(invalid_signals()),
        signals().with_request(not_json),
    ];
    for case in &mut cases {
        case.statuses = &[200, 400];
    }
    for (program, write) in [("customers", "UpdateItem"), ("signals", "BatchWriteItem")] {
        let faulted = |rule: Rule| Case::new(program, &[200, 400]).with_plan(rule);
        cases.extend([
            faulted(Fault::InternalServerError.always()),
            // A proxy responds, perhaps for what is in the call.
            faulted(Fault::Status(403).always()),
            faulted(Fault::Status(413).always().for_operation(write)),
            // The role of a new process is not known everywhere yet.
            faulted(DENIED.on_calls(1..3).for_operation(write)),
            faulted(DENIED.on_calls(1..3).for_operation("GetItem")),
            // The process ends after this request, and the next one has new credentials.
            Case {
                requests: 1,
                ..faulted(Fault::Refused("ExpiredTokenException").always())
            },
        ]);
    }
    for (number, value) in values_of(cases).await.into_iter().enumerate() {
        assert!(value == 0.0, "case {number}: {value}");
    }
}

async fn values_of(cases: impl IntoIterator<Item = Case>) -> Vec<f64> {
    join_all(cases.into_iter().map(Case::alarm_value)).await
}
