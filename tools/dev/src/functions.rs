//! The functions: built first, so that a failed build is told at once, then run by `cargo lambda watch`, then asked
//! until they answer. `cargo lambda watch` starts a function at its first request, with `cargo run --bin` and the same
//! selection as [`build`], so nothing is compiled twice.

use std::time::{Duration, Instant};

use dev::{Error, Template, cargo_command, development_key};
use tokio::process::Command;

use crate::announcement::Announcement;
use crate::cargo_lambda::CargoLambda;
use crate::options::Options;
use crate::process::{ProcessTree, succeeds};
use crate::progress::say;
use crate::workspace::Workspace;

/// How long the functions may take until they answer. They are built by then; another cargo may hold the build lock.
const TIME_TO_ANSWER: Duration = Duration::from_mins(5);

/// After how long a wait is explained.
const TIME_TO_EXPLAIN: Duration = Duration::from_secs(10);

/// How long one question waits for its answer.
const TIME_FOR_A_REQUEST: Duration = Duration::from_secs(20);

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Variables of the developer's own that would send the SDK elsewhere.
pub(crate) const UNWANTED_VARIABLES: [&str; 4] =
    ["AWS_ENDPOINT_URL", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_PROFILE", "AWS_SESSION_TOKEN"];

/// A question that only Intake answers so: the path, the status, and words of the body. One for each function.
const QUESTIONS: [(&str, u16, &str); 2] =
    [("/api/sdk/ping", 200, "\"pong\""), ("/api/event-flows/signal", 405, "method-not-allowed")];

/// Builds the functions with cargo's own progress.
///
/// # Errors
/// The build fails.
pub(crate) async fn build(workspace: &Workspace, template: &Template, release: bool) -> Result<(), Error> {
    let packages = template.functions.iter().map(|function| function.package.as_str()).collect::<Vec<_>>();
    say(&format!("Building the functions: {}", packages.join(", ")));
    let mut command = Command::from(cargo_command(&workspace.cargo));
    command.args(["build", "--locked"]).current_dir(&workspace.root);
    for package in packages {
        command.args(["--bin", package]);
    }
    if release {
        command.arg("--release");
    }
    if succeeds(command).await? {
        return Ok(());
    }
    Err(Error::new("The functions could not be built: cargo's output above says why."))
}

/// The running functions.
pub(crate) struct Functions {
    watch: ProcessTree,
}

impl Functions {
    /// Starts `cargo lambda watch` on this port.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(
        cargo_lambda: &CargoLambda,
        workspace: &Workspace,
        options: &Options,
        announcement: &Announcement,
        port: u16,
    ) -> Result<Self, Error> {
        say("Starting the functions");
        let mut command = cargo_lambda.command();
        command
            .args(["watch", "--locked", "--disable-cors", "--invoke-address", "127.0.0.1"])
            .args(["--invoke-port", &port.to_string()])
            .args(["--concurrency", &options.concurrency.to_string()])
            .args(options.release.then_some("--release"))
            .current_dir(&workspace.root)
            .envs(announcement.environment.iter().map(|(name, value)| (name, value)));
        for variable in UNWANTED_VARIABLES {
            command.env_remove(variable);
        }
        Ok(Self { watch: ProcessTree::start(command)? })
    }

    /// Waits until each function answers as Intake does.
    ///
    /// # Errors
    /// `cargo lambda watch` ends, or a function does not answer so in time.
    pub(crate) async fn wait_until_they_answer(&mut self, announcement: &Announcement) -> Result<(), Error> {
        tokio::select! {
            failure = self.end() => Err(failure),
            answered = ask_all(&announcement.base_url) => answered,
        }
    }

    /// Waits for what should not happen: `cargo lambda watch` ends by itself.
    pub(crate) async fn end(&mut self) -> Error {
        match self.watch.wait().await {
            Ok(status) => Error::new(format!("cargo lambda watch ended by itself ({status}): see its output above.")),
            Err(error) => error,
        }
    }
}

async fn ask_all(base_url: &str) -> Result<(), Error> {
    let start = Instant::now();
    for (path, status, words) in QUESTIONS {
        let url = format!("{base_url}{path}");
        let mut explained = false;
        loop {
            let asked = url.clone();
            let answer = tokio::task::spawn_blocking(move || ask(&asked)).await.unwrap_or_default();
            if answer.status == status && answer.text.contains(words) {
                break;
            }
            if start.elapsed() > TIME_TO_ANSWER {
                return Err(Error::new(format!(
                    "GET {path} does not answer as it should after {} s; the last answer was: {}",
                    TIME_TO_ANSWER.as_secs(),
                    answer.text.trim(),
                )));
            }
            if !explained && start.elapsed() > TIME_TO_EXPLAIN {
                explained = true;
                say(&format!("Still waiting for GET {path}; the last answer was: {}", answer.text.trim()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Answer {
    /// 0 where there was none.
    status: u16,
    /// The body, or why there was none.
    text: String,
}

fn ask(url: &str) -> Answer {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(TIME_FOR_A_REQUEST))
        .http_status_as_error(false)
        .proxy(None)
        .build()
        .into();
    let request = agent.get(url).header("Authorization", format!("Bearer {}", development_key::API_KEY));
    match request.call() {
        Ok(mut response) => Answer {
            status: response.status().as_u16(),
            text: response.body_mut().read_to_string().unwrap_or_else(|error| error.to_string()),
        },
        Err(error) => Answer { status: 0, text: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use dev::Template;

    use super::QUESTIONS;

    #[test]
    fn every_function_of_the_template_is_asked() {
        let template = Template::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml").as_ref()).unwrap();

        for function in &template.functions {
            let asked = function.routes.iter().any(|route| QUESTIONS.iter().any(|(path, ..)| *path == route.path));
            assert!(asked, "nothing is asked of {}", function.logical_id);
        }
    }
}
