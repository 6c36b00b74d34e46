//! Files of AWS profiles that this program cannot read, and keys with line ends: the operator hears what is
//! wrong, and in which variable or line.

use std::os::unix::fs::symlink;
use std::thread;

use serde_json::json;
use testkit::http_server::HttpServer;

use crate::aws_profiles::{CREATE, Profile, operator_with};
use crate::support::fake_aws::{Change, FakeAws, KEY_SNAPSHOT_BUCKET};
use crate::support::operator::{CommandOutput, Operator};

/// Runs a command with this `~/.aws/config` and these variables.
fn run(
    config: &'static str,
    variables: &'static [(&'static str, &'static str)],
) -> (Operator, CommandOutput) {
    let profile = Profile {
        name: "",
        config,
        variables,
        access_key: "",
        asked_once: None,
    };
    // Nothing is called.
    let operator = operator_with(&profile, "http://127.0.0.1:1");
    let output = operator.run(&CREATE);
    (operator, output)
}

const KEYS: &str = "[default]\n{keys}endpoint_url = {aws}\n";

#[test]
fn variable_with_a_line_end_is_named_and_its_value_is_not_shown() {
    for (variables, told) in [
        (
            &[
                ("AWS_ACCESS_KEY_ID", "AKIA"),
                ("AWS_SECRET_ACCESS_KEY", "wJalr\n"),
            ][..],
            "AWS_SECRET_ACCESS_KEY has a line end or another control character. Set it without.",
        ),
        (
            &[("AWS_SESSION_TOKEN", "wJalr\r")],
            "AWS_SESSION_TOKEN has a line end or another control character. Set it without.",
        ),
        (
            &[("AWS_ACCESS_KEY_ID", "wJalr ")],
            "AWS_ACCESS_KEY_ID has a blank, or a character that no key has. Set it without.",
        ),
        (
            &[("AWS_PROFILE", "ops\r")],
            "AWS_PROFILE has a line end or another control character. Set it without.",
        ),
    ] {
        let (_, output) = run(KEYS, variables);
        assert!(!output.stderr.contains("wJalr"), "{output:?}");
        assert_eq!(output.error_message(), told);
    }
}

#[test]
fn key_with_a_line_end_is_named_with_its_line() {
    for (config, told, line) in [
        (
            "[default]\nregion = eu-central-1\nendpoint_url = {aws}\naws_access_key_id = AKIA\naws_secret_access_key = wJalr\n  XUtnF\n",
            "aws_secret_access_key",
            6,
        ),
        (
            "[profile other]\na = b\u{b}\n[default]\n# a comment\nregion = eu-central-1\naws_session_token = wJalr\u{b}\n",
            "aws_session_token",
            6,
        ),
        (
            "[default]\nregion = eu-central-1\nrole_session_name = a\u{7f}\n",
            "role_session_name",
            3,
        ),
    ] {
        let (operator, output) = run(config, &[]);
        assert!(!output.stderr.contains("wJalr"), "{output:?}");
        let file = operator.home.path().join(".aws/config");
        assert_eq!(
            output.error_message(),
            format!(
                "{told} of an AWS profile has a line end or another control character: line {line} of {}.",
                file.display()
            )
        );
    }
}

#[test]
fn file_with_the_line_ends_of_windows_is_read() {
    let (_, output) = run(
        "[default]\r\nregion = eu-central-1\r\naws_access_key_id = AKIA\r\naws_secret_access_key = s\r\n",
        &[("AWS_ENDPOINT_URL", "http://127.0.0.1:1")],
    );
    let error = output.error_message();
    assert!(error.contains("cannot reach CloudFormation"), "{error}");
}

#[test]
fn process_that_gives_a_key_with_a_line_end_is_told() {
    let operator = Operator::with_nothing();
    std::fs::create_dir_all(operator.home.path().join(".aws")).unwrap();
    let given = json!({"Version": 1, "AccessKeyId": "AKIA", "SecretAccessKey": "wJalr\n"});
    operator.file("given", &given.to_string());
    operator.file(
        ".aws/config",
        "[default]\nregion = eu-central-1\ncredential_process = cat given\n",
    );
    let output = operator.run(&CREATE);
    assert!(!output.stderr.contains("wJalr"), "{output:?}");
    assert_eq!(
        output.error_message(),
        "No AWS credentials from the profile default: what gives them has given a key or a token with a line end, a blank or \
         another character that none has. Run its credential_process in a shell to see what that prints."
    );
}

/// Neither a variable nor a setting of a profile with control characters ends the program with a panic.
#[tokio::test(flavor = "multi_thread")]
async fn no_setting_of_a_profile_with_control_characters_makes_the_program_panic() {
    let aws = HttpServer::start(FakeAws::default(), None).await.unwrap();
    let settings = [
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
        "ca_bundle",
        "credential_process",
        "credential_source",
        "defaults_mode",
        "duration_seconds",
        "endpoint_url",
        "external_id",
        "login_session",
        "max_attempts",
        "mfa_serial",
        "region",
        "retry_mode",
        "role_arn",
        "role_session_name",
        "sdk_ua_app_id",
        "services",
        "source_profile",
        "sso_account_id",
        "sso_region",
        "sso_role_name",
        "sso_session",
        "sso_start_url",
        "use_fips_endpoint",
        "web_identity_token_file",
    ];
    let endpoint = &aws.endpoint();
    thread::scope(|scope| {
        for setting in settings {
            scope.spawn(move || {
                for value in ["a\u{1}\u{7f}b", "a\r", "é\u{85}"] {
                    let profile = Profile {
                        name: "",
                        config: "",
                        variables: &[
                            ("API_KEYS_TABLE", "ApiKeysTable"),
                            ("INTAKE_STACK", ""),
                            ("KEY_SNAPSHOT_BUCKET", KEY_SNAPSHOT_BUCKET),
                        ],
                        access_key: "",
                        asked_once: None,
                    };
                    let operator = operator_with(&profile, endpoint);
                    let config = format!(
                        "[default]\nregion = eu-central-1\nendpoint_url = {endpoint}\naws_access_key_id = a\n\
                         aws_secret_access_key = s\n{setting} = {value}\n"
                    );
                    operator.file(".aws/config", &config);
                    let run = operator.run(&CREATE);
                    assert!(
                        matches!(run.code, Some(0 | 1)),
                        "{setting} = {value:?}: {run:?}"
                    );
                }
            });
        }
    });
}

#[test]
fn file_that_is_no_utf_8_or_cannot_be_read_is_named() {
    let operator = Operator::with_nothing();
    let folder = operator.home.path().join(".aws");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["config", "credentials"] {
        let file = folder.join(name);
        std::fs::write(&file, b"[default]\nregion = eu-central-1\n# b\xfcro\n").unwrap();
        assert_eq!(
            operator.run(&CREATE).error_message(),
            format!(
                "The file of AWS profiles {} is no text in UTF-8. Store it as that.",
                file.display()
            )
        );
        // As root, tests may read every file.
        std::fs::remove_file(&file).unwrap();
        symlink(&file, &file).unwrap();
        let error = operator.run(&CREATE).error_message();
        let told = format!(
            "The file of AWS profiles {} cannot be read: ",
            file.display()
        );
        assert!(error.starts_with(&told), "{error}");
        std::fs::remove_file(&file).unwrap();
    }
}

/// A file of profiles that only the AWS command line reads, and what the operator hears. `{file}` is its path.
struct UnreadableProfile {
    config: &'static str,
    profile: &'static str,
    told: String,
}

fn about_section(heading: &str, line: usize) -> String {
    format!(
        "This program cannot read the section [{heading}], line {line} of {{file}}: a name has no quotation marks, and only \
         letters from a to z, digits, and the characters _-/.%@:+."
    )
}

fn about_line(line: usize, reason: &str) -> String {
    format!(
        "This program cannot read the AWS profiles: could not parse profile file: error parsing {{file}} on line {line}: {reason}."
    )
}

fn unreadable_profiles() -> [UnreadableProfile; 8] {
    let sso_in_both = "This program cannot read sso_start_url beside sso_session in the AWS profile default: write it in the \
                       section sso-session own alone.";
    let unreadable = |config, profile, told: String| UnreadableProfile {
        config,
        profile,
        told,
    };
    [
        unreadable(
            "[profile \"my dev\"]\nregion = eu-central-1\n",
            "my dev",
            about_section("profile \"my dev\"", 1),
        ),
        unreadable(
            "[default]\nregion = eu-central-1\n[profile büro]\n",
            "büro",
            about_section("profile büro", 3),
        ),
        unreadable(
            "[profile ops]\nregion = eu-central-1\nrole_arn = arn:aws:iam::1:role/ops\nsource_profile = dev\n[profile 'dev']\n",
            "ops",
            about_section("profile 'dev'", 5),
        ),
        unreadable(
            "[default]\nsso_session = my sso\n[sso-session 'my sso']\nsso_region = eu-central-1\n",
            "default",
            about_section("sso-session 'my sso'", 3),
        ),
        unreadable(
            "[default]\n region = eu-central-1\n",
            "default",
            about_line(
                2,
                "Expected a property definition, found continuation (a blank stands before the first setting of a section)",
            ),
        ),
        unreadable(
            "[default] /* x */\nregion = eu-central-1\n",
            "default",
            about_line(
                1,
                "Profile definition must end with ']' (only a comment, which begins with # or ;, may follow the bracket)",
            ),
        ),
        unreadable(
            "[default]\nsso_session = own\nsso_start_url = https://own.awsapps.com/start\n[sso-session own]\n\
             sso_start_url = https://own.awsapps.com/start\n",
            "default",
            sso_in_both.to_owned(),
        ),
        unreadable(
            "[default]\nregion = eu-central-1\n",
            "my dev",
            "The AWS profile my dev does not exist: there are default. Check AWS_PROFILE."
                .to_owned(),
        ),
    ]
}

/// The error of a command with this profile, in this file.
fn error_with(profile: &str, file: &str, text: &str) -> String {
    let operator = Operator::with_nothing().variable("AWS_PROFILE", profile);
    std::fs::create_dir_all(operator.home.path().join(".aws")).unwrap();
    operator.file(file, text);
    let path = operator.home.path().join(file).display().to_string();
    operator
        .run(&CREATE)
        .error_message()
        .replace(&path, "{file}")
}

#[test]
fn profile_that_only_the_aws_command_line_reads_is_told_as_that() {
    for UnreadableProfile {
        config,
        profile,
        told,
    } in unreadable_profiles()
    {
        assert_eq!(error_with(profile, ".aws/config", config), told, "{config}");
    }
    // The names of the file of credentials stand alone.
    let credentials = "[my dev]\naws_access_key_id = a\n";
    assert_eq!(
        error_with("my dev", ".aws/credentials", credentials),
        about_section("my dev", 1)
    );
}

const SSO: &str = "[default]\nregion = eu-central-1\nendpoint_url = {aws}\nsso_session = own\nsso_account_id = 123456789012\n\
    sso_role_name = ops\n[sso-session own]\nsso_region = eu-central-1\nsso_start_url = https://own.awsapps.com/start\n";

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_is_advised_only_where_it_helps() {
    for (status, code, told) in [
        (
            403,
            "ForbiddenException",
            "Single sign-on gives you no access to this account and role: check sso_account_id and sso_role_name, and who is \
             assigned to them.",
        ),
        (
            429,
            "TooManyRequestsException",
            "AWS throttles the sign-ins. Wait a minute and run the command again.",
        ),
        (
            401,
            "UnauthorizedException",
            "Sign in: `aws sso login --profile default`.",
        ),
    ] {
        let change = Change {
            operation: "/federation/credentials",
            about: "",
            place: "",
            value: json!({"__type": code, "message": "no", "httpStatus": status}),
        };
        let aws = HttpServer::start(FakeAws::new(Some(change)), None)
            .await
            .unwrap();
        let profile = Profile {
            name: "",
            config: SSO,
            variables: &[],
            access_key: "",
            asked_once: None,
        };
        let operator = operator_with(&profile, &aws.endpoint());
        let error = operator.run(&CREATE).error_message();
        assert!(error.contains(code), "{error}");
        assert!(error.ends_with(told), "{error}");
        assert_eq!(error.contains("Sign in:"), status == 401, "{error}");
    }
}

#[test]
fn region_is_named_before_the_network_when_aws_is_not_reached() {
    let (_, signed_in) = run(SSO, &[]);
    let error = signed_in.error_message();
    let advice = "Check the region, the network, and endpoints and proxies if you set them.";
    assert!(error.ends_with(advice), "{error}");
    let (_, with_keys) = run(KEYS, &[("AWS_REGION", "eu-centrall-1")]);
    let error = with_keys.error_message();
    let told = format!(
        "Cannot read the stack intake-test in eu-centrall-1: cannot reach CloudFormation. {advice}"
    );
    assert!(error.starts_with(&told), "{error}");
}
