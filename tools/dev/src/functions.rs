//! The functions: built first, so that a failed build is reported at once, then run by `cargo lambda watch`, then checked
//! until they are ready. Must not know what a request does.
//!
//! `cargo lambda watch` starts a function at its first request, with `cargo run --bin` and the same selection as [`build`],
//! so nothing is compiled twice.

use std::net::Ipv4Addr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use emulator::{Template, development_key};
use tokio::net::TcpSocket;
use tokio::process::Command;

use crate::cargo_lambda::CargoLambda;
use crate::log::{FunctionLog, RequestLog};
use crate::options::Options;
use crate::overflow;
use crate::process::ProcessTree;
use crate::progress::status;
use crate::workspace::Workspace;

/// How long the functions may take to start. They are built by then, but another cargo may hold the build lock.
const READY_TIMEOUT: Duration = Duration::from_mins(5);

/// After this, a message says what is waited for.
const EXPLAIN_AFTER: Duration = Duration::from_secs(10);

/// The timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Variables of the developer that would make the SDK use another endpoint or account, the function a real queue or a real
/// bucket, or `cargo intake` a deployed stack.
const UNWANTED_VARIABLES: [&str; 6] = [
    "AWS_ENDPOINT_URL",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_PROFILE",
    "AWS_SESSION_TOKEN",
    "INTAKE_STACK",
    "KEY_SNAPSHOT_BUCKET",
];

/// Gives a command these variables, and none of the developer's that would lead it elsewhere.
pub(crate) fn set_environment(command: &mut Command, environment: &[(String, String)]) {
    for unwanted in UNWANTED_VARIABLES.iter().chain(&overflow::VARIABLES) {
        command.env_remove(unwanted);
    }
    command.envs(environment.iter().map(|(name, value)| (name, value)));
}

/// A request of which only Intake has this response: the path, the body that is posted to it or nothing to get it, the status, and a
/// part of the response. One for each function of the API, after which the function knows the development key: `--faults` come later.
const HEALTH_CHECKS: [(&str, &str, u16, &str); 2] =
    [("/api/sdk/ping", "", 200, "\"pong\""), ("/api/event-flows/signal", "{}", 400, "validation-failed")];

/// Builds the functions with cargo's own progress.
///
/// # Errors
/// The build fails.
pub(crate) async fn build(workspace: &Workspace, template: &Template, release: bool) -> Result<()> {
    let packages = template.functions.iter().map(|function| function.package.as_str()).collect::<Vec<_>>();
    workspace.build("The functions", &packages, release).await
}

/// A free port for `cargo lambda watch`. While the functions are built, no other program can take it, and it refuses
/// connections.
///
/// # Errors
/// No port is free.
pub(crate) fn reserve_port() -> Result<TcpSocket> {
    let reserve = || {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).map(|()| socket)
    };
    reserve().context("Cannot find a free port of 127.0.0.1")
}

/// The running functions.
pub(crate) struct Functions {
    watch: ProcessTree,
    /// What they log, unless it is passed on as it is.
    log: Option<FunctionLog>,
    port: u16,
}

impl Functions {
    /// Starts `cargo lambda watch` on the port that is reserved for it.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(
        cargo_lambda: &CargoLambda,
        workspace: &Workspace,
        options: &Options,
        environment: &[(String, String)],
        reserved_port: TcpSocket,
    ) -> Result<Self> {
        status("Starting the functions");
        let port = reserved_port.local_addr()?.port();
        // `cargo lambda watch` opens the port itself.
        drop(reserved_port);
        let mut command = cargo_lambda.command();
        command
            .args(["watch", "--locked", "--disable-cors", "--invoke-address", "127.0.0.1"])
            .args(["--invoke-port", &port.to_string()])
            .args(["--concurrency", &options.concurrency.to_string()])
            .args(options.release.then_some("--release"))
            .current_dir(&workspace.root);
        set_environment(&mut command, environment);
        if !options.raw {
            // With this option, cargo prints only warnings and errors.
            command.arg("--quiet").stdout(Stdio::piped());
        }
        Ok(Self { watch: ProcessTree::start(command)?, log: None, port })
    }

    /// Reads what they log, unless it is passed on as it is.
    pub(crate) fn read_log(&mut self, requests: RequestLog) {
        self.log = self.watch.take_stdout().map(|output| FunctionLog::read(output, requests));
    }

    /// Waits until every function passes its health check.
    ///
    /// # Errors
    /// `cargo lambda watch` ends, or a health check does not pass in time.
    pub(crate) async fn wait_until_ready(&mut self) -> Result<()> {
        let base_url = format!("http://127.0.0.1:{}", self.port);
        tokio::select! {
            failure = self.end() => Err(failure),
            ready = check_all(&base_url) => ready,
        }
    }

    /// Waits for what should not happen: `cargo lambda watch` ends by itself.
    pub(crate) async fn end(&mut self) -> Error {
        match self.watch.wait().await {
            Ok(status) => {
                if let Some(log) = &mut self.log {
                    log.show_hidden().await;
                }
                anyhow!("cargo lambda watch ended by itself ({status}): see its output above.")
            }
            Err(error) => error,
        }
    }
}

async fn check_all(base_url: &str) -> Result<()> {
    let start = Instant::now();
    for (path, body, expected, words) in HEALTH_CHECKS {
        let url = format!("{base_url}{path}");
        let mut explained = false;
        loop {
            let url = url.clone();
            let response = tokio::task::spawn_blocking(move || send(&url, body)).await.unwrap_or_default();
            if response.status == expected && response.text.contains(words) {
                break;
            }
            if start.elapsed() > READY_TIMEOUT {
                bail!(
                    "{path} does not have the expected response after {} s; the last response was: {}",
                    READY_TIMEOUT.as_secs(),
                    response.text.trim(),
                );
            }
            if !explained && start.elapsed() > EXPLAIN_AFTER {
                explained = true;
                status(&format!("Still waiting for {path}; the last response was: {}", response.text.trim()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Response {
    /// 0 where there was no response.
    status: u16,
    /// The body, or why there was none.
    text: String,
}

fn send(url: &str, body: &'static str) -> Response {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(REQUEST_TIMEOUT))
        .http_status_as_error(false)
        .proxy(None)
        .build()
        .into();
    let method = if body.is_empty() { "GET" } else { "POST" };
    let request = ureq::http::Request::builder().method(method).uri(url).header("Content-Type", "application/json");
    let request = request.header("Authorization", format!("Bearer {}", development_key::API_KEY)).body(body);
    match request.map_err(ureq::Error::from).and_then(|request| agent.run(request)) {
        Ok(mut response) => Response {
            status: response.status().as_u16(),
            text: response.body_mut().read_to_string().unwrap_or_else(|error| error.to_string()),
        },
        Err(error) => Response { status: 0, text: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    use emulator::Template;

    use super::{HEALTH_CHECKS, reserve_port};

    #[test]
    fn reserved_port_refuses_connections_and_is_free_after_its_drop() {
        let reserved = reserve_port().unwrap();
        let address = reserved.local_addr().unwrap();
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(TcpListener::bind(address).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(reserved);
        TcpListener::bind(address).unwrap();
    }

    #[test]
    fn each_function_of_the_template_is_built_and_has_a_health_check() {
        let template = Template::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml").as_ref()).unwrap();
        let builds_first = include_str!("../../start/src/main.rs");

        for function in &template.functions {
            let is_ready_without = function.routes.is_empty();
            let asked = function.routes.iter().any(|route| HEALTH_CHECKS.iter().any(|(path, ..)| *path == route.path));
            assert!(builds_first.contains(&format!("\"{}\"", function.package)), "{}", function.package);
            assert!(asked || is_ready_without, "nothing is asked of {}", function.logical_id);
        }
    }
}
