//! The queries of docs/runbook.md, docs/operate.md and of the dashboard: each field that one reads is written to a
//! log.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{bytes, sent_requests};
use crate::support::page::{Page, root};

/// What Lambda's line of an invocation has ("Lambda Telemetry API Event schema reference",
/// platform.report).
const OF_LAMBDA: [&str; 4] = [
    "type",
    "record.metrics.maxMemoryUsedMB",
    "record.metrics.billedDurationMs",
    "record.metrics.initDurationMs",
];

/// Words of the two query languages.
const KEYWORDS: &str = "1h IS TRUE and as asc bin by count desc fields filter in ispresent like limit max or parse pct sort SOURCE \
    stats sum";

/// The fields that a query reads, without those that it makes itself.
fn fields(query: &str) -> BTreeSet<String> {
    let mut outside_of_quotes = String::new();
    let mut quote = None;
    for character in query.chars() {
        match quote {
            None if "\"'".contains(character) => quote = Some(character),
            None => outside_of_quotes.push(character),
            Some(open) if open == character => quote = None,
            Some(_) => {}
        }
    }
    let mut read = BTreeSet::new();
    let mut made = BTreeSet::new();
    for command in outside_of_quotes.split('|') {
        let words = command
            .split(|c: char| !(c.is_alphanumeric() || "@.".contains(c)))
            .map(|word| word.trim_matches('.'));
        let words = words.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '1'));
        // What follows "as" is a name that the query makes: one, or several after `parse`.
        let makes_several = command.contains("parse ");
        let mut follows_as = false;
        for word in words {
            if KEYWORDS.split_whitespace().any(|keyword| keyword == word) {
                follows_as = word == "as";
            } else if follows_as {
                made.insert(word.to_owned());
                follows_as = makes_several;
            } else {
                read.insert(word.to_owned());
            }
        }
    }
    read.difference(&made).cloned().collect()
}

#[test]
fn fields_of_a_query_are_those_that_it_reads() {
    let read = |query| fields(query).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(
        read(
            "fields @timestamp, path | filter a.b = \"x y\" and c >= 500 | sort @timestamp desc | limit 50"
        ),
        "a.b c path"
    );
    assert_eq!(
        read(
            "parse @message '*/* \"*\"' as id, path | filter path in ['-'] | stats count(*) as n by d | sort n"
        ),
        "d"
    );
    assert_eq!(read("{ $.requestId = \"ID\" }"), "requestId");
}

/// The queries on a page, in code blocks and within sentences.
fn queries(page: &Page) -> Vec<String> {
    let blocks = page.text.split("```").skip(1).step_by(2);
    let in_text = page
        .text
        .split("```")
        .step_by(2)
        .flat_map(|text| text.split('`').skip(1).step_by(2));
    let is_query = |text: &&str| {
        ["fields ", "filter ", "parse "]
            .iter()
            .any(|begin| text.trim_start().starts_with(begin))
    };
    let patterns = page
        .text
        .split("--filter-pattern '")
        .skip(1)
        .filter_map(|rest| rest.split('\'').next());
    let patterns = patterns.filter(|pattern| pattern.starts_with('{'));
    blocks
        .chain(in_text)
        .filter(is_query)
        .chain(patterns)
        .map(|query| query.replace("\\|", "|"))
        .collect()
}

/// The names of the fields that the functions, the metrics and Lambda write to the logs.
async fn written_fields() -> BTreeSet<String> {
    let (_, log) = sent_requests().await;
    let of_process = bytes::lines("signals", |_| Vec::new()).await;
    let mut written = BTreeSet::new();
    for line in log.lines().map(str::to_owned).chain(of_process) {
        let line: Value = serde_json::from_str(&line).unwrap();
        written.extend(line.as_object().unwrap().keys().cloned());
    }
    written.extend(names_of_metrics().into_iter().map(str::to_owned));
    written.extend(OF_LAMBDA.map(str::to_owned));
    written
}

fn names_of_metrics() -> Vec<&'static str> {
    let service = service::telemetry::metric::RequestMetric::ALL.iter();
    let mut names: Vec<_> = service.map(|metric| metric.name()).collect();
    let customers = customers::customers_metrics::CustomersMetric::ALL.iter();
    names.extend(customers.map(|metric| metric.name()));
    let signals = signals::signals_metrics::SignalsMetric::ALL.iter();
    names.extend(signals.map(|metric| metric.name()));
    let overflow = overflow::drain_metrics::DrainMetric::ALL.iter();
    names.extend(overflow.map(|metric| metric.name()));
    names
}

/// The queries of the dashboard in deploy/monitoring.yaml, without the log groups that they read.
fn queries_of_dashboard() -> Vec<String> {
    let monitoring = std::fs::read_to_string(root().join("deploy/monitoring.yaml")).unwrap();
    let mut queries = Vec::new();
    for rest in monitoring.split("\"query\":\"").skip(1) {
        let query = rest.split("\"}}").next().unwrap().replace("\\\"", "\"");
        let parts = query.split('|').filter(|part| !part.contains("SOURCE"));
        queries.push(parts.collect::<Vec<_>>().join("|"));
    }
    queries
}

#[tokio::test]
async fn every_field_that_a_query_or_the_page_names_is_written_to_a_log() {
    let written = written_fields().await;
    let page = Page::read("docs/runbook.md");
    let mut all = queries(&page);
    all.extend(queries(&Page::read("docs/operate.md")));
    all.extend(queries_of_dashboard());
    assert!(all.len() > 6, "{all:?}");
    for query in all {
        let missing: Vec<_> = fields(&query)
            .into_iter()
            .filter(|field| !written.contains(field))
            .collect();
        assert!(missing.is_empty(), "no line has {missing:?}: {query}");
    }
    for row in page.table("Find out why a request failed", "field") {
        for field in row[0].split('`').skip(1).step_by(2) {
            assert!(written.contains(field), "no line has {field}");
        }
    }
}
