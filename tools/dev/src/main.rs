//! `cargo dev`: the local stack as one command. The emulator and the functions run in this process.
//!
//! It holds no fact about tables, routes or variables (the template has them) and none about what a
//! request means.

mod api_key;
mod contracts;
mod cors;
mod env_file;
mod event;
mod exchange;
mod faults;
mod functions;
mod gateway;
mod injected;
mod inspector;
mod log;
mod operator;
mod options;
mod overflow;
mod own_names;
mod parsed_response;
mod process;
mod programs;
mod progress;
mod recent_exchanges;
mod request_line;
mod seed;
mod sent;
mod server;
mod signal;
mod stack_info;

use std::convert::Infallible;
use std::net::TcpListener;
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use aws::environment::Variables;
use emulator::{Emulator, Storage, Template, development_key};
use service::telemetry;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::api_key::Keys;
use crate::contracts::Contracts;
use crate::env_file::{EnvFile, PublishedEnvFile};
use crate::faults::Faults;
use crate::functions::Functions;
use crate::gateway::{Gateway, Sources};
use crate::inspector::{Inspector, Stored};
use crate::log::EventWriter;
use crate::operator::Operator;
use crate::options::Options;
use crate::overflow::Overflow;
use crate::own_names::OwnNames;
use crate::programs::Programs;
use crate::progress::status;
use crate::recent_exchanges::RecentExchanges;
use crate::server::Server;
use crate::stack_info::StackInfo;

/// How often items whose time to live has passed are deleted.
const EXPIRY_INTERVAL: Duration = Duration::from_mins(1);

/// How long requests under way have for their answers when the stack is told to stop.
const GRACE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let options = Options::read();
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("Cannot start")
        .and_then(|runtime| runtime.block_on(run_until_told_to_stop(&options)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            status(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the stack until a signal asks to stop. What it started ends when its future is dropped,
/// whichever of its steps it had reached.
async fn run_until_told_to_stop(options: &Options) -> Result<()> {
    let mut told = pin!(told_to_stop()?);
    let stack = tokio::select! {
        stack = Stack::start(options) => Some(stack?),
        () = &mut told => None,
    };
    if let Some(stack) = stack {
        tokio::select! {
            failure = stack.delete_expired_items() => return failure.map(|never| match never {}),
            () = &mut told => stack.end().await,
        }
    }
    status("Stopped.");
    Ok(())
}

/// Ends when a signal asks this process to stop.
fn told_to_stop() -> Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

/// The running stack, in the order in which its parts end.
struct Stack {
    api: Server,
    _env_file: PublishedEnvFile,
    _faults: Option<Faults>,
    _overflow: Option<Overflow>,
    emulator: Arc<Emulator>,
}

impl Stack {
    /// Starts every part of it.
    async fn start(options: &Options) -> Result<Self> {
        let listeners = options.listen()?;
        let api = listeners.api.local_addr()?;
        let inspector = listeners.inspector.local_addr()?;
        if !options.host.is_loopback() {
            status(
                "Other machines can use the API and the inspector. The development key is public: they read and change what is stored.",
            );
        }
        let programs = Programs::find()?;
        let template = Template::read(&programs.root.join("template.yaml"))?;
        let cors = options.cors(&template)?;
        let injected = options.answers()?;
        let storage = options.storage()?;
        let env_file = options.env_file.clone();
        let env_file = EnvFile::at(env_file.unwrap_or_else(|| programs.env_file()))?;

        let emulator = start_emulator(&template, &storage, listeners.dynamodb)?;
        let overflow = if options.no_queue {
            None
        } else {
            Overflow::start(&template, &storage).await?
        };
        let mut environment = template.environment()?;
        environment.extend(overflow.iter().flat_map(Overflow::variables));
        let stack_info = StackInfo::new(api, inspector, &emulator.endpoint(), environment);
        let contracts = match &options.contracts {
            Some(dir) => Some(Contracts::start(&programs, dir).await?),
            None => None,
        };
        let operator = Operator::new(&programs, &stack_info);
        if options.seed {
            store_sample_data(&programs, &operator, &emulator, &template).await?;
        }

        let faults = match options.faults {
            Some(share) => Some(Faults::start(&emulator.endpoint(), share).await?),
            None => None,
        };
        // Of two values of a variable, the last one counts.
        let variables = stack_info.environment.iter().cloned();
        let variables = variables
            .chain(faults.as_ref().map(Faults::variable))
            .collect();
        let functions = start_functions(&template, &variables, options.raw).await?;
        if let Some(overflow) = &overflow {
            overflow.drain(functions.clone());
        }
        let names = OwnNames(options.host_name.clone());
        let keys = Keys {
            emulator: Arc::clone(&emulator),
            table: template.table("ApiKeysTable")?.name.clone(),
        };
        let gateway = Arc::new(Gateway {
            functions,
            routes: template.routes().cloned().collect(),
            names: names.clone(),
            cors,
            injected,
            sources: Sources {
                keys: Some(keys),
                contracts,
            },
            has_lines: !options.raw,
            exchanges: RecentExchanges::default(),
        });
        let server = gateway.serve(listeners.api)?;
        let inspector = Inspector {
            gateway,
            names,
            stored: Stored::new(Arc::clone(&emulator), &template, operator)?,
            queue: overflow.as_ref().map(|overflow| overflow.queue.clone()),
            api_port: api.port(),
        };
        inspector.serve(listeners.inspector)?;

        let published = env_file.publish(stack_info.variables())?;
        announce(options, &stack_info, published.path());
        if let Some(faults) = &faults {
            faults.begin();
        }
        Ok(Self {
            api: server,
            _env_file: published,
            _faults: faults,
            _overflow: overflow,
            emulator,
        })
    }

    /// Deletes the items whose time to live has passed, again and again.
    async fn delete_expired_items(&self) -> Result<Infallible> {
        loop {
            tokio::time::sleep(EXPIRY_INTERVAL).await;
            self.emulator.delete_expired_items()?;
        }
    }

    /// Ends it, once the requests under way have their answers.
    async fn end(self) {
        self.api.end(GRACE).await;
    }
}

/// Starts the emulator with the template's tables and the development key.
fn start_emulator(
    template: &Template,
    storage: &Storage,
    listener: TcpListener,
) -> Result<Arc<Emulator>> {
    let (failures, failed) = mpsc::unbounded_channel();
    let emulator = Emulator::start_on(template, storage, listener, Some(failures))?;
    tokio::spawn(show_failures(failed));
    development_key::load(&emulator, template)?;
    status(&format!(
        "DynamoDB emulator: {} tables at {}",
        template.tables.len(),
        emulator.endpoint()
    ));
    Ok(Arc::new(emulator))
}

/// Stores the sample data, unless the data file holds customers.
async fn store_sample_data(
    programs: &Programs,
    operator: &Operator,
    emulator: &Emulator,
    template: &Template,
) -> Result<()> {
    if emulator.is_empty(&template.table("CustomersTable")?.name)? {
        return seed::seed(programs, operator).await;
    }
    status("The data file holds customers: the sample data is not stored again.");
    Ok(())
}

/// Says that the stack is ready, and what differs from API Gateway by the options.
fn announce(options: &Options, stack_info: &StackInfo, env_file: &Path) {
    if !options.cors.is_empty() {
        let origins = options.cors.join(", ");
        status(&format!(
            "Pages of these origins may call the API: {origins}"
        ));
    }
    stack_info.print(env_file);
    if !options.answer.is_empty() {
        status("API Gateway's own answers are given now and then, as --answer says.");
    }
}

/// Starts the functions, which then know the development key. What they log is printed, for people
/// or as it is.
async fn start_functions(
    template: &Template,
    variables: &Variables,
    is_raw: bool,
) -> Result<Functions> {
    let (printed, lines) = mpsc::unbounded_channel();
    tokio::spawn(log::show(lines, is_raw));
    let packages = template
        .functions
        .iter()
        .map(|function| function.package.as_str());
    let packages: Vec<_> = packages.collect();
    let events = EventWriter(printed.clone());
    let subscriber = telemetry::subscriber(&packages, move || events.clone());
    tracing::subscriber::set_global_default(subscriber)?;
    let functions = Functions::start(template, variables, &printed)?;
    functions.learn_development_key().await?;
    Ok(functions)
}

/// Says why the emulator fails: once, as long as the reason is the same.
async fn show_failures(mut failed: mpsc::UnboundedReceiver<String>) {
    let mut last = String::new();
    while let Some(reason) = failed.recv().await {
        if reason != last {
            log::write(&format!("ERROR the DynamoDB emulator fails: {reason}"));
        }
        last = reason;
    }
}
