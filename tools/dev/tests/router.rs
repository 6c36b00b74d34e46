//! The metadata for cargo-lambda in Cargo.toml equals template.yaml.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "the helpers of tests fail like tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use emulator::Template;
use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn lambda_metadata() -> Value {
    let cargo = std::env::var_os("CARGO").expect("cargo runs the tests");
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["metadata"]["lambda"].clone()
}

fn template() -> Template {
    Template::read(format!("{ROOT}/template.yaml").as_ref()).unwrap()
}

#[test]
fn cargo_lambda_router_has_the_routes_of_the_template() {
    let mut routes = BTreeMap::new();
    for function in template().functions {
        for route in function.routes {
            assert_eq!(route.method, "ANY", "the router of cargo-lambda ignores the method");
            routes.insert(route.path, function.package.clone());
        }
    }
    assert_eq!(lambda_metadata()["watch"]["router"], json!(routes));
}

#[test]
fn cargo_lambda_builds_only_the_functions_of_the_templates() {
    // Those that the local stack leaves out too.
    let mut packages = BTreeSet::new();
    for home in [ROOT.to_owned(), format!("{ROOT}/delivery")] {
        let template = std::fs::read_to_string(format!("{home}/template.yaml")).unwrap();
        for folder in template.lines().filter_map(|line| line.trim().strip_prefix("CodeUri: ")) {
            let manifest = std::fs::read_to_string(format!("{home}/{folder}/Cargo.toml")).unwrap();
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
            packages.insert(name.trim_matches('"').to_owned());
        }
    }
    assert_eq!(lambda_metadata()["build"]["packages"], json!(packages));
}
