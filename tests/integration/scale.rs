//! docs/scale.md has the figures of the simulation, and the simulation those of template.yaml.

use scale::page::{read, updated};
use scale::scenario;

use crate::page::root;

#[test]
fn page_has_the_figures_of_a_new_run() {
    let page = read(&root(), "docs/scale.md").unwrap();
    let new = updated(&page, &read(&root(), "docs/operations.md").unwrap()).unwrap();
    for (line, new_line) in page.lines().zip(new.lines()) {
        assert_eq!(line, new_line, "`cargo run --locked --bin scale -- --accept` updates the page");
    }
    assert_eq!(page, new);
}

#[test]
fn scenarios_have_the_drains_of_the_template() {
    let template = read(&root(), "template.yaml").unwrap();
    for scenario in scenario::all().into_iter().chain(scenario::long()) {
        let (drains, messages, timeout) = (scenario.drains, scenario.messages, scenario.visibility_timeout.as_secs());
        assert!(template.contains(&format!("ScalingConfig: {{MaximumConcurrency: {drains}}}\n")));
        assert!(template.contains(&format!(" BatchSize: {messages}\n")));
        assert!(template.contains(&format!(" VisibilityTimeout: {timeout}\n")));
    }
}
