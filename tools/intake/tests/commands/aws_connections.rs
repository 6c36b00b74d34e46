//! How a command reaches AWS, the API and the local stack: hosts, proxies, certificate authorities, and how
//! often it asks for credentials.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use harness::TestApp;
use harness::http_server::{HttpServer, Service, response};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use model::timestamp::Timestamp;
use serde_json::json;

use crate::aws_profiles::{CREATE, STATIC_KEYS};
use crate::support::aws_network::AwsNetwork;
use crate::support::fake_aws::{Call, FakeAws, KEY_SNAPSHOT_BUCKET};
use crate::support::operator::{CommandOutput, Operator};

/// An operator whose calls reach AWS's hosts by a proxy, with an authority of this network.
fn operator_behind_aws_proxy(aws: &AwsNetwork<FakeAws>, more: &str) -> Operator {
    let operator = Operator::with_nothing();
    std::fs::create_dir_all(operator.home.path().join(".aws")).unwrap();
    operator.file("authority.pem", &aws.authority);
    let bundle = operator.home.path().join("authority.pem");
    let config = format!(
        "[default]\n{STATIC_KEYS}ca_bundle = {}\n{more}",
        bundle.display()
    );
    operator.file(".aws/config", &config);
    operator
        .variable("HTTPS_PROXY", &aws.proxy)
        .variable("INTAKE_STACK", "intake-test")
}

#[tokio::test(flavor = "multi_thread")]
async fn fips_and_dual_stack_of_a_profile_choose_the_hosts_behind_its_proxy_and_authority() {
    let cases = [
        (
            "",
            [
                "cloudformation.eu-central-1.amazonaws.com",
                "dynamodb.eu-central-1.amazonaws.com",
                "intake-test-keys.s3.eu-central-1.amazonaws.com",
            ],
        ),
        (
            "use_fips_endpoint = true\n",
            [
                "cloudformation-fips.eu-central-1.amazonaws.com",
                "dynamodb-fips.eu-central-1.amazonaws.com",
                "intake-test-keys.s3-fips.eu-central-1.amazonaws.com",
            ],
        ),
        (
            "use_dualstack_endpoint = true\n",
            [
                "cloudformation.eu-central-1.api.aws",
                "dynamodb.eu-central-1.api.aws",
                "intake-test-keys.s3.dualstack.eu-central-1.amazonaws.com",
            ],
        ),
    ];
    for (setting, hosts) in cases {
        let aws = AwsNetwork::start(FakeAws::default()).await;
        let created = operator_behind_aws_proxy(&aws, setting).run(&CREATE);
        assert_eq!(
            created.code,
            Some(0),
            "{setting}: {created:?} {:?}",
            aws.hosts()
        );
        assert_eq!(aws.hosts(), hosts, "{setting}");
        assert_eq!(aws.service.count("PutItem"), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_whose_authority_is_unknown_gets_no_call() {
    let aws = AwsNetwork::start(FakeAws::default()).await;
    let error = operator_behind_aws_proxy(&aws, "")
        .variable("AWS_CA_BUNDLE", "")
        .variable("AWS_CONFIG_FILE", "/dev/null")
        .variable("AWS_REGION", "eu-central-1")
        .variable("AWS_ACCESS_KEY_ID", "local")
        .variable("AWS_SECRET_ACCESS_KEY", "s")
        .run(&CREATE)
        .error_message();
    assert!(error.contains("cannot reach CloudFormation"), "{error}");
    assert!(error.contains("certificate"), "{error}");
    assert_eq!(aws.service.calls(), Vec::<Call>::new());
}

/// An API that accepts everything, so that most promises are broken.
struct AcceptingApi;

impl Service for AcceptingApi {
    async fn respond(&self, _: Request<Bytes>) -> Response<Full<Bytes>> {
        response(200, &[], "{}")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_trusts_the_authorities_of_the_system_and_no_others() {
    let app = TestApp::start();
    let api = AwsNetwork::start(AcceptingApi).await;
    let operator = Operator::new(&app).variable("HTTPS_PROXY", &api.proxy);
    let verify = [
        "verify",
        "--yes",
        "--signals",
        "1",
        "--base-url",
        "https://api.shop.example",
    ];
    let unknown = operator.run(&verify).error_message();
    assert!(unknown.starts_with("The API does not respond"), "{unknown}");
    assert!(unknown.contains("certificate"), "{unknown}");
    operator.file("authority.pem", &api.authority);
    let authority = operator
        .home
        .path()
        .join("authority.pem")
        .display()
        .to_string();
    let known = operator.variable("SSL_CERT_FILE", &authority).run(&verify);
    assert!(
        known.stderr.ends_with("promise(s) did not hold.\n"),
        "{known:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn local_stack_takes_nothing_from_profile_and_environment() {
    let aws = HttpServer::start(FakeAws::default(), None).await.unwrap();
    let operator = Operator::with_nothing();
    std::fs::create_dir_all(operator.home.path().join(".aws")).unwrap();
    operator.file(
        ".aws/config",
        "[default]\nregion = us-east-1\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\nretry_mode = legacy\n\
         endpoint_url = http://127.0.0.1:1\ncredential_process = false\nca_bundle = /nonexistent\n",
    );
    operator.file(
        "dev.env",
        &format!(
            "AWS_ENDPOINT_URL_DYNAMODB={}\nAWS_REGION=eu-central-1\nAWS_ACCESS_KEY_ID=Dev\nAWS_SECRET_ACCESS_KEY=s\n\
             API_KEYS_TABLE=ApiKeysTable\nKEY_SNAPSHOT_BUCKET=keys\n",
            aws.endpoint()
        ),
    );
    let mut operator = operator;
    for (name, value) in [
        ("AWS_PROFILE", "elsewhere"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1"),
        ("AWS_USE_FIPS_ENDPOINT", "true"),
        ("AWS_MAX_ATTEMPTS", "0"),
        ("AWS_ACCESS_KEY_ID", "Variable"),
        ("HTTP_PROXY", "http://127.0.0.1:1"),
        ("AWS_CA_BUNDLE", "/nonexistent"),
    ] {
        operator = operator.variable(name, value);
    }
    let create = [&["--local=dev.env"][..], &CREATE].concat();
    operator.run(&create).success();
    assert_eq!(aws.service.count("PutItem"), 1);
    let calls = aws.service.calls();
    assert!(
        calls.iter().all(|call| call.access_key == "Dev"),
        "{calls:?}"
    );
}

/// The outcome of `doctor`, which calls five services.
fn doctor(operator: &Operator) -> CommandOutput {
    operator.run(&["--stack", "intake-test", "doctor", "--json"])
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_asked_for_once_for_all_services_and_again_when_they_end() {
    let aws = HttpServer::start(FakeAws::default(), None).await.unwrap();
    let operator = Operator::with_nothing();
    std::fs::create_dir_all(operator.home.path().join(".aws")).unwrap();
    let config = format!(
        "[default]\nregion = eu-central-1\nendpoint_url = {}\ncredential_process = sh {}/process.sh\n",
        aws.endpoint(),
        operator.home.path().display()
    );
    operator.file(".aws/config", &config);
    let write_process = |end: &str| {
        let credentials = json!({
            "Version": 1, "AccessKeyId": "Process", "SecretAccessKey": "s", "SessionToken": "t", "Expiration": end,
        });
        let home = operator.home.path().display();
        operator.file(
            "process.sh",
            &format!("echo run >> {home}/runs\necho '{credentials}'\n"),
        );
    };
    write_process("2099-01-01T00:00:00Z");
    doctor(&operator).success();
    assert_eq!(operator.read("runs"), "run\n");

    // These end before the second call.
    operator.file("runs", "");
    write_process("2026-01-01T00:00:00Z");
    let aws = HttpServer::start(FakeAws::default(), None).await.unwrap();
    operator.file(
        ".aws/config",
        &config.replace(
            config.split('\n').nth(2).unwrap(),
            &format!("endpoint_url = {}", aws.endpoint()),
        ),
    );
    doctor(&operator).success();
    assert!(operator.read("runs").lines().count() > 1);
}

/// A table that throttles every call until it is signed with the second credentials. At the first call, the
/// process of the operator begins to give these.
struct TableOfSecondCredentials {
    credentials: PathBuf,
    calls: Mutex<Vec<String>>,
}

impl Service for TableOfSecondCredentials {
    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let authorization = request.headers()["authorization"].to_str().unwrap();
        let is_second = authorization.contains("Credential=Second/");
        let mut calls = self.calls.lock().unwrap();
        if calls.is_empty() {
            std::fs::write(&self.credentials, process_output("Second", DISTANT)).unwrap();
        }
        calls.push(authorization.to_owned());
        if is_second {
            let empty = json!({"Items": [], "Count": 0, "ScannedCount": 0});
            return response(200, &[], empty.to_string());
        }
        let throttled = json!({"__type": "com.amazon.coral.availability#ThrottlingException"});
        response(400, &[], throttled.to_string())
    }
}

const DISTANT: &str = "2099-01-01T00:00:00Z";

fn process_output(access_key: &str, end: &str) -> String {
    json!({"Version": 1, "AccessKeyId": access_key, "SecretAccessKey": "s", "SessionToken": "t", "Expiration": end})
        .to_string()
}

/// An operator whose process prints this file, and the table behind this endpoint.
fn operator_with_credentials_in(file: &str, endpoint: &str) -> Operator {
    let operator = Operator::with_nothing();
    std::fs::create_dir_all(operator.home.path().join(".aws")).unwrap();
    let config = format!(
        "[default]\nregion = eu-central-1\nendpoint_url = {endpoint}\ncredential_process = cat {file}\n"
    );
    operator.file(".aws/config", &config);
    operator
        .variable("API_KEYS_TABLE", "ApiKeysTable")
        .variable("KEY_SNAPSHOT_BUCKET", KEY_SNAPSHOT_BUCKET)
}

/// The SDK asks for new ones 5 to 10 seconds before the old ones end.
fn soon() -> String {
    let end = Timestamp::now().plus(Duration::from_secs(11));
    end.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn command_goes_on_with_new_credentials_when_the_first_ones_end() {
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials.json");
    let table = TableOfSecondCredentials {
        credentials: credentials.clone(),
        calls: Mutex::default(),
    };
    std::fs::write(&credentials, process_output("First", &soon())).unwrap();
    let table = HttpServer::start(table, None).await.unwrap();
    let operator = operator_with_credentials_in(credentials.to_str().unwrap(), &table.endpoint());
    operator.run(&["keys", "list"]).success();
    let calls = table.service.calls.lock().unwrap();
    assert!(calls[0].contains("Credential=First/"), "{calls:?}");
    let last = calls.last().unwrap();
    assert!(last.contains("Credential=Second/"), "{calls:?}");
}

/// A table that throttles every call, and at the first one takes the operator's credentials away.
struct TableWithoutCredentials {
    credentials: PathBuf,
}

impl Service for TableWithoutCredentials {
    async fn respond(&self, _: Request<Bytes>) -> Response<Full<Bytes>> {
        std::fs::write(&self.credentials, "signed out").unwrap();
        let throttled = json!({"__type": "com.amazon.coral.availability#ThrottlingException"});
        response(400, &[], throttled.to_string())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_cannot_be_replaced_when_they_end_are_told_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials.json");
    let table = TableWithoutCredentials {
        credentials: credentials.clone(),
    };
    std::fs::write(&credentials, process_output("First", &soon())).unwrap();
    let table = HttpServer::start(table, None).await.unwrap();
    let operator = operator_with_credentials_in(credentials.to_str().unwrap(), &table.endpoint());
    let error = operator.run(&["keys", "list"]).error_message();
    let told = "Table ApiKeysTable: no AWS credentials: Error retrieving credentials from external process, could not parse";
    assert!(error.starts_with(told), "{error}");
}
