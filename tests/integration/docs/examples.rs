//! docs/clients.md shows the programs of docs/examples as they are, which `.ci/run clients` runs.
//! What the pages have in YAML or JSON can be parsed.

use serde_json::Value;

use crate::support::page::{Page, root};

#[test]
fn every_example_stands_on_the_page_as_it_is() {
    let page = Page::read("docs/clients.md");
    let files = std::fs::read_dir(root().join("docs/examples")).unwrap();
    let mut shown = 0;
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let has = page.text.contains(&format!("\n{text}```\n"));
        assert!(has, "docs/clients.md does not show {name} as it is");
        assert!(page.text.contains(&format!("(examples/{name})")));
        shown += 1;
    }
    assert!(shown >= 5, "only {shown} examples");
}

#[test]
fn every_yaml_block_of_the_pages_is_yaml() {
    let mut count = 0;
    for page in Page::all() {
        for block in page.blocks("yaml") {
            let parsed = emulator::yaml::parse(block);
            assert!(parsed.is_ok(), "{}: {parsed:?}\n{block}", page.path);
            count += 1;
        }
    }
    assert!(count >= 1, "no page has YAML");
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
