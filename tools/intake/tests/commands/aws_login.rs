//! The sign-in of `aws login`: the SDK replaces an access token that has ended, as long as the session
//! lasts.

use data_encoding::BASE64;
use harness::http_server::HttpServer;
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::aws_profiles::CREATE;
use crate::support::fake_aws::{Change, FakeAws};
use crate::support::operator::{CommandOutput, Operator};

/// The file of the session below: the SHA-256 of its name.
const TOKEN_FILE: &str =
    ".aws/login/cache/a1abaa720f53d98a18ca92dbb4863eca9d1f3f9ddacc78048d233e7faa396a09.json";

/// The first bytes of a key of the curve P-256 as RFC 5915 writes it: it is a part of the key as PKCS #8.
const EC_PRIVATE_KEY: [u8; 7] = [0x30, 0x6b, 0x02, 0x01, 0x01, 0x04, 0x20];

/// A new key, as `aws login` keeps it beside a token.
fn ec_private_key() -> String {
    let pkcs8 = KeyPair::generate().unwrap().serialize_der();
    let start = pkcs8
        .windows(EC_PRIVATE_KEY.len())
        .position(|bytes| bytes == EC_PRIVATE_KEY)
        .unwrap();
    let base64 = BASE64.encode(&pkcs8[start..]);
    let lines: Vec<_> = base64
        .as_bytes()
        .chunks(64)
        .map(|line| str::from_utf8(line).unwrap())
        .collect();
    let lines = lines.join("\n");
    format!("-----BEGIN EC PRIVATE KEY-----\n{lines}\n-----END EC PRIVATE KEY-----\n")
}

/// An operator whose access token has ended, while the session of `aws login` may last.
fn operator(aws: &HttpServer<FakeAws>) -> Operator {
    let operator = Operator::with_nothing();
    std::fs::create_dir_all(operator.home.path().join(".aws/login/cache")).unwrap();
    let config = format!(
        "[profile ops]\nregion = eu-central-1\nendpoint_url = {}\n\
         login_session = arn:aws:iam::123456789012:user/ops\n",
        aws.endpoint()
    );
    operator.file(".aws/config", &config);
    let token = json!({
        "accessToken": {
            "accessKeyId": "OldLogin", "secretAccessKey": "s", "sessionToken": "t", "accountId": "123456789012",
            "expiresAt": "2026-01-01T00:00:00Z",
        },
        "tokenType": "aws_sigv4", "refreshToken": "r1", "idToken": "i",
        "clientId": "arn:aws:signin:::devtools/same-device", "dpopKey": ec_private_key(),
    });
    operator.file(TOKEN_FILE, &token.to_string());
    operator
        .variable("AWS_PROFILE", "ops")
        .variable("INTAKE_STACK", "intake-test")
}

/// Runs a command over an AWS with this change. Returns the AWS, too.
async fn create(change: Option<Change>) -> (CommandOutput, Operator, HttpServer<FakeAws>) {
    let aws = HttpServer::start(FakeAws::new(change), None).await.unwrap();
    let operator = operator(&aws);
    let output = operator.run(&CREATE);
    (output, operator, aws)
}

#[tokio::test(flavor = "multi_thread")]
async fn access_token_that_has_ended_is_replaced_while_the_session_lasts() {
    let (created, operator, aws) = create(None).await;
    assert_eq!(created.code, Some(0), "{created:?}");
    assert_eq!(aws.service.count("/v1/token"), 1);
    let calls = aws.service.calls();
    let put = calls.iter().find(|call| call.operation == "PutItem");
    assert_eq!(put.unwrap().access_key, "NewLogin");
    let kept: Value = serde_json::from_str(&operator.read(TOKEN_FILE)).unwrap();
    assert_eq!(kept["refreshToken"], "r2");
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_has_ended_is_told_with_the_sign_in() {
    let ended = json!({
        "__type": "AccessDeniedException", "error": "TOKEN_EXPIRED", "message": "the session has ended",
    });
    let change = Change {
        operation: "/v1/token",
        about: "",
        place: "",
        value: ended,
    };
    let (refused, _, _) = create(Some(change)).await;
    let error = refused.error_message();
    assert!(
        error.starts_with("No AWS credentials from the profile ops or the environment: "),
        "{error}"
    );
    assert!(error.contains("Your session has expired"), "{error}");
    assert!(
        error.ends_with("If your session has expired, sign in: `aws login --profile ops`."),
        "{error}"
    );
}
