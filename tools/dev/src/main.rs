//! `cargo dev`: the local stack as one command. The emulator and Lambda's Runtime API run in this
//! process; the functions run as children that end with it.
//!
//! It holds no fact about tables, routes or variables (the template has them) and none about what a
//! request means.

mod api_key;
mod contracts;
mod cors;
mod deferred;
mod env_file;
mod event;
mod exchange;
mod faults;
mod functions;
mod gateway;
mod history;
mod injected;
mod inspector;
mod log;
mod operator;
mod options;
mod outcome;
mod overflow;
mod own_names;
mod process;
mod programs;
mod progress;
mod ready;
mod request_line;
mod seed;
mod sent;
mod signal;
mod stack_info;

use std::cell::OnceCell;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use emulator::{Emulator, Template, development_key};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::api_key::Keys;
use crate::contracts::Contracts;
use crate::env_file::EnvFile;
use crate::faults::Faults;
use crate::functions::Functions;
use crate::gateway::{Gateway, Sources};
use crate::inspector::{Inspector, Stored};
use crate::log::RequestLog;
use crate::operator::Operator;
use crate::options::Options;
use crate::overflow::Overflow;
use crate::own_names::OwnNames;
use crate::programs::Programs;
use crate::progress::status;
use crate::ready::wait_until_ready;
use crate::stack_info::StackInfo;

/// How often items whose time to live has passed are deleted.
const EXPIRY_INTERVAL: Duration = Duration::from_mins(1);

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

/// Runs the stack until a signal asks to stop. The functions end while what they call still
/// answers; what else the stack started ends when its future is dropped, whichever of its steps it
/// had reached.
async fn run_until_told_to_stop(options: &Options) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let functions = OnceCell::new();
    {
        let mut stack = pin!(run(options, &functions));
        tokio::select! {
            failure = &mut stack => return failure.map(|never| match never {}),
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        if let Some(functions) = functions.get() {
            Functions::end(functions).await;
        }
    }
    status("Stopped.");
    Ok(())
}

/// Starts the stack and watches over it: returns only when something fails.
async fn run(options: &Options, started: &OnceCell<Functions>) -> Result<std::convert::Infallible> {
    let listeners = options.listen()?;
    let (api, inspector) = (
        listeners.api.local_addr()?,
        listeners.inspector.local_addr()?,
    );
    if !options.host.is_loopback() {
        status(
            "Other machines can use the API and the inspector. The development key is public: they read and change what is stored.",
        );
    }
    let programs = Programs::find()?;
    let template = Template::read(&programs.root.join("template.yaml"))?;
    let mut environment = template.environment()?;
    let (cors, answers) = (options.cors(&template)?, options.answers()?);
    let storage = options.storage()?;
    let env_file = EnvFile::at(
        options
            .env_file
            .clone()
            .unwrap_or_else(|| programs.env_file()),
    )?;

    let (failures, failed) = mpsc::unbounded_channel();
    let emulator = Emulator::start_on(&template, &storage, listeners.dynamodb, Some(failures))?;
    let emulator = Arc::new(emulator);
    tokio::spawn(show_failures(failed));
    development_key::load(&emulator, &template)?;
    status(&format!(
        "DynamoDB emulator: {} tables at {}",
        template.tables.len(),
        emulator.endpoint()
    ));
    let overflow = if options.no_queue {
        None
    } else {
        Overflow::start(&template, &storage).await?
    };
    environment.extend(overflow.iter().flat_map(Overflow::variables));
    let (routes, log) = (
        template.routes().cloned().collect(),
        (!options.raw).then(RequestLog::new),
    );
    let names = OwnNames(options.host_name.clone());
    let keys = Keys {
        emulator: Arc::clone(&emulator),
        table: template.table("ApiKeysTable")?.name.clone(),
    };
    let deferred = overflow.as_ref().map(Overflow::deferred_signals);
    let contracts = match &options.contracts {
        Some(dir) => Some(Contracts::start(&programs, dir).await?),
        None => None,
    };
    let sources = Sources {
        log: log.clone(),
        keys: Some(keys),
        deferred,
        contracts,
    };
    let gateway = Arc::new(Gateway {
        routes,
        names: names.clone(),
        cors,
        injected: answers,
        sources,
        ..Gateway::default()
    });
    gateway.serve(listeners.api)?;

    functions::build(&programs, &template, options.release).await?;
    let stack_info = StackInfo::new(api, inspector, &emulator.endpoint(), environment);
    let operator = Operator::new(&programs, &stack_info);
    if options.seed && emulator.is_empty(&template.table("CustomersTable")?.name)? {
        seed::seed(&programs, &operator).await?;
    } else if options.seed {
        status("The data file holds customers: the sample data is not stored again.");
    }
    let faults = match options.faults {
        Some(share) => Some(Faults::start(&emulator.endpoint(), share).await?),
        None => None,
    };
    // Of two values of a variable, the last one counts.
    let environment: Vec<_> = stack_info
        .environment
        .iter()
        .cloned()
        .chain(faults.as_ref().map(Faults::variable))
        .collect();
    let (printed, lines) = mpsc::unbounded_channel();
    tokio::spawn(log::show(lines, log));
    status("Starting the functions");
    let functions = Functions::start(&template, &programs, options, &environment, &printed);
    gateway
        .functions
        .get_or_init(|| started.get_or_init(|| functions.clone()).clone());
    wait_until_ready(&functions, &gateway).await?;
    if let Some(overflow) = &overflow {
        overflow.drain(functions);
    }
    let stored = Stored::new(Arc::clone(&emulator), &template, operator)?;
    let queue = overflow.as_ref().map(|overflow| overflow.queue.clone());
    Inspector {
        gateway,
        names,
        stored,
        queue,
        api_port: api.port(),
    }
    .serve(listeners.inspector)?;
    let published = env_file.publish(stack_info.variables())?;
    if !options.cors.is_empty() {
        status(&format!(
            "Pages of these origins may call the API: {}",
            options.cors.join(", ")
        ));
    }
    stack_info.print(published.path());
    if let Some(faults) = &faults {
        faults.begin();
    }
    if !options.answer.is_empty() {
        status("API Gateway's own answers are given now and then, as --answer says.");
    }

    loop {
        tokio::time::sleep(EXPIRY_INTERVAL).await;
        emulator.delete_expired_items()?;
    }
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
