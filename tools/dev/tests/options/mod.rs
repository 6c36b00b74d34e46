//! The options of `cargo dev`: their variables, and the errors of values that cannot be used.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail like tests")]

use crate::workspace::{TestWorkspace, dev};

/// The options that the help lists, without their hyphens.
fn options_of_the_help() -> Vec<String> {
    let help = String::from_utf8(dev().arg("--help").output().unwrap().stdout).unwrap();
    let options = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--")?.split(' ').next());
    let options: Vec<_> = options.map(str::to_owned).collect();
    assert!(
        options.len() > 10 && options.contains(&"seed".to_owned()),
        "{options:?}"
    );
    options
}

fn variable_of(option: &str) -> String {
    format!("INTAKE_DEV_{}", option.to_uppercase().replace('-', "_"))
}

#[test]
fn variable_of_each_option_is_read() {
    for option in options_of_the_help() {
        // These take any path.
        if ["contracts", "data", "env-file"].contains(&option.as_str()) {
            continue;
        }
        let variable = variable_of(&option);
        let ended = dev().env(&variable, "no value of it").output().unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert!(
            text.starts_with(&format!(
                "error: invalid value 'no value of it' for '--{option}"
            )),
            "{variable}: {text}"
        );
    }
}

#[test]
fn empty_variable_is_an_option_that_is_not_given() {
    for option in options_of_the_help() {
        // The default of one of the ports is the other one: an error that comes after the options.
        let ports = if option == "port" {
            ["--dynamodb-port", "9000"]
        } else {
            ["--port", "8000"]
        };
        let ended = dev()
            .env(variable_of(&option), "")
            .args(ports)
            .output()
            .unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert!(
            text.starts_with("error: --port and --dynamodb-port are both "),
            "{option}: {text}"
        );
    }
}

#[test]
fn variable_has_several_values_between_commas_and_yields_to_its_option() {
    let error = |arguments: &[&str]| {
        let ended = dev()
            .env("INTAKE_DEV_HOST_NAME", "intake,http://stack")
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(ended.stderr).unwrap()
    };
    assert!(
        error(&[]).starts_with("error: invalid value 'http://stack' for '--host-name"),
        "{}",
        error(&[])
    );
    let of_option = error(&["--host-name", "intake:9000"]);
    assert!(
        of_option.starts_with("error: invalid value 'intake:9000' for '--host-name"),
        "{of_option}"
    );
}

#[test]
fn one_port_for_two_servers_is_an_error() {
    let ended = TestWorkspace::new().run(&["--port", "9123", "--dynamodb-port", "9123"]);
    assert_eq!(
        ended.error(),
        "error: --port and --dynamodb-port are both 9123: give two ports."
    );
}

#[test]
fn seed_without_a_share_is_an_error_that_names_the_shares() {
    let ended = dev().arg("--random-seed=7").output().unwrap();
    let text = String::from_utf8(ended.stderr).unwrap();
    assert!(
        text.contains("<--faults <SHARE>|--queue-faults <SHARE>|--answer <429|503|timeout:SHARE>>"),
        "{text}"
    );
}

#[test]
fn cors_option_without_a_configuration_is_an_error() {
    let workspace = TestWorkspace::new();
    let template = workspace.read("template.yaml");
    workspace.write(
        "template.yaml",
        &template.replace("CorsConfiguration:", "Another:"),
    );
    let ended = workspace.run(&["--cors", "http://localhost:3000"]);
    assert_eq!(
        ended.error(),
        "error: --cors needs a CorsConfiguration in template.yaml, and there is none."
    );
}

#[test]
fn data_file_in_a_folder_that_does_not_exist_is_an_error() {
    let error = TestWorkspace::new()
        .run(&["--data", "target/new/dev.sqlite"])
        .error();
    assert!(
        error.starts_with("error: Cannot use the data file ")
            && error.ends_with("/target/new does not exist."),
        "{error}"
    );
}

#[test]
fn event_contract_that_cannot_be_used_is_an_error_with_its_file() {
    let workspace = TestWorkspace::new();
    workspace.append("agreed/purchase.json", r#"{"requried": []}"#);
    let error = workspace.run(&["--contracts", "agreed"]).error();
    let expected =
        "error: --contracts cannot be used: agreed/purchase.json is not a JSON Schema: at \"\": ";
    assert!(error.starts_with(expected), "{error}");
    let missing = workspace.run(&["--contracts", "missing"]).error();
    let expected = "error: --contracts cannot be used: Cannot read the folder missing: ";
    assert!(missing.starts_with(expected), "{missing}");
}

#[test]
fn folder_without_an_event_contract_is_an_error() {
    let workspace = TestWorkspace::new();
    workspace.append("agreed/README.md", "");
    let error = workspace.run(&["--contracts", "agreed"]).error();
    assert_eq!(
        error,
        "error: --contracts cannot be used: agreed has no contract: a file TYPE.json for each type."
    );
}
