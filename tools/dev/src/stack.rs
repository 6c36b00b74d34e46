//! The local stack: which parts there are, and in which order they start and end. What can be wrong is
//! [`checked`] first, then the [`backend`] starts, and then the gateway and the inspector listen. Must
//! not know how a part works.

mod backend;
mod checked;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use emulator::Emulator;

use self::backend::Backend;
use self::checked::Checked;
use crate::exchange::api_key::ApiKeyTable;
use crate::exchange::recent_exchanges::RecentExchanges;
use crate::gateway::Gateway;
use crate::gateway::host_names::HostNames;
use crate::gateway::server::Server;
use crate::inspector::{Inspector, StoredData};
use crate::options::{Listeners, Options};
use crate::programs::contracts::ContractsProgram;
use crate::stack_info::env_file::PublishedEnvFile;
use crate::stack_info::{Addresses, StackInfo};
use crate::stand_ins::faults::Faults;
use crate::stand_ins::overflow_queue::OverflowQueue;
use crate::terminal::status;

/// How often items whose time to live has passed are deleted.
const EXPIRY_INTERVAL: Duration = Duration::from_mins(1);

/// How long requests under way have for their answers when the stack is told to stop.
const GRACE: Duration = Duration::from_secs(2);

/// The warning for a stack that listens on an address of the network.
const OTHER_MACHINES: &str = "Other machines can use the API and the inspector. The development key is public: they read and change what is stored.";

/// The running stack, in the order in which its parts end.
pub(crate) struct LocalStack {
    api: Server,
    _env_file: PublishedEnvFile,
    _faults: Option<Faults>,
    _overflow: Option<OverflowQueue>,
    emulator: Arc<Emulator>,
}

impl LocalStack {
    /// Starts every part of the stack.
    ///
    /// # Errors
    /// A port is taken, an option or a file cannot be used, or a part cannot start.
    pub(crate) async fn start(options: &Options) -> Result<Self> {
        let Listeners {
            api,
            dynamodb,
            inspector,
        } = options.listen()?;
        let addresses = Addresses {
            api: api.local_addr()?,
            inspector: inspector.local_addr()?,
        };
        if !options.host.is_loopback() {
            status(OTHER_MACHINES);
        }
        let checked = Checked::new(options)?;
        let mut backend = Backend::start(options, &checked, dynamodb, &addresses).await?;
        let event_contracts = backend.event_contracts.take();
        let gateway = Arc::new(gateway(options, &checked, &backend, event_contracts)?);
        let api = gateway.listen(api)?;
        let operator = backend.operator;
        let emulator = Arc::clone(&backend.emulator);
        let stored = StoredData::new(emulator, &checked.template, operator)?;
        let queue = backend.overflow.as_ref();
        let inspector_parts = Inspector {
            host_names: gateway.host_names.clone(),
            gateway,
            stored,
            queue: queue.map(|overflow| overflow.queue.clone()),
            api_port: addresses.api.port(),
        };
        inspector_parts.serve(inspector)?;

        let variables = backend.stack_info.variables();
        let env_file = checked.env_file.publish(variables)?;
        announce(options, &backend.stack_info, env_file.path());
        if let Some(faults) = &backend.faults {
            faults.begin();
        }
        Ok(Self {
            api,
            _env_file: env_file,
            _faults: backend.faults,
            _overflow: backend.overflow,
            emulator: backend.emulator,
        })
    }

    /// Deletes the items whose time to live has passed, again and again.
    ///
    /// # Errors
    /// The emulator fails.
    pub(crate) async fn delete_expired_items(&self) -> Result<Infallible> {
        loop {
            tokio::time::sleep(EXPIRY_INTERVAL).await;
            self.emulator.delete_expired_items()?;
        }
    }

    /// Ends the stack, once the requests under way have their answers.
    pub(crate) async fn end(self) {
        self.api.end(GRACE).await;
    }
}

/// The gateway, which does not listen yet.
fn gateway(
    options: &Options,
    checked: &Checked,
    backend: &Backend,
    event_contracts: Option<ContractsProgram>,
) -> Result<Gateway> {
    let keys = ApiKeyTable {
        emulator: Arc::clone(&backend.emulator),
        name: checked.template.table("ApiKeysTable")?.name.clone(),
    };
    Ok(Gateway {
        functions: backend.functions.clone(),
        routes: checked.template.routes().cloned().collect(),
        host_names: HostNames(options.host_name.clone()),
        cors: checked.cors.clone(),
        injected_answers: checked.injected_answers.clone(),
        keys: Some(keys),
        event_contracts,
        prints_lines: !options.raw,
        exchanges: RecentExchanges::default(),
    })
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
