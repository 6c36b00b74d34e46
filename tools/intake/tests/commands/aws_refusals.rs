//! AWS profiles and variables with which a command cannot work: the operator hears what is wrong, and where
//! it stands.

use harness::http_server::HttpServer;
use serde_json::json;

use crate::aws_profiles::{CREATE, Profile, operator_with};
use crate::support::fake_aws::{Change, FakeAws, operator_at};

/// A profile or variables with which there can be no key, and what the operator hears.
struct Hindrance {
    config: &'static str,
    variables: &'static [(&'static str, &'static str)],
    change: Option<Change>,
    /// Texts of the error.
    told: &'static [&'static str],
}

const NOTHING: Hindrance = Hindrance {
    config: "[default]\n{keys}endpoint_url = {aws}\n",
    variables: &[],
    change: None,
    told: &[],
};

const ROLE: &str = "[profile base]\n{keys}[profile ops]\nregion = eu-central-1\nendpoint_url = {aws}\n\
                    role_arn = arn:aws:iam::123456789012:role/ops\nsource_profile = base\n";

fn hindrances_of_credentials() -> Vec<Hindrance> {
    let refused_role = |code: &str, message: &str| {
        Some(Change {
            operation: "AssumeRole",
            about: "",
            place: "",
            value: json!({"code": code, "message": message}),
        })
    };
    let refused_signature = Change {
        operation: "PutItem",
        about: "",
        place: "",
        value: json!({
            "__type": "com.amazon.coral.service#InvalidSignatureException",
            "message": "Signature expired: 20260101T000000Z is now earlier than 20260101T010000Z",
        }),
    };
    vec![
        Hindrance {
            variables: &[("AWS_PROFILE", "elsewhere")],
            told: &[
                "The AWS profile elsewhere does not exist. Check AWS_PROFILE. The AWS SDK found these profiles: default.",
            ],
            ..NOTHING
        },
        Hindrance {
            config: "[profile ops]\nregion = eu-central-1\nrole_arn = arn:aws:iam::1:role/ops\nsource_profile = gone\n",
            variables: &[("AWS_PROFILE", "ops")],
            told: &["No AWS credentials. Sign in", "(the profile: ", "gone"],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\nregion = eu-central-1\ncredential_process = echo the vault is sealed >&2; exit 3\n",
            told: &[
                "No AWS credentials from the profile default or the environment: ",
                "the vault is sealed",
                "3",
            ],
            ..NOTHING
        },
        Hindrance {
            config: concat!(
                "[profile base]\n{keys}[profile ops]\nregion = eu-central-1\nendpoint_url = {aws}\n",
                "role_arn = arn:aws:iam::123456789012:role/ops\nsource_profile = base\n",
                "mfa_serial = arn:aws:iam::123456789012:mfa/ada\n"
            ),
            variables: &[("AWS_PROFILE", "ops")],
            change: refused_role("AccessDenied", "not authorized to perform: sts:AssumeRole"),
            told: &[
                "AccessDenied: not authorized to perform: sts:AssumeRole",
                "The profile needs an MFA code (mfa_serial)",
                "aws configure export-credentials --profile ops --format env",
            ],
        },
        Hindrance {
            config: ROLE,
            variables: &[("AWS_PROFILE", "ops")],
            change: refused_role(
                "SignatureDoesNotMatch",
                "Signature expired: 20260101T000000Z is now earlier than 20260101T010000Z",
            ),
            told: &["Signature expired", "the clock of this machine is wrong"],
        },
        Hindrance {
            change: Some(refused_signature),
            told: &[
                "Table ApiKeysTable: ",
                "the clock of this machine is wrong",
                "Signature expired",
            ],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\nregion = eu-central-1\nsso_session = own\nsso_account_id = 1\nsso_role_name = ops\n[sso-session own]\nsso_region = eu-central-1\nsso_start_url = https://own.awsapps.com/start\n",
            variables: &[
                ("HOME", "/nonexistent"),
                ("AWS_CONFIG_FILE", "{home}/.aws/config"),
            ],
            told: &[
                "No AWS credentials from the profile default or the environment: ",
                "`aws sso login --profile default`",
            ],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\nregion = eu-central-1\nlogin_session = arn:aws:iam::1:user/gone\n",
            told: &[
                "No AWS credentials from the profile default or the environment: ",
                "`aws login --profile default`",
            ],
            ..NOTHING
        },
    ]
}

fn hindrances_of_settings() -> Vec<Hindrance> {
    vec![
        Hindrance {
            config: "[default]\n{keys}use_fips_endpoint = yes\n",
            told: &[
                "AWS_USE_FIPS_ENDPOINT or use_fips_endpoint of the AWS profile default is \"yes\". Set it to true or false.",
            ],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_USE_DUALSTACK_ENDPOINT", "on")],
            told: &[
                "AWS_USE_DUALSTACK_ENDPOINT or use_dualstack_endpoint of the AWS profile default is \"on\".",
            ],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_ENDPOINT_URL_DYNAMODB", "")],
            told: &["The endpoint of DynamoDB is \"\", which is not a URL"],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\n{keys}services = own\n[services own]\ndynamodb =\n  endpoint_url =\n",
            told: &["The endpoint of DynamoDB is \"\", which is not a URL"],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_ENDPOINT_URL_SQS", "sqs.example")],
            told: &["The endpoint of SQS is \"sqs.example\", which is not a URL"],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\n{keys}ca_bundle = /nonexistent/bundle.pem\n",
            told: &["The bundle of certificate authorities /nonexistent/bundle.pem cannot be read"],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_CA_BUNDLE", "{home}/process.sh")],
            told: &["process.sh holds no certificate in PEM"],
            ..NOTHING
        },
        Hindrance {
            config: "[default\n",
            told: &["Cannot read the AWS profiles: "],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\naws_access_key_id = Static\naws_secret_access_key = s\n",
            told: &["No AWS region. Set AWS_REGION"],
            ..NOTHING
        },
    ]
}

fn hindrances_of_proxies_and_regions() -> Vec<Hindrance> {
    vec![
        Hindrance {
            variables: &[("HTTPS_PROXY", "http://ops:secret@a b:1")],
            told: &[
                "HTTPS_PROXY is not the URL of a proxy, such as http://proxy.example.com:3128.",
            ],
            ..NOTHING
        },
        Hindrance {
            variables: &[("ALL_PROXY", "socks5://proxy.example.com:1080")],
            told: &["ALL_PROXY is not the URL of a proxy"],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_REGION", "eu-central-1 ")],
            told: &["The AWS region \"eu-central-1 \" is not a name such as eu-central-1."],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\naws_access_key_id = Static\naws_secret_access_key = s\n",
            variables: &[("AWS_REGION", "  ")],
            told: &["No AWS region. Set AWS_REGION"],
            ..NOTHING
        },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_without_a_key_hears_the_reason() {
    let hindrances = [
        hindrances_of_credentials(),
        hindrances_of_settings(),
        hindrances_of_proxies_and_regions(),
    ];
    for hindrance in hindrances.into_iter().flatten() {
        let profile = Profile::without_key(hindrance.config, hindrance.variables);
        let told = hindrance.told;
        let aws = HttpServer::start(FakeAws::new(hindrance.change), None)
            .await
            .unwrap();
        let error = operator_with(&profile, &aws.endpoint())
            .run(&CREATE)
            .error_message();
        for text in told {
            assert!(error.contains(text), "{text}: {error}");
        }
    }
}

/// The error of a command with the keys of a profile and these variables. Its endpoint does not listen.
fn error_with(variables: &'static [(&'static str, &'static str)]) -> String {
    let profile = Profile::without_key(NOTHING.config, variables);
    let output = operator_with(&profile, "http://127.0.0.1:1").run(&CREATE);
    assert!(!output.stderr.contains("wJalr"), "{output:?}");
    output.error_message()
}

#[test]
fn variable_with_a_line_end_is_named_and_its_value_is_not_shown() {
    assert_eq!(
        error_with(&[("AWS_SECRET_ACCESS_KEY", "wJalr\n")]),
        "AWS_SECRET_ACCESS_KEY has a line end, another control character, or bytes that are not UTF-8. Remove them."
    );
    let keys = &[
        ("AWS_ACCESS_KEY_ID", "AKIA"),
        ("AWS_SECRET_ACCESS_KEY", "wJalr "),
    ];
    assert_eq!(
        error_with(keys),
        "No AWS credentials from the profile default or the environment: a key or a token has a line end, a blank or another \
         character that no key has."
    );
}

#[test]
fn region_is_named_when_aws_is_not_reached() {
    let error = error_with(&[("AWS_REGION", "eu-centrall-1")]);
    let told = "Cannot read the stack intake-test in eu-centrall-1: cannot reach CloudFormation. Check the region, the network, \
                and endpoints and proxies if you set them.";
    assert!(error.starts_with(told), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_clock_is_named_after_one_call_when_cloudformation_refuses_the_signature() {
    let late = "Signature expired: 20260101T000000Z is now earlier than 20260101T010000Z";
    let change = Change {
        operation: "DescribeStacks",
        about: "",
        place: "",
        value: json!({"code": "SignatureDoesNotMatch", "message": late}),
    };
    let aws = HttpServer::start(FakeAws::new(Some(change)), None)
        .await
        .unwrap();
    let error = operator_at(&aws.endpoint()).run(&CREATE).error_message();
    let told = "CloudFormation refused the call: the clock of this machine is wrong. Set it. (";
    assert!(error.contains(told), "{error}");
    // Signed with AWS's time, it would be accepted, and write times of this machine.
    assert_eq!(aws.service.count("DescribeStacks"), 1);
}
