//! The address, the key and the variables of a running stack: printed for people, and written to
//! [a file](env_file) for programs. Must not know how the stack is started.

pub(crate) mod env_file;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use aws::s3;
use emulator::development_key;

use crate::terminal::print_text;

/// The region that local requests are signed for. The emulator takes any region.
const REGION: &str = "us-east-1";

/// The SDK's variables for the addresses of services. The stack serves all of them at one address.
pub(crate) const DYNAMODB_ENDPOINT_VARIABLE: &str = "AWS_ENDPOINT_URL_DYNAMODB";
pub(crate) const SQS_ENDPOINT_VARIABLE: &str = "AWS_ENDPOINT_URL_SQS";

/// The variable that tunes the functions' allocator. It is not written to the file, because its
/// value has an `=`, which `cargo lambda watch --env-file` does not read.
const ALLOCATOR_VARIABLE: &str = "GLIBC_TUNABLES";

/// The credentials of local requests. An SDK sends no request without credentials, and the emulator
/// takes any.
const ACCESS_KEY: &str = "local";

/// Where the stack listens.
pub(crate) struct Addresses {
    pub(crate) api: SocketAddr,
    pub(crate) inspector: SocketAddr,
}

/// The address, the key and the variables of a stack.
pub(crate) struct StackInfo {
    /// The base URL of the API, such as `http://127.0.0.1:9000`, without a slash at the end.
    pub(crate) base_url: String,
    /// The URL of the inspector's page, and the base URL of its API.
    inspector_url: String,
    /// What the functions learn from their environment: the SDK's variables and those of the
    /// template.
    pub(crate) environment: Vec<(String, String)>,
}

impl StackInfo {
    /// `aws` is the address of the fakes of AWS's services, and `resources` has the variables of the
    /// template.
    pub(crate) fn new(addresses: &Addresses, aws: &str, resources: Vec<(String, String)>) -> Self {
        let mut environment = [
            (DYNAMODB_ENDPOINT_VARIABLE, aws),
            (SQS_ENDPOINT_VARIABLE, aws),
            (s3::ENDPOINT_VARIABLE, aws),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", ACCESS_KEY),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
        environment.extend(resources);
        // A stack that listens on every address is reached on the loopback address.
        let url = |address: SocketAddr| match (address.ip().is_unspecified(), address.port()) {
            (true, port) => format!("http://127.0.0.1:{port}"),
            (false, _) => format!("http://{address}"),
        };
        Self {
            base_url: url(addresses.api),
            inspector_url: url(addresses.inspector),
            environment,
        }
    }

    /// Prints the addresses, the key and the path of the variables on standard output.
    pub(crate) fn print(&self, env_file: &Path) {
        let Self {
            base_url,
            inspector_url,
            ..
        } = self;
        let key = development_key::API_KEY;
        let lines = curl_lines().join("\n");
        // The path is absolute because `.` looks for a name without a folder on the PATH.
        let env_file =
            quoted(&std::path::absolute(env_file).unwrap_or_else(|_| env_file.to_owned()));
        let text = format!(
            "
Intake is running, until Ctrl-C.

  Base URL   {base_url}
  Inspector  {inspector_url}
  API key    {key}
  Variables  {env_file}

Try it in another terminal:

. {env_file}
{lines}
"
        );
        print_text(text);
    }

    /// The variables, one `NAME=value` on each line, as sh, `cargo lambda watch --env-file` and
    /// dotenv read them. A shell that reads them exports none, so that the variables of AWS do not
    /// direct other programs to this stack. But if the shell exports an AWS variable already, it
    /// exports the new value.
    pub(crate) fn variables(&self) -> String {
        let own = [
            ("BASE_URL", self.base_url.as_str()),
            ("API_KEY", development_key::API_KEY),
            ("ACCOUNT_ID", development_key::ACCOUNT_ID),
            ("INSPECTOR_URL", self.inspector_url.as_str()),
        ];
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let variables = own
            .into_iter()
            .chain(environment)
            .filter(|(name, _)| *name != ALLOCATOR_VARIABLE);
        variables.fold(String::new(), |mut text, (name, value)| {
            let _ = writeln!(text, "{name}={value}");
            text
        })
    }
}

/// One request for each endpoint, to be pasted as it is.
fn curl_lines() -> [String; 3] {
    let get =
        |path: &str| format!(r#"curl -sS "$BASE_URL{path}" -H "Authorization: Bearer $API_KEY""#);
    let post = |path: &str, body: &str| {
        format!(
            "{} -H 'Content-Type: application/json' -d '{body}'",
            get(path)
        )
    };
    [
        get("/api/sdk/ping"),
        post(
            "/api/customers",
            r#"{"customerId":"c1","customerData":{"firstName":"Ada","email":"ada@example.com"}}"#,
        ),
        post(
            "/api/event-flows/signal",
            r#"{"signals":[{"customerId":"c1","eventType":"viewed","data":{"productId":"p1","price":12.5}}]}"#,
        ),
    ]
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    if path
        .chars()
        .all(|c| c.is_alphanumeric() || "/._-+@%,:".contains(c))
    {
        return path;
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use emulator::Template;

    use super::{Addresses, StackInfo, curl_lines, quoted};

    fn stack_info() -> StackInfo {
        let template =
            Template::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml").as_ref())
                .unwrap();
        let address = |port| ([127, 0, 0, 1], port).into();
        let addresses = Addresses {
            api: address(9000),
            inspector: address(9001),
        };
        StackInfo::new(
            &addresses,
            "http://127.0.0.1:8000",
            template.environment().unwrap(),
        )
    }

    #[test]
    fn every_route_of_the_template_has_a_curl_line() {
        let template =
            Template::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml").as_ref())
                .unwrap();
        let lines = curl_lines();

        for route in template.routes() {
            let url = format!(
                " \"$BASE_URL{}\" -H \"Authorization: Bearer $API_KEY\"",
                route.path
            );
            assert!(
                lines.iter().any(|line| line.contains(&url)),
                "{} has no line",
                route.path
            );
        }
    }

    #[test]
    fn sh_cargo_lambda_and_dotenv_read_every_line_alike() {
        let text = stack_info().variables();
        for line in text.lines() {
            let (name, value) = line.split_once('=').unwrap();
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'),
                "{line}"
            );
            assert!(
                !value.is_empty()
                    && value
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || ":/._-".contains(c)),
                "{line}"
            );
        }
        for name in [
            "BASE_URL",
            "API_KEY",
            "ACCOUNT_ID",
            "INSPECTOR_URL",
            "AWS_ENDPOINT_URL_DYNAMODB",
            "AWS_ENDPOINT_URL_SQS",
            "AWS_ENDPOINT_URL_S3",
            "AWS_REGION",
            "SIGNALS_TABLE",
        ] {
            assert!(
                text.lines()
                    .any(|line| line.starts_with(&format!("{name}="))),
                "{name}: {text}"
            );
        }
    }

    #[test]
    fn sourced_variables_are_set_and_not_exported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it's a file.env");
        std::fs::write(&path, stack_info().variables()).unwrap();
        let script = format!(". {}; echo $SIGNALS_TABLE $BASE_URL; env", quoted(&path));
        let output = Command::new("sh")
            .args(["-c", &script])
            .env_clear()
            .output()
            .unwrap();

        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.starts_with("SignalsTable http://127.0.0.1:9000\n"),
            "{text}"
        );
        assert!(
            !text.contains("AWS_") && !text.contains("BASE_URL="),
            "{text}"
        );
    }
}
