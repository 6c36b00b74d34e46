//! The AWS profiles and variables that operators have: each one gets a key.

use harness::http_server::HttpServer;
use serde_json::json;

use crate::support::fake_aws::FakeAws;
use crate::support::operator::Operator;

pub(crate) const CREATE: [&str; 6] = ["keys", "create", "--account", "shop", "--name", "web"];

/// An operator's profile, and where its credentials come from.
pub(crate) struct Profile {
    name: &'static str,
    /// `~/.aws/config`.
    config: &'static str,
    variables: &'static [(&'static str, &'static str)],
    /// The access key that signs the calls.
    access_key: &'static str,
    /// The call that gives the credentials, which a command makes once.
    asked_once: Option<&'static str>,
}

impl Profile {
    /// A profile with which a command gets no key.
    pub(crate) const fn without_key(
        config: &'static str,
        variables: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            name: "",
            config,
            variables,
            access_key: "",
            asked_once: None,
        }
    }
}

pub(crate) const STATIC_KEYS: &str =
    "region = eu-central-1\naws_access_key_id = Static\naws_secret_access_key = s\n";

/// `{aws}` is the address of the stand-in.
const PROFILES: [Profile; 12] = [
    Profile {
        name: "keys of the default profile",
        config: "[default]\n{keys}endpoint_url = {aws}\n",
        variables: &[],
        access_key: "Static",
        asked_once: None,
    },
    Profile {
        name: "endpoints of the services of a profile",
        config: "[profile ops]\n{keys}services = own\n[services own]\ncloudformation =\n  endpoint_url = {aws}\ndynamodb =\n  endpoint_url = {aws}\ns3 =\n  endpoint_url = {aws}\n",
        variables: &[("AWS_PROFILE", "ops")],
        access_key: "Static",
        asked_once: None,
    },
    Profile {
        name: "process",
        config: "[default]\nregion = eu-central-1\nendpoint_url = {aws}\ncredential_process = sh {home}/process.sh\n",
        variables: &[],
        access_key: "Process",
        asked_once: None,
    },
    Profile {
        name: "role over another profile",
        config: "[profile base]\n{keys}[profile ops]\nregion = eu-central-1\nendpoint_url = {aws}\nrole_arn = arn:aws:iam::123456789012:role/ops\nsource_profile = base\n",
        variables: &[("AWS_PROFILE", "ops")],
        access_key: "AssumeRole",
        asked_once: Some("AssumeRole"),
    },
    Profile {
        name: "single sign-on",
        config: "[default]\nregion = eu-central-1\nendpoint_url = {aws}\nsso_session = own\nsso_account_id = 123456789012\nsso_role_name = ops\n[sso-session own]\nsso_region = eu-central-1\nsso_start_url = https://own.awsapps.com/start\n",
        variables: &[],
        access_key: "Sso",
        asked_once: Some("/federation/credentials"),
    },
    Profile {
        name: "aws login",
        config: "[default]\nregion = eu-central-1\nendpoint_url = {aws}\nlogin_session = arn:aws:iam::123456789012:user/ops\n",
        variables: &[],
        access_key: "Login",
        asked_once: None,
    },
    Profile {
        name: "token of a pipeline",
        config: "",
        variables: &[
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ENDPOINT_URL", "{aws}"),
            ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/ops"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "{home}/process.sh"),
        ],
        access_key: "AssumeRoleWithWebIdentity",
        asked_once: Some("AssumeRoleWithWebIdentity"),
    },
    Profile {
        name: "role of a machine, with its region",
        config: "",
        variables: &[
            ("AWS_EC2_METADATA_DISABLED", "false"),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "{aws}"),
            ("AWS_ENDPOINT_URL", "{aws}"),
        ],
        access_key: "Machine",
        asked_once: Some("/latest/meta-data/iam/security-credentials/role"),
    },
    Profile {
        name: "role of a container",
        config: "",
        variables: &[
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ENDPOINT_URL", "{aws}"),
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "{aws}/container"),
        ],
        access_key: "Container",
        asked_once: Some("/container"),
    },
    Profile {
        name: "variables before a profile",
        config: "[default]\n{keys}endpoint_url = http://127.0.0.1:1\n",
        variables: &[
            ("AWS_ACCESS_KEY_ID", "Variable"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("AWS_ENDPOINT_URL", "{aws}"),
        ],
        access_key: "Variable",
        asked_once: None,
    },
    Profile {
        name: "the variable that the AWS command line reads first",
        config: "[profile ops]\n{keys}endpoint_url = {aws}\n",
        variables: &[("AWS_DEFAULT_PROFILE", "ops"), ("AWS_PROFILE", "elsewhere")],
        access_key: "Static",
        asked_once: None,
    },
    Profile {
        name: "many things that are not for this command",
        config: "[default]\n{keys}endpoint_url = {aws}\nretry_mode = legacy\noutput = json\ncli_pager =\ns3 =\n  max_concurrent_requests = 20\nparameter_validation = false\n[plugins]\nendpoint = awscli_plugin_endpoint\n",
        variables: &[
            ("AWS_MAX_ATTEMPTS", "0"),
            ("AWS_CA_BUNDLE", ""),
            ("AWS_PROFILE", ""),
            ("AWS_USE_FIPS_ENDPOINT", ""),
            ("AWS_SDK_UA_APP_ID", "not valid: ä"),
            ("AWS_STS_REGIONAL_ENDPOINTS", "legacy"),
        ],
        access_key: "Static",
        asked_once: None,
    },
];

/// The operator with this profile.
pub(crate) fn operator_with(profile: &Profile, aws: &str) -> Operator {
    let operator = Operator::with_nothing();
    let home = operator.home.path().display().to_string();
    let filled = |text: &str| {
        text.replace("{keys}", STATIC_KEYS)
            .replace("{aws}", aws)
            .replace("{home}", &home)
    };
    write_credentials(&operator);
    operator.file(".aws/config", &filled(profile.config));
    let mut operator = operator.variable("INTAKE_STACK", "intake-test");
    for (name, value) in profile.variables {
        operator = operator.variable(name, &filled(value));
    }
    operator
}

/// The files that sign-ins have left, and a process that counts how often it runs.
fn write_credentials(operator: &Operator) {
    let home = operator.home.path();
    let end = "2099-01-01T00:00:00Z";
    for folder in [".aws/sso/cache", ".aws/login/cache"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    let process = json!({
        "Version": 1, "AccessKeyId": "Process", "SecretAccessKey": "s", "SessionToken": "t", "Expiration": end,
    });
    let script = format!("echo run >> {}/runs\necho '{process}'\n", home.display());
    operator.file("process.sh", &script);
    // The name of a file is the SHA-1 of the name of its session.
    let token = json!({"accessToken": "t", "expiresAt": end, "region": "eu-central-1"});
    operator.file(
        ".aws/sso/cache/fbf63c6adba57ff2a18d83d55deff3db5e89b043.json",
        &token.to_string(),
    );
    let login = json!({
        "accessToken": {
            "accessKeyId": "Login", "secretAccessKey": "s", "sessionToken": "t", "accountId": "123456789012",
            "expiresAt": end,
        },
        "tokenType": "aws_sigv4", "refreshToken": "r", "idToken": "i", "clientId": "c", "dpopKey": "k",
    });
    // That of a login is the SHA-256.
    operator.file(
        ".aws/login/cache/a1abaa720f53d98a18ca92dbb4863eca9d1f3f9ddacc78048d233e7faa396a09.json",
        &login.to_string(),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_with_any_profile_gets_a_key_and_asks_for_credentials_once() {
    for profile in &PROFILES {
        let name = profile.name;
        let aws = HttpServer::start(FakeAws::default(), None).await.unwrap();
        let operator = operator_with(profile, &aws.endpoint());
        let created = operator.run(&CREATE);
        assert_eq!(created.code, Some(0), "{name}: {created:?}");
        assert!(
            created.stdout.starts_with("intake_sk_"),
            "{name}: {created:?}"
        );
        let calls = aws.service.calls();
        let put = calls.iter().find(|call| call.operation == "PutItem");
        assert_eq!(put.unwrap().access_key, profile.access_key, "{name}");
        if let Some(asked) = profile.asked_once {
            assert_eq!(aws.service.count(asked), 1, "{name}: {calls:?}");
        }
        if name == "process" {
            assert_eq!(operator.read("runs"), "run\n");
        }
    }
}
