//! The functions: built first, so that a failed build is reported at once, then run as processes
//! over Lambda's Runtime API. Must not know what a request does.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::body::Bytes;
use emulator::Template;
use sandbox::function_process::ProcessOptions;
use sandbox::pool::{Failure, Pool, PoolOptions};
use sandbox::runtime_api::EventQueue;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::options::Options;
use crate::programs::Programs;
use crate::progress::status;
use crate::stack_info::ENDPOINT_VARIABLE;

/// How long a process may take to end when it is asked to: one without work ends at once.
const GRACE: Duration = Duration::from_secs(2);

/// Builds the functions with cargo's own progress.
///
/// # Errors
/// The build fails.
pub(crate) async fn build(programs: &Programs, template: &Template, release: bool) -> Result<()> {
    let packages = template
        .functions
        .iter()
        .map(|function| function.package.as_str())
        .collect::<Vec<_>>();
    programs.build("The functions", &packages, release).await
}

/// The running functions. Their processes end with [`Functions::end`], or are killed with the
/// runtime.
#[derive(Clone)]
pub(crate) struct Functions {
    /// By their names in the template.
    events: HashMap<String, EventQueue>,
    pools: Vec<(String, Arc<Pool>)>,
}

impl Functions {
    /// Starts them with these variables; a process starts with an event. Every line that they print
    /// is sent to `log`.
    pub(crate) fn start(
        template: &Template,
        programs: &Programs,
        options: &Options,
        environment: &[(String, String)],
        log: &mpsc::UnboundedSender<String>,
    ) -> Self {
        let (mut events, mut pools) = (HashMap::new(), Vec::new());
        for function in &template.functions {
            let queue = EventQueue::of_node(fastrand::u64(..1 << 48));
            let mut process =
                ProcessOptions::new(programs.function(&function.package, options.release), "");
            let name = (
                "AWS_LAMBDA_FUNCTION_NAME".to_owned(),
                function.package.clone(),
            );
            let variables = environment.iter().cloned().chain([name]);
            process.variables = variables
                .map(|(name, value)| (name, value.into()))
                .collect();
            // Of two values of a variable, the last one counts.
            let dynamodb = environment
                .iter()
                .rev()
                .find(|(name, _)| name == ENDPOINT_VARIABLE);
            process.dynamodb = dynamodb
                .map(|(_, endpoint)| endpoint.clone())
                .unwrap_or_default();
            (process.invocation_timeout, process.has_own_group) = (function.timeout, true);
            process.log = Some(log.clone());
            let pool = Pool::start(PoolOptions {
                events: queue.clone(),
                process: Box::new(move |_| process.clone()),
                at_once: options.concurrency.into(),
                lifetime: u64::MAX..=u64::MAX,
                seed: 0,
                report,
            });
            events.insert(function.logical_id.clone(), queue);
            pools.push((function.package.clone(), pool));
        }
        Self { events, pools }
    }

    /// One whose events a test serves.
    #[cfg(test)]
    pub(crate) fn of_test(function: &str, events: EventQueue) -> Self {
        Self {
            events: HashMap::from([(function.to_owned(), events)]),
            pools: Vec::new(),
        }
    }

    /// What the function with this name in the template returns, or `None` if it ends instead.
    pub(crate) async fn invoke(&self, function: &str, event: impl Into<Bytes>) -> Option<Bytes> {
        let invocation = self.events.get(function)?.invoke(event.into()).await;
        invocation.map(|invocation| invocation.response)
    }

    /// Asks their processes to end, and returns when they have.
    pub(crate) async fn end(&self) {
        let pools = self.pools.iter().map(|(_, pool)| Arc::clone(pool));
        pools
            .map(|pool| async move { pool.end(GRACE).await })
            .collect::<JoinSet<()>>()
            .join_all()
            .await;
    }

    /// One that has ended by itself, if there is one.
    pub(crate) fn ended(&self) -> Option<&str> {
        self.pools
            .iter()
            .find(|(_, pool)| pool.counts().ended > 0)
            .map(|(name, _)| name.as_str())
    }
}

fn report(program: &Path, failure: Failure) {
    // In a release, the folder has the name of the function.
    let is_release = program.file_name().is_some_and(|name| name == "bootstrap");
    let name = if is_release {
        program.parent().and_then(Path::file_name)
    } else {
        program.file_name()
    };
    let name = name.unwrap_or_default().display();
    match failure {
        Failure::NotStarted(error) => {
            status(&format!("The function {name} does not start: {error:#}"));
        }
        Failure::Ended(how) => {
            status(&format!(
                "The function {name} ended by itself ({how}); the next event starts it again."
            ));
        }
    }
}
