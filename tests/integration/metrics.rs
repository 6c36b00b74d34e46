//! The metrics that the alarms and the dashboard read are metrics that a function or a metric
//! filter writes.
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use service::telemetry::metric::{FUNCTION, NAMESPACE, REASON};
use signals::signals_metrics::CODE;

use crate::support::template::read_template;

const TEMPLATES: [&str; 3] = [
    "template.yaml",
    "deploy/monitoring.yaml",
    "delivery/template.yaml",
];

/// A metric that an alarm or a widget of the dashboard reads.
#[derive(Debug)]
struct MetricRead {
    name: String,
    /// The names of its dimensions.
    dimensions: Vec<String>,
    /// The logical ids of the functions that it is read of; none for that of a metric filter.
    functions: BTreeSet<String>,
}

/// Every object anywhere in `value`.
fn objects(value: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(values) => rest.extend(values),
            Value::Object(members) => {
                found.push(value);
                rest.extend(members.values());
            }
            _ => {}
        }
    }
    found
}

/// A text, or what `Fn::Sub` makes its text of.
fn text(value: &Value) -> String {
    let text = value.get("Fn::Sub").unwrap_or(value);
    text.as_str().unwrap().to_owned()
}

/// The logical ids that `value` refers to.
fn references(value: &Value) -> BTreeSet<String> {
    objects(value)
        .into_iter()
        .filter_map(|object| object.get("Ref"))
        .map(text)
        .collect()
}

/// The names in the placeholders `${name}` of `text`.
fn placeholders(text: &str) -> BTreeSet<String> {
    text.split("${")
        .skip(1)
        .map(|rest| rest.split('}').next().unwrap().to_owned())
        .collect()
}

/// The metrics of ours that the alarms of a template read.
fn read_by_alarms(template: &Value) -> Vec<MetricRead> {
    let mut read = Vec::new();
    for object in objects(template) {
        if object.get("Namespace") != Some(&NAMESPACE.into()) {
            continue;
        }
        let dimensions = match object.get("Dimensions") {
            Some(dimensions) => dimensions.as_array().unwrap().as_slice(),
            None => &[],
        };
        read.push(MetricRead {
            name: text(&object["MetricName"]),
            dimensions: dimensions
                .iter()
                .map(|dimension| text(&dimension["Name"]))
                .collect(),
            functions: dimensions
                .iter()
                .flat_map(|dimension| references(&dimension["Value"]))
                .collect(),
        });
    }
    read
}

/// The metrics of ours that the widgets of the dashboard read.
fn read_by_dashboard() -> Vec<MetricRead> {
    let template = read_template("deploy/monitoring.yaml");
    let body = &template["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"];
    let mut dashboard = body[0].as_str().unwrap().to_owned();
    // The alarms that a parameter can add.
    for (name, value) in body[1].as_object().unwrap() {
        let placeholder = format!("${{{name}}}");
        dashboard = dashboard.replace(&placeholder, &text(&value["Fn::If"][1]));
    }
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let mut read = Vec::new();
    for object in objects(&dashboard) {
        let Some(metrics) = object.get("metrics").and_then(Value::as_array) else {
            continue;
        };
        for metric in metrics {
            if metric[0] == NAMESPACE {
                read.push(metric_of_widget(metric));
            } else if let Some(expression) = metric[0]["expression"].as_str()
                && let Some(search) = expression.strip_prefix("SEARCH('{Intake,")
            {
                read.push(metric_of_search(search));
            }
        }
    }
    read
}

/// `["Intake", name, dimension, value, …, {options}]`
fn metric_of_widget(metric: &Value) -> MetricRead {
    let words: Vec<&str> = metric
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let dimensions = words[2..].chunks(2);
    MetricRead {
        name: words[1].to_owned(),
        dimensions: dimensions
            .clone()
            .map(|dimension| dimension[0].to_owned())
            .collect(),
        functions: dimensions
            .flat_map(|dimension| placeholders(dimension[1]))
            .collect(),
    }
}

/// `dimension,dimension} MetricName="name" dimension="value"…`
fn metric_of_search(search: &str) -> MetricRead {
    let (dimensions, condition) = search.split_once('}').unwrap();
    let (_, name) = condition.split_once("MetricName=\"").unwrap();
    MetricRead {
        name: name.split('"').next().unwrap().to_owned(),
        dimensions: dimensions.split(',').map(str::to_owned).collect(),
        functions: placeholders(condition),
    }
}

/// The names of the metrics that each function writes, by its logical id.
fn written_by_functions() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let of_service = service::telemetry::metric::RequestMetric::ALL
        .iter()
        .map(|metric| metric.name());
    let of_customers = customers::customers_metrics::CustomersMetric::ALL
        .iter()
        .map(|metric| metric.name());
    let of_signals = signals::signals_metrics::SignalsMetric::ALL
        .iter()
        .map(|metric| metric.name());
    let of_overflow = overflow::drain_metrics::DrainMetric::ALL
        .iter()
        .map(|metric| metric.name());
    let of_delivery: BTreeSet<_> = deliver::delivery_metrics::DeliveryMetric::ALL
        .iter()
        .map(|metric| metric.name())
        .collect();
    BTreeMap::from([
        (
            "CustomersFunction",
            of_service.clone().chain(of_customers).collect(),
        ),
        ("SignalsFunction", of_service.chain(of_signals).collect()),
        ("OverflowFunction", of_overflow.collect()),
        ("BusFunction", of_delivery.clone()),
        ("LakeFunction", of_delivery),
    ])
}

/// The names of the metrics that the metric filters of the access log write.
fn written_by_filters() -> BTreeSet<String> {
    let template = read_template("deploy/monitoring.yaml");
    objects(&template)
        .into_iter()
        .filter(|object| object.get("MetricNamespace") == Some(&NAMESPACE.into()))
        .map(|transformation| text(&transformation["MetricName"]))
        .collect()
}

#[test]
fn metrics_of_alarms_and_dashboard_are_written_with_their_dimensions() {
    let by_functions = written_by_functions();
    let by_filters = written_by_filters();
    assert_eq!(by_filters.len(), 2, "{by_filters:?}");
    let of_alarms: Vec<_> = TEMPLATES
        .into_iter()
        .flat_map(|path| read_by_alarms(&read_template(path)))
        .collect();
    let of_dashboard = read_by_dashboard();
    assert!(of_alarms.len() > 12, "{of_alarms:#?}");
    assert!(of_dashboard.len() > 25, "{of_dashboard:#?}");
    let read: Vec<_> = of_alarms.into_iter().chain(of_dashboard).collect();
    for metric in &read {
        let name = metric.name.as_str();
        if by_filters.contains(name) {
            assert!(metric.dimensions.is_empty(), "{metric:?}");
            continue;
        }
        let dimensions: Vec<&str> = metric.dimensions.iter().map(String::as_str).collect();
        let is_written = match name {
            "Unauthorized" => dimensions == [FUNCTION] || dimensions == [FUNCTION, REASON],
            "SignalsRejected" => dimensions == [FUNCTION] || dimensions == [FUNCTION, CODE],
            _ => dimensions == [FUNCTION],
        };
        assert!(
            is_written,
            "no function writes these dimensions: {metric:?}"
        );
        assert!(!metric.functions.is_empty(), "{metric:?}");
        for function in &metric.functions {
            // The delivery has the functions of the other template by parameters.
            let logical_id = function.strip_suffix("Name").unwrap_or(function);
            assert!(
                by_functions[logical_id].contains(name),
                "{function} does not write {name}"
            );
        }
    }
    for name in by_filters {
        assert!(
            read.iter().any(|metric| metric.name == name),
            "no alarm and no widget reads {name}"
        );
    }
}
