//! The tables of docs/data-model.md are those of template.yaml.

use std::collections::BTreeSet;

use testkit::template;

use super::page;
use crate::support::page::root;

/// The attributes of a table that are its keys, and what DynamoDB does with its items.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TableKeys {
    table: String,
    partition_key: Option<String>,
    sort_key: Option<String>,
    time_to_live: Option<String>,
    stream: Option<String>,
}

#[test]
fn tables_keys_time_to_live_and_streams_are_those_of_the_template() {
    let name = |cell: &str| Some(cell.trim_matches('`').to_owned()).filter(|name| !name.is_empty());
    let text = std::fs::read_to_string(root().join("template.yaml")).unwrap();
    // The stream is left out of what the local stack reads.
    let stream_of = |logical_id: &str| {
        let resource = text
            .split(&format!("\n  {logical_id}:\n"))
            .nth(1)
            .unwrap()
            .split("\n\n")
            .next()
            .unwrap();
        resource
            .split("StreamViewType: ")
            .nth(1)
            .map(|rest| rest.lines().next().unwrap().to_owned())
    };
    let overview = page().text.split("\n| table |").nth(1).unwrap().to_owned();
    let rows = overview
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let documented: BTreeSet<_> = rows
        .map(|row| {
            row.split('|')
                .map(str::trim)
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .map(|row| TableKeys {
            table: row[0].clone(),
            partition_key: name(&row[1]),
            sort_key: name(&row[2]),
            time_to_live: name(&row[3]),
            stream: name(&row[4]),
        })
        .collect();
    let in_template: BTreeSet<_> = template()
        .tables
        .iter()
        .map(|table| {
            let schema = table.definition["KeySchema"].as_array().unwrap();
            let mut keys = schema
                .iter()
                .map(|key| key["AttributeName"].as_str().unwrap().to_owned());
            TableKeys {
                table: table.logical_id.strip_suffix("Table").unwrap().to_owned(),
                partition_key: keys.next(),
                sort_key: keys.next(),
                time_to_live: table.time_to_live_attribute.clone(),
                stream: stream_of(&table.logical_id),
            }
        })
        .collect();
    assert_eq!(documented, in_template);
}
