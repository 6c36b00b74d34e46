//! The metadata for cargo-lambda in Cargo.toml equals template.yaml.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "the helpers of tests fail like tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use emulator::Template;
use serde_json::{Value, json};

use crate::workspace::{TestWorkspace, dev};

/// The variables of the env file that the functions do not read.
const FOR_CLIENTS: [&str; 4] = ["BASE_URL", "API_KEY", "ACCOUNT_ID", "INSPECTOR_URL"];

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
            assert_eq!(
                route.method, "ANY",
                "the router of cargo-lambda ignores the method"
            );
            routes.insert(route.path, function.package.clone());
        }
    }
    assert_eq!(lambda_metadata()["watch"]["router"], json!(routes));
}

#[test]
fn cargo_lambda_environment_is_that_of_cargo_dev_on_its_default_ports() {
    let workspace = TestWorkspace::new();
    let mut running = workspace.start(&[]);
    running.wait_for_line("Intake is running");
    let env_file = workspace.read("target/dev.env");
    running.send_unix_signal("INT");
    running.end();
    let mut expected = BTreeMap::new();
    let mut endpoints = BTreeSet::new();
    for (name, value) in env_file.lines().filter_map(|line| line.split_once('=')) {
        if name.starts_with("AWS_ENDPOINT_URL_") {
            endpoints.insert(value);
        } else if !FOR_CLIENTS.contains(&name) {
            expected.insert(name, value);
        }
    }
    assert_eq!(endpoints.len(), 1, "{env_file}");
    let endpoint = format!("http://127.0.0.1:{}", dev_default("--dynamodb-port"));
    expected.extend([
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        // Of the delivery, whose template the local stack does not read.
        ("EVENT_BUS_NAME", "none"),
        ("FAILURE_BUCKET_NAME", "none"),
    ]);
    assert_eq!(lambda_metadata()["watch"]["env"], json!(expected));
}

/// The default that `cargo dev --help` shows for an option.
fn dev_default(option: &str) -> String {
    let help = dev().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let after = help
        .split_once(option)
        .unwrap()
        .1
        .split_once("[default: ")
        .unwrap()
        .1;
    after.split_once(']').unwrap().0.to_owned()
}

#[test]
fn cargo_lambda_builds_only_the_functions_of_the_templates() {
    // Those that the local stack leaves out too.
    let mut packages = BTreeSet::new();
    for home in [ROOT.to_owned(), format!("{ROOT}/delivery")] {
        let template = std::fs::read_to_string(format!("{home}/template.yaml")).unwrap();
        for folder in template
            .lines()
            .filter_map(|line| line.trim().strip_prefix("CodeUri: "))
        {
            let manifest = std::fs::read_to_string(format!("{home}/{folder}/Cargo.toml")).unwrap();
            let name = manifest
                .lines()
                .find_map(|line| line.strip_prefix("name = "))
                .unwrap();
            packages.insert(name.trim_matches('"').to_owned());
        }
    }
    assert_eq!(lambda_metadata()["build"]["packages"], json!(packages));
}
