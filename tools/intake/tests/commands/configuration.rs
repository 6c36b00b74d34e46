//! How the command finds the tables and queues: variables, an env file, or the outputs of a stack.

use std::net::TcpListener;
use std::path::Path;

use emulator::sqs::FakeSqs;
use harness::fault_proxy::{Fault, FaultProxy};
use harness::{TestApp, table_name};

use crate::support::fake_aws::run_at_aws;
use crate::support::operator::{Operator, install};

#[test]
fn missing_credentials_or_table_is_an_error() {
    let app = TestApp::start();
    let list = ["keys", "list"];
    let region = Operator::with_nothing().variable("AWS_REGION", "eu-central-1");
    assert!(
        region
            .run(&list)
            .error_message()
            .starts_with("No AWS credentials. Sign in")
    );
    let endpoint = app.emulator.endpoint();
    let no_names = Operator::with_credentials(&endpoint)
        .run(&list)
        .error_message();
    assert!(
        no_names.contains("does not define API_KEYS_TABLE"),
        "{no_names}"
    );
    let no_table = Operator::with_credentials(&endpoint)
        .variable("API_KEYS_TABLE", "elsewhere")
        .run(&list)
        .error_message();
    assert!(
        no_table.starts_with("Table elsewhere: it does not exist in this region"),
        "{no_table}"
    );
    // No process listens on this port.
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let unreachable = Operator::with_credentials(&format!("http://{closed}"))
        .variable("API_KEYS_TABLE", "t")
        .run(&list)
        .error_message();
    assert!(
        unreachable.starts_with("Table t: cannot reach DynamoDB."),
        "{unreachable}"
    );
}

#[test]
fn command_for_the_local_stack_without_its_env_file_is_an_error() {
    let operator = Operator::with_nothing();
    let error = |arguments: &[&str]| operator.run(arguments).error_message();
    let none = error(&["--local", "keys", "list"]);
    assert!(none.starts_with("No local stack is running"), "{none}");
    let missing = error(&["--local=x.env", "keys", "list"]);
    assert!(missing.starts_with("Cannot read x.env"), "{missing}");
    // With --local, the account is that of the stack, so the error is about the stack.
    let without_account = error(&["--local", "rejected", "list"]);
    assert!(
        without_account.starts_with("No local stack is running"),
        "{without_account}"
    );
}

#[test]
fn local_that_is_no_option_names_no_stack() {
    let operator = Operator::with_nothing();
    std::fs::create_dir_all(operator.home.path().join("target")).unwrap();
    operator.file("target/dev.env", "ACCOUNT_ID=dev\n");
    let erase = ["signals", "erase", "--type", "--local"];
    let period = ["--since", "2d", "--until", "1d"];
    for command in [
        &["customers", "show", "--", "--local"][..],
        &[&erase[..], &period].concat(),
    ] {
        let ended = operator.run(command);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("--account <NAME>"), "{ended:?}");
    }
}

#[tokio::test]
async fn retention_of_any_number_of_days_is_taken() {
    let app = TestApp::start();
    let days = u64::MAX.to_string();
    let operator = Operator::new(&app).variable("SIGNAL_RETENTION_DAYS", &days);
    let redrive = "rejected redrive --account shop --since 1d".split(' ');
    operator.run(&redrive.collect::<Vec<_>>()).success();
}

#[test]
fn env_file_of_a_stack_that_was_killed_is_an_error_with_its_address() {
    let operator = Operator::with_nothing();
    operator.file(
        "dev.env",
        "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1\nAWS_REGION=x\nAWS_ACCESS_KEY_ID=x\nAWS_SECRET_ACCESS_KEY=x\n\
         API_KEYS_TABLE=x\n",
    );
    for command in [&["keys", "list"][..], &["overflow", "status"]] {
        let ended = operator.run(&[&["--local=dev.env"][..], command].concat());
        assert_eq!(
            ended.error_message(),
            "The local stack of dev.env is not running: nothing listens at 127.0.0.1:1. Start it with `cargo dev` or \
             `./dev`."
        );
    }
}

#[test]
fn env_file_is_found_from_any_folder_of_the_repository() {
    let app = TestApp::start();
    let operator = Operator::with_nothing();
    std::fs::create_dir_all(operator.home.path().join("target")).unwrap();
    std::fs::create_dir_all(operator.home.path().join("a/b")).unwrap();
    operator.file("target/dev.env", "API_KEYS_TABLE=x\n");
    assert!(
        operator
            .run(&["--local", "keys", "list"])
            .error_message()
            .contains("does not define AWS_ACCESS_KEY_ID")
    );
    let variables = format!(
        "AWS_ENDPOINT_URL_DYNAMODB={}\nAWS_REGION=eu-central-1\nAWS_ACCESS_KEY_ID=local\nAWS_SECRET_ACCESS_KEY=local\n\
         API_KEYS_TABLE={}\nAWS_ENDPOINT_URL_S3={}\nKEY_SNAPSHOT_BUCKET=keys\n",
        app.emulator.endpoint(),
        table_name("ApiKeysTable"),
        app.s3.endpoint()
    );
    operator.file("target/dev.env", &variables);
    let mut command = operator.command(&[
        "keys",
        "create",
        "--local",
        "--account",
        "shop",
        "--name",
        "web",
    ]);
    let output = command
        .current_dir(operator.home.path().join("a/b"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_queues_and_retention_of_a_deployed_stack_are_read_from_its_outputs() {
    // --stack takes precedence over the variables, which name another table.
    let listed = run_at_aws(None, &["--stack", "intake-test", "keys", "list", "--json"])
        .await
        .success()
        .json();
    assert_eq!(listed[0]["keyId"], "key_1");
    let status = run_at_aws(None, &["overflow", "status", "--json"])
        .await
        .success()
        .json();
    assert_eq!(status[0]["waiting"], 3);
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../events/seed/signals.ndjson"
    );
    let import = [
        "import",
        "--account",
        "shop",
        "--received-at",
        "2026-01-01",
        file,
    ];
    let expired = run_at_aws(None, &import).await.error_message();
    assert!(
        expired.contains("signals expire after 30 days (SIGNAL_RETENTION_DAYS)"),
        "{expired}"
    );
    let unknown = run_at_aws(None, &["--stack", "elsewhere", "keys", "list"])
        .await
        .error_message();
    assert!(
        unknown.starts_with("The stack elsewhere does not exist in eu-central-1"),
        "{unknown}"
    );
}

fn help_of(operator: &Operator, command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let words = [words.as_slice(), &["--help"]].concat();
    operator.run(&words).success().stdout
}

/// The commands that do something, such as `keys create`, as the help of those above them lists
/// them. `help` and `completions` are clap's.
fn commands_under(operator: &Operator, command: &[String]) -> Vec<Vec<String>> {
    let help = help_of(operator, command);
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return vec![command.to_vec()];
    };
    let names = list
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !["", "help", "completions"].contains(name));
    names
        .flat_map(|name| commands_under(operator, &[command, &[name.to_owned()]].concat()))
        .collect()
}

#[test]
fn every_command_has_help_with_an_example() {
    let operator = Operator::with_nothing();
    let commands = commands_under(&operator, &[]);
    assert!(
        commands.len() > 20 && commands.contains(&vec!["keys".to_owned(), "create".to_owned()]),
        "{commands:?}"
    );
    for command in commands {
        let help = help_of(&operator, &command);
        let example = help.split("Example").nth(1).expect(&help);
        assert!(
            example.contains("cargo intake") && example.contains(&command.join(" ")),
            "{help}"
        );
        assert!(
            help.contains("--json") && help.contains("--stack"),
            "{help}"
        );
    }
    let completions = operator.run(&["completions", "bash"]).success().stdout;
    assert!(
        completions.contains("redrive") && completions.contains("--overlap"),
        "{completions}"
    );
    let invalid = operator.run(&["customers", "show", "c"]);
    assert!(
        invalid.code == Some(2) && invalid.stderr.contains("--account <NAME>"),
        "{invalid:?}"
    );
}

/// Whether a text is an abbreviated commit in parentheses. Where the sources are no repository, it
/// is to be empty.
fn is_commit(text: &str) -> bool {
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.git");
    let commit = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    match commit {
        Some(commit) => commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => text.is_empty() && !Path::new(repository).exists(),
    }
}

#[test]
fn program_calls_itself_as_the_operator_typed_it() {
    let operator = Operator::with_nothing();
    let folder = tempfile::tempdir().unwrap();
    let own = install(Path::new(env!("CARGO_BIN_EXE_intake")), folder.path());
    let says = |name: &str| {
        let help = operator
            .run_as(&own, &["keys", "create", "--help"])
            .success();
        let example = format!("  {name} --stack intake-prod keys create");
        assert!(help.stdout.contains(&example), "{}", help.stdout);
        let usage = format!("Usage: {name} keys create");
        assert!(help.stdout.contains(&usage), "{}", help.stdout);
        let version = operator.run_as(&own, &["--version"]).success().stdout;
        let expected = format!("{name} {}", env!("CARGO_PKG_VERSION"));
        let commit = version.strip_prefix(&expected);
        let is_commit = commit.is_some_and(|commit| is_commit(commit.trim()));
        assert!(is_commit, "{version:?}");
    };
    says("intake");
    std::fs::write(folder.path().join("template.yaml"), "").unwrap();
    says("./intake");
}

#[tokio::test(flavor = "multi_thread")]
async fn installed_program_prints_commands_with_its_installed_name() {
    let sqs = FakeSqs::start().await.unwrap();
    sqs.set_counts([[0, 0, 0]], [[2, 0, 0]]);
    let app = TestApp::start();
    let proxy = FaultProxy::start(
        &app.emulator.endpoint(),
        Fault::Refused("AccessDeniedException").always(),
    )
    .await
    .unwrap();
    let operator = Operator::new(&app)
        .with_queues(&sqs)
        .variable("AWS_ENDPOINT_URL_DYNAMODB", &proxy.endpoint());
    let folder = tempfile::tempdir().unwrap();
    let own = install(Path::new(env!("CARGO_BIN_EXE_intake")), folder.path());

    let redrive = ["overflow", "redrive", "--yes"];
    assert_eq!(
        operator.run_as(&own, &redrive).success().stdout,
        "SQS moves 2 message(s). `intake overflow status` counts those that are left.\n"
    );

    operator.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n");
    let time = "2026-01-01T12:00:00.000Z";
    let import = ["import", "--account", "shop", "--received-at", time, "s"];
    let failed = operator.run_as(&own, &import);
    let command = format!("intake import --account shop --received-at {time} --from-line 1 's'");
    assert_eq!(
        failed.stderr.lines().next(),
        Some(format!("To continue: {command}").as_str()),
        "{failed:?}"
    );
}
