//! AWS profiles and variables with which a command cannot work: the operator hears what is wrong, and where
//! it stands.

use std::thread;

use serde_json::json;
use testkit::http_server::HttpServer;

use crate::aws_profiles::{CREATE, Profile, operator_with};
use crate::support::fake_aws::{Change, FakeAws, KEY_SNAPSHOT_BUCKET};
use crate::support::operator::Operator;

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
                "The AWS profile elsewhere does not exist: there are default. Check AWS_PROFILE.",
            ],
            ..NOTHING
        },
        Hindrance {
            config: "[profile ops]\nregion = eu-central-1\nrole_arn = arn:aws:iam::1:role/ops\nsource_profile = gone\n",
            variables: &[("AWS_PROFILE", "ops")],
            told: &["The AWS profile ops has source_profile = gone, and there is no profile gone"],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\nregion = eu-central-1\ncredential_process = echo the vault is sealed >&2; exit 3\n",
            told: &[
                "No AWS credentials from the profile default: ",
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
                "No AWS credentials from the profile default",
                "`aws sso login --profile default`",
            ],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\nregion = eu-central-1\nlogin_session = arn:aws:iam::1:user/gone\n",
            told: &[
                "No AWS credentials from the profile default",
                "`aws login --profile default`",
            ],
            ..NOTHING
        },
    ]
}

fn hindrances_of_settings() -> Vec<Hindrance> {
    vec![
        Hindrance {
            config: "[default]\nregion = eu-central-1\n",
            variables: &[
                ("AWS_WEB_IDENTITY_TOKEN_FILE", "/nonexistent/token"),
                ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/ops"),
            ],
            told: &["No AWS credentials from AWS_WEB_IDENTITY_TOKEN_FILE: "],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\n{keys}use_fips_endpoint = yes\n",
            told: &[
                "use_fips_endpoint of the AWS profile default is \"yes\"",
                "write true or false",
            ],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_USE_DUALSTACK_ENDPOINT", "on")],
            told: &[
                "AWS_USE_DUALSTACK_ENDPOINT is \"on\"",
                "write true or false",
            ],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_ENDPOINT_URL_DYNAMODB", "")],
            told: &["AWS_ENDPOINT_URL_DYNAMODB is \"\", which is no URL"],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\n{keys}services = own\n[services own]\ndynamodb =\n  endpoint_url =\n",
            told: &["endpoint_url of dynamodb in the AWS services own is \"\", which is no URL"],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_ENDPOINT_URL_SQS", "sqs.example")],
            told: &["AWS_ENDPOINT_URL_SQS is \"sqs.example\", which is no URL"],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_ENDPOINT_URL_DYNAMODB", "http://[bad")],
            told: &["AWS_ENDPOINT_URL_DYNAMODB is \"http://[bad\", which is no URL"],
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
            told: &["This program cannot read the AWS profiles: "],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\nregion = eu-central-1\nsso_session = gone\nsso_account_id = 1\nsso_role_name = ops\n",
            told: &[
                "The AWS profile default has sso_session = gone, and there is no section sso-session gone.",
            ],
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
            told: &["HTTPS_PROXY is no URL of a proxy, such as http://proxy.example.com:3128."],
            ..NOTHING
        },
        Hindrance {
            variables: &[("all_proxy", "ftp://proxy.example.com")],
            told: &["all_proxy is no URL of a proxy"],
            ..NOTHING
        },
        Hindrance {
            variables: &[("ALL_PROXY", "socks5://proxy.example.com:1080")],
            told: &["ALL_PROXY is no URL of a proxy"],
            ..NOTHING
        },
        Hindrance {
            variables: &[("AWS_REGION", "eu-central-1 ")],
            told: &["AWS_REGION is \"eu-central-1 \", which is no name of a region"],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\naws_access_key_id = Static\naws_secret_access_key = s\nregion = 'eu-central-1'\n",
            told: &["region of the AWS profile default is \"'eu-central-1'\", which is no name"],
            ..NOTHING
        },
        Hindrance {
            config: "[default]\naws_access_key_id = Static\naws_secret_access_key = s\nregion =\n",
            told: &["No AWS region. Set AWS_REGION"],
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
        let profile = Profile {
            name: "",
            config: hindrance.config,
            variables: hindrance.variables,
            access_key: "",
            asked_once: None,
        };
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

#[test]
fn missing_file_of_profiles_is_told() {
    let run = |file| {
        let operator = Operator::with_nothing().variable("AWS_CONFIG_FILE", file);
        operator.run(&CREATE).stderr
    };
    let missing = run("/nonexistent/config");
    assert!(
        missing.starts_with("AWS_CONFIG_FILE is \"/nonexistent/config\": No such file"),
        "{missing}"
    );
    let folder = run("/");
    assert!(
        folder.starts_with("AWS_CONFIG_FILE is \"/\": Is a directory"),
        "{folder}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_the_sdk_does_not_know_are_told_and_no_hindrance() {
    let aws = HttpServer::start(FakeAws::default(), None).await.unwrap();
    let run = |config, variables| {
        let profile = Profile {
            name: "",
            config,
            variables,
            access_key: "",
            asked_once: None,
        };
        operator_with(&profile, &aws.endpoint())
            .variable("API_KEYS_TABLE", "ApiKeysTable")
            .variable("KEY_SNAPSHOT_BUCKET", KEY_SNAPSHOT_BUCKET)
            .variable("INTAKE_STACK", "")
            .run(&CREATE)
            .success()
            .stderr
    };
    let keys = "[default]\n{keys}endpoint_url = {aws}\n";
    let legacy = run(
        "[default]\n{keys}endpoint_url = {aws}\nretry_mode = legacy\n",
        &[],
    );
    assert!(
        legacy.starts_with(
            "retry_mode of the AWS profile default is \"legacy\", which the AWS SDK does not know"
        ),
        "{legacy}"
    );
    let missing = run(
        "[default]\n{keys}endpoint_url = {aws}\nservices = gone\n[services own]\ndynamodb =\n  endpoint_url = {aws}\n",
        &[],
    );
    assert!(
        missing.starts_with(
            "services of the AWS profile default is \"gone\", and no section [services NAME] of that name has an endpoint_url"
        ),
        "{missing}"
    );
    let none = run(keys, &[("AWS_MAX_ATTEMPTS", "0")]);
    assert!(
        none.starts_with("AWS_MAX_ATTEMPTS is \"0\", which is no number of attempts"),
        "{none}"
    );
    let nothing = run(keys, &[("AWS_RETRY_MODE", ""), ("AWS_MAX_ATTEMPTS", "")]);
    assert!(nothing.starts_with("Key key_"), "{nothing}");
}

/// No value of any variable ends the program with a panic.
#[tokio::test(flavor = "multi_thread")]
async fn no_value_of_a_variable_makes_the_program_panic() {
    let aws = HttpServer::start(FakeAws::default(), None).await.unwrap();
    let variables = [
        "AWS_RETRY_MODE",
        "AWS_MAX_ATTEMPTS",
        "AWS_NEW_RETRIES_2026",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_DEFAULTS_MODE",
        "AWS_ENDPOINT_URL_DYNAMODB",
        "AWS_USE_FIPS_ENDPOINT",
        "AWS_CA_BUNDLE",
        "AWS_CONFIG_FILE",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_ACCOUNT_ID",
        "AWS_CREDENTIAL_EXPIRATION",
        "AWS_DEFAULT_PROFILE",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL",
        "AWS_EXECUTION_ENV",
        "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_ROLE_SESSION_NAME",
        "AWS_SHARED_CREDENTIALS_FILE",
        "SECRET_ACCESS_KEY",
        "API_KEYS_TABLE",
        "INTAKE_STACK",
        "KEY_SNAPSHOT_BUCKET",
        "HOME",
        "_X_AMZN_TRACE_ID",
        "AWS_SDK_UA_APP_ID",
        "AWS_ACCOUNT_ID_ENDPOINT_MODE",
        "AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES",
        "AWS_AUTH_SCHEME_PREFERENCE",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
    ];
    // These are read where nothing else has credentials.
    let variables_of_metadata = [
        "AWS_EC2_METADATA_DISABLED",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
    ];
    let endpoint = aws.endpoint();
    let with_keys = || {
        let profile = Profile {
            name: "",
            config: "[default]\n{keys}endpoint_url = {aws}\n",
            variables: &[],
            access_key: "",
            asked_once: None,
        };
        operator_with(&profile, &endpoint)
            .variable("AWS_ACCESS_KEY_ID", "Variable")
            .variable("AWS_SECRET_ACCESS_KEY", "s")
            .variable("INTAKE_STACK", "")
            .variable("API_KEYS_TABLE", "ApiKeysTable")
            .variable("KEY_SNAPSHOT_BUCKET", KEY_SNAPSHOT_BUCKET)
    };
    // A proxy that does not exist keeps the calls to the usual address on this machine.
    let without_keys = || {
        Operator::with_nothing()
            .variable("AWS_EC2_METADATA_DISABLED", "false")
            .variable("AWS_REGION", "eu-central-1")
            .variable("HTTP_PROXY", "http://127.0.0.1:1")
    };
    let try_values = |operator: &dyn Fn() -> Operator, variable: &str| {
        for value in ["", "0", "legacy", "[::", "a\r\n\u{7f}"] {
            let run = operator().variable(variable, value).run(&CREATE);
            let has_ended = matches!(run.code, Some(0 | 1));
            assert!(has_ended, "{variable}={value}: {run:?}");
        }
    };
    thread::scope(|scope| {
        for variable in variables {
            let (try_values, with_keys) = (&try_values, &with_keys);
            scope.spawn(move || try_values(with_keys, variable));
        }
        for variable in variables_of_metadata {
            let (try_values, without_keys) = (&try_values, &without_keys);
            scope.spawn(move || try_values(without_keys, variable));
        }
    });
}
