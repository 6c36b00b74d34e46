//! The tables of docs/data-model.md are those of template.yaml.

use std::collections::BTreeSet;

use harness::template;

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
    assert_eq!(documented_tables(), tables_of_template());
}

/// The rows of the first table of the page.
fn documented_tables() -> BTreeSet<TableKeys> {
    let name = |cell: &str| Some(cell.trim_matches('`').to_owned()).filter(|name| !name.is_empty());
    let page = page();
    let overview = page.text.split("\n| table |").nth(1).unwrap();
    let mut tables = BTreeSet::new();
    for row in overview
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
    {
        let cells: Vec<_> = row.split('|').map(str::trim).skip(1).collect();
        tables.insert(TableKeys {
            table: cells[0].to_owned(),
            partition_key: name(cells[1]),
            sort_key: name(cells[2]),
            time_to_live: name(cells[3]),
            stream: name(cells[4]),
        });
    }
    tables
}

fn tables_of_template() -> BTreeSet<TableKeys> {
    let text = std::fs::read_to_string(root().join("template.yaml")).unwrap();
    let mut tables = BTreeSet::new();
    for table in &template().tables {
        let schema = table.definition["KeySchema"].as_array().unwrap();
        let mut keys = schema
            .iter()
            .map(|key| key["AttributeName"].as_str().unwrap().to_owned());
        tables.insert(TableKeys {
            table: table.logical_id.strip_suffix("Table").unwrap().to_owned(),
            partition_key: keys.next(),
            sort_key: keys.next(),
            time_to_live: table.time_to_live_attribute.clone(),
            stream: stream_of(&text, &table.logical_id),
        });
    }
    tables
}

/// What the stream of a table has, by the text of template.yaml. The local stack does not read it.
fn stream_of(template: &str, logical_id: &str) -> Option<String> {
    let begin = format!("\n  {logical_id}:\n");
    let (_, rest) = template.split_once(&begin).unwrap();
    let resource = rest.split("\n\n").next().unwrap();
    let (_, view_type) = resource.split_once("StreamViewType: ")?;
    view_type.lines().next().map(str::to_owned)
}
