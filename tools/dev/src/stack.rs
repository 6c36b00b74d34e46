//! The local stack: which parts there are, and in which order they start and end. First the
//! [`listeners`] take the ports, and the [`inputs`] are read and checked. Then the [`backend`]
//! starts, which stores the [sample data](seed), and then the gateway and the inspector respond. Must
//! not know how a part works.

mod backend;
mod inputs;
mod listeners;
mod sample_data;
mod seed;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use emulator::Emulator;

use self::backend::Backend;
use self::inputs::StackInputs;
use self::listeners::Listeners;
use crate::exchange::api_key::ApiKeyTable;
use crate::exchange::recent_exchanges::RecentExchanges;
use crate::fakes::faults::Faults;
use crate::fakes::overflow_queue::OverflowQueue;
use crate::gateway::Gateway;
use crate::gateway::host_names::HostNames;
use crate::gateway::injected_response::InjectedResponses;
use crate::gateway::preflights::Preflights;
use crate::gateway::routes::Routes;
use crate::gateway::server::Server;
use crate::inspector::Inspector;
use crate::inspector::stored_data::StoredData;
use crate::options::Options;
use crate::stack_info::env_file::PublishedEnvFile;
use crate::stack_info::{Addresses, StackInfo};
use crate::terminal::status;

/// How often items whose time to live has passed are deleted.
const EXPIRY_INTERVAL: Duration = Duration::from_mins(1);

/// The warning for a stack that listens on an address of the network.
const OTHER_MACHINES: &str = "Other machines can use the API and the inspector. The development key is public, so they can read and change what is stored.";

/// The running stack, in the order in which its parts end.
pub(crate) struct LocalStack {
    api: Server,
    _env_file: PublishedEnvFile,
    _faults: Option<Faults>,
    _overflow: OverflowQueue,
    emulator: Arc<Emulator>,
}

impl LocalStack {
    /// Starts every part of the stack.
    ///
    /// # Errors
    /// A port is taken, an option or a file cannot be used, or a part cannot start.
    pub(crate) async fn start(options: &Options) -> Result<Self> {
        let listeners = Listeners::bind(options)?;
        let addresses = listeners.addresses()?;
        if !options.host.is_loopback() {
            status(OTHER_MACHINES);
        }
        let inputs = StackInputs::read(options)?;
        let backend = Backend::start(options, &inputs, listeners.dynamodb, &addresses).await?;
        let seed = options
            .random_seed
            .unwrap_or_else(|| fastrand::u32(..).into());
        let gateway = Arc::new(new_gateway(options, &inputs, &backend, seed)?);
        let api = gateway.listen(listeners.api)?;
        let inspector = new_inspector(gateway, &inputs, &backend, &addresses)?;
        inspector.listen(listeners.inspector)?;

        let variables = backend.stack_info.variables();
        let env_file = inputs.env_file.publish(variables)?;
        announce(options, &backend.stack_info, env_file.path(), seed);
        if let Some(faults) = &backend.faults {
            faults.begin(seed);
        }
        Ok(Self {
            api,
            _env_file: env_file,
            _faults: backend.faults,
            _overflow: backend.overflow,
            emulator: backend.emulator,
        })
    }

    /// Deletes the items whose time to live has passed, again and again. Ends only when the
    /// emulator fails, and returns its error.
    pub(crate) async fn run_until_failure(&self) -> Error {
        loop {
            tokio::time::sleep(EXPIRY_INTERVAL).await;
            let emulator = Arc::clone(&self.emulator);
            let deleting = tokio::task::spawn_blocking(move || emulator.delete_expired_items());
            let deleted = deleting.await.map_err(Error::from).flatten();
            if let Err(error) = deleted {
                return error;
            }
        }
    }

    /// Ends the stack once the requests under way have their responses.
    pub(crate) async fn end(self) {
        self.api.end().await;
    }
}

/// The gateway, which does not listen yet.
fn new_gateway(
    options: &Options,
    inputs: &StackInputs,
    backend: &Backend,
    seed: u64,
) -> Result<Gateway> {
    let keys = ApiKeyTable::new(
        Arc::clone(&backend.emulator),
        inputs.template.table("ApiKeysTable")?.name.clone(),
    );
    Ok(Gateway {
        functions: backend.functions.clone(),
        routes: Routes(inputs.template.routes().cloned().collect()),
        host_names: HostNames(options.host_name.clone()),
        cors: inputs.cors.clone(),
        injected_responses: InjectedResponses::new(
            options.injected_responses.clone(),
            seed,
            options.next_responses.clone(),
        ),
        preflights: Preflights::default(),
        keys: Some(keys),
        event_contracts: backend.event_contracts.clone(),
        prints_lines: !options.raw,
        exchanges: RecentExchanges::default(),
    })
}

/// The inspector, which does not listen yet.
fn new_inspector(
    gateway: Arc<Gateway>,
    inputs: &StackInputs,
    backend: &Backend,
    addresses: &Addresses,
) -> Result<Inspector> {
    let emulator = Arc::clone(&backend.emulator);
    Ok(Inspector {
        host_names: gateway.host_names.clone(),
        gateway,
        stored: Arc::new(StoredData::new(emulator, &inputs.template)?),
        tables: backend.tables.clone(),
        queue: backend.overflow.queue.clone(),
        stack_id: format!("{:016x}", fastrand::u64(..)),
        api_port: addresses.api.port(),
    })
}

/// Says that the stack is ready, and what differs from API Gateway by the options.
fn announce(options: &Options, stack_info: &StackInfo, env_file: &Path, seed: u64) {
    if !options.cors.is_empty() {
        let origins: Vec<_> = options.cors.iter().map(ToString::to_string).collect();
        let origins = origins.join(", ");
        status(&format!(
            "Pages of these origins may call the API: {origins}"
        ));
    }
    stack_info.print(env_file);
    if !options.injected_responses.is_empty() {
        status(&format!(
            "Some requests get responses of API Gateway, as --answer says. To repeat them: --random-seed {seed}"
        ));
    }
}
