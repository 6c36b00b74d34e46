//! How the command finds the tables and queues: variables, an env file, or the outputs of a stack.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::sync::Mutex;

use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use testkit::http_server::{HttpServer, Service};
use testkit::{Tables, TestApp};

use crate::operator::{Operator, VARIABLES};

#[test]
fn missing_region_credentials_or_table_is_an_error() {
    let app = TestApp::start();
    let list = ["keys", "list"];
    let nothing = Operator::with_nothing();
    assert!(nothing.run(&list).error_message().starts_with("No AWS region. Set AWS_REGION"));
    let region = Operator::with_nothing().variable("AWS_REGION", "eu-central-1");
    assert!(region.run(&list).error_message().starts_with("No AWS credentials. Sign in"));
    let endpoint = app.emulator.endpoint();
    let no_names = Operator::with_credentials(&endpoint).run(&list).error_message();
    assert!(no_names.contains("does not define API_KEYS_TABLE"), "{no_names}");
    let no_table =
        Operator::with_credentials(&endpoint).variable("API_KEYS_TABLE", "elsewhere").run(&list).error_message();
    assert!(no_table.starts_with("Table elsewhere: it does not exist in this region"), "{no_table}");
    // A port on which no process listens.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unreachable = Operator::with_credentials(&format!("http://{closed}"))
        .variable("API_KEYS_TABLE", "t")
        .run(&list)
        .error_message();
    assert!(unreachable.starts_with("Table t: cannot reach DynamoDB."), "{unreachable}");
}

#[test]
fn env_file_is_found_from_any_folder_of_the_repository() {
    let app = TestApp::start();
    let operator = Operator::with_nothing();
    assert!(operator.run(&["--local", "keys", "list"]).error_message().starts_with("No local stack is running"));
    assert!(operator.run(&["--local=x.env", "keys", "list"]).error_message().starts_with("Cannot read x.env"));
    std::fs::create_dir_all(operator.home.path().join("target")).unwrap();
    std::fs::create_dir_all(operator.home.path().join("a/b")).unwrap();
    operator.file("target/dev.env", "API_KEYS_TABLE=x\n");
    assert!(operator.run(&["--local", "keys", "list"]).error_message().contains("does not define AWS_ACCESS_KEY_ID"));
    let variables = format!(
        "AWS_ENDPOINT_URL_DYNAMODB={}\nAWS_REGION=eu-central-1\nAWS_ACCESS_KEY_ID=local\nAWS_SECRET_ACCESS_KEY=local\n\
         API_KEYS_TABLE={}\n",
        app.emulator.endpoint(),
        Tables::name("ApiKeysTable")
    );
    operator.file("target/dev.env", &variables);
    let mut command = operator.command(&["keys", "create", "--local", "--account", "shop", "--name", "web"]);
    let output = command.current_dir(operator.home.path().join("a/b")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A CloudFormation that answers with these statuses and texts, one after another.
struct CloudFormation(Mutex<VecDeque<(u16, String)>>);

impl Service for CloudFormation {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        assert!(request.body().windows(21).any(|part| part == b"StackName=intake-test"));
        let (status, xml) = self.0.lock().unwrap().pop_front().unwrap();
        Response::builder().status(status).body(Full::from(xml)).unwrap()
    }
}

async fn cloudformation<const N: usize>(answers: [(u16, String); N]) -> HttpServer<CloudFormation> {
    HttpServer::start(CloudFormation(Mutex::new(answers.into())), None).await.unwrap()
}

/// What CloudFormation answers of a stack.
fn described(parameters: &str, outputs: &str) -> String {
    format!(
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>intake-test</StackName>\
         <CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>UPDATE_COMPLETE</StackStatus>\
         <Parameters>{parameters}</Parameters><Outputs>{outputs}</Outputs>\
         </member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
    )
}

fn output(name: &str, value: &str) -> String {
    format!("<member><OutputKey>{name}</OutputKey><OutputValue>{value}</OutputValue></member>")
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_a_deployed_stack_are_read_from_its_outputs() {
    let app = TestApp::start();
    // With the output names of template.yaml, so that the test fails when one is renamed.
    let template = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml")).unwrap();
    let mut outputs = String::new();
    for (_, table) in VARIABLES {
        let name = format!("{table}Name");
        assert!(template.contains(&format!("\n  {name}:\n")), "template.yaml has no output {name}");
        outputs.push_str(&output(&name, Tables::name(table)));
    }
    assert!(template.contains("\n  SignalRetentionDays:\n"));
    let parameter =
        "<member><ParameterKey>SignalRetentionDays</ParameterKey><ParameterValue>30</ParameterValue></member>";
    let described = described(parameter, &outputs);
    let missing = "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>\
                   <Message>TestApp with id intake-test does not exist</Message></Error></ErrorResponse>";
    let aws = cloudformation([(200, described.clone()), (200, described), (400, missing.to_owned())]).await;
    let operator = Operator::with_credentials(&app.emulator.endpoint())
        .variable("AWS_ENDPOINT_URL_CLOUDFORMATION", &aws.endpoint())
        // --stack takes precedence over the variables.
        .variable("API_KEYS_TABLE", "elsewhere");
    operator.run(&["--stack", "intake-test", "keys", "create", "--account", "shop", "--name", "web"]).success();
    operator.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n");
    operator.run(&["import", "--account", "shop", "s", "--stack", "intake-test"]).success();
    let unknown = operator.run(&["keys", "list", "--stack", "intake-test"]).error_message();
    assert!(unknown.starts_with("The stack intake-test does not exist in eu-central-1"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_of_a_deployed_stack_are_read_from_its_outputs_if_it_has_them() {
    let sqs = FakeSqs::start().await.unwrap();
    let outputs =
        [output("OverflowQueueUrl", OVERFLOW_QUEUE), output("OverflowDeadLetterQueueUrl", DEAD_LETTER_QUEUE)].concat();
    let aws = cloudformation([(200, described("", &outputs)), (200, described("", ""))]).await;
    let operator = Operator::with_credentials("http://127.0.0.1:9").with_sqs(&sqs);
    let operator = operator.variable("AWS_ENDPOINT_URL_CLOUDFORMATION", &aws.endpoint());
    sqs.set_counts([[1, 0, 0]], [[0, 0, 0]]);
    let status = ["overflow", "status", "--stack", "intake-test", "--json"];
    assert_eq!(operator.run(&status).success().json()[0]["waiting"], 1);
    for output in ["OverflowQueueUrl", "OverflowDeadLetterQueueUrl"] {
        assert!(include_str!("../../../../template.yaml").contains(&format!("\n  {output}:\n")), "{output}");
    }
    // A stack of an older version.
    let none = operator.run(&status).success();
    assert_eq!(
        (none.stdout.as_str(), none.stderr.as_str()),
        (
            "",
            "The stack intake-test defines no overflow queue: neither OVERFLOW_QUEUE_URL nor DEAD_LETTER_QUEUE_URL.\n"
        )
    );
}

#[test]
fn every_command_has_help_with_an_example() {
    let operator = Operator::with_nothing();
    for command in [
        "keys create",
        "keys list",
        "keys rotate",
        "keys revoke",
        "keys import",
        "keys publish",
        "accounts erase",
        "accounts usage",
        "customers show",
        "customers find",
        "customers export",
        "customers erase",
        "signals list",
        "rejected list",
        "rejected redrive",
        "overflow status",
        "overflow redrive",
        "import",
        "verify",
        "doctor",
    ] {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = operator.run(&words).success().stdout;
        let example = help.split("Example").nth(1).expect(&help);
        assert!(example.contains("cargo intake") && example.contains(command), "{help}");
        assert!(help.contains("--json") && help.contains("--stack"), "{help}");
    }
    let completions = operator.run(&["completions", "bash"]).success().stdout;
    assert!(completions.contains("redrive") && completions.contains("--overlap"), "{completions}");
    let invalid = operator.run(&["customers", "show", "c"]);
    assert!(invalid.code == Some(2) && invalid.stderr.contains("--account <NAME>"), "{invalid:?}");
}
