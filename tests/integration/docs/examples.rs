//! The pages name the programs of docs/examples, and docs/local.md shows the shortest as it is. The
//! YAML of the examples and the JSON of the pages can be parsed.

use model::limits::MAX_BODY_BYTES;
use serde_json::Value;

use crate::support::page::{Page, root};

fn example(name: &str) -> String {
    std::fs::read_to_string(root().join("docs/examples").join(name)).unwrap()
}

#[test]
fn every_example_is_named_on_a_page() {
    let pages = Page::all();
    let files = std::fs::read_dir(root().join("docs/examples")).unwrap();
    let mut count = 0;
    for file in files {
        let name = file.unwrap().file_name().into_string().unwrap();
        let link = format!("(examples/{name})");
        assert!(pages.iter().any(|page| page.text.contains(&link)), "{name}");
        count += 1;
    }
    assert!(count >= 5, "only {count} examples");
}

#[test]
fn example_that_the_page_shows_stands_there_as_it_is() {
    let page = Page::read("docs/local.md");
    let shown = format!("\n{}```\n", example("test.sh"));
    assert!(page.text.contains(&shown));
}

#[test]
fn limit_of_the_retry_recipes_is_that_of_the_service() {
    let mebibytes = MAX_BODY_BYTES / (1024 * 1024);
    let limit = format!("MAX_BODY_BYTES = {mebibytes} * 1024 * 1024");
    for name in ["retry.mts", "retry.py"] {
        assert!(example(name).contains(&limit), "{name}");
    }
}

#[test]
fn workflow_of_the_examples_is_yaml() {
    let parsed = emulator::yaml::parse(&example("client-tests.yml"));
    assert!(parsed.is_ok(), "{parsed:?}");
}

#[test]
fn every_json_block_of_the_pages_is_json() {
    let mut count = 0;
    for page in Page::all() {
        for block in page.blocks("json") {
            let parsed: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(block)
                .into_iter()
                .collect();
            assert!(parsed.is_ok(), "{}: {parsed:?}\n{block}", page.path);
            count += 1;
        }
    }
    assert!(count >= 5, "only {count} blocks");
}
