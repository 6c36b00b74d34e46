//! docs/clients.md shows the programs of docs/examples as they are, which `.ci/run clients` runs.

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
