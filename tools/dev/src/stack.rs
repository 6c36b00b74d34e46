//! The local stack: which parts there are, and in which order they start and end. Must not know how
//! a part works.

use std::convert::Infallible;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use aws::environment::Variables;
use emulator::{Emulator, Storage, Template};
use service::telemetry;
use tokio::sync::mpsc;

use crate::exchange::api_key::ApiKeyTable;
use crate::exchange::recent_exchanges::RecentExchanges;
use crate::functions::Functions;
use crate::gateway::cors::CorsPolicy;
use crate::gateway::injected_answer::InjectedShare;
use crate::gateway::own_names::OwnNames;
use crate::gateway::server::Server;
use crate::gateway::{Gateway, Sources};
use crate::inspector::{Inspector, StoredData};
use crate::options::{Listeners, Options};
use crate::programs::Programs;
use crate::programs::contracts::ContractsProgram;
use crate::programs::operator::OperatorProgram;
use crate::programs::sample_data;
use crate::stack_info::env_file::{EnvFile, PublishedEnvFile};
use crate::stack_info::{Addresses, StackInfo};
use crate::stand_ins::dynamodb;
use crate::stand_ins::faults::Faults;
use crate::stand_ins::overflow_queue::OverflowQueue;
use crate::terminal::function_log::{self, EventWriter};
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

/// What is read and checked before anything starts.
struct Checked {
    programs: Programs,
    template: Template,
    cors: CorsPolicy,
    injected: Vec<InjectedShare>,
    storage: Storage,
    env_file: EnvFile,
}

/// The parts behind the gateway.
struct Backend {
    emulator: Arc<Emulator>,
    overflow: Option<OverflowQueue>,
    stack_info: StackInfo,
    contracts: Option<ContractsProgram>,
    operator: OperatorProgram,
    faults: Option<Faults>,
    functions: Functions,
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
        let contracts = backend.contracts.take();
        let gateway = Arc::new(gateway(options, &checked, &backend, contracts)?);
        let api = gateway.serve(api)?;
        let operator = backend.operator;
        let emulator = Arc::clone(&backend.emulator);
        let stored = StoredData::new(emulator, &checked.template, operator)?;
        let queue = backend.overflow.as_ref();
        let inspector_parts = Inspector {
            names: gateway.names.clone(),
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

impl Checked {
    fn new(options: &Options) -> Result<Self> {
        let programs = Programs::find()?;
        let template = Template::read(&programs.root.join("template.yaml"))?;
        let cors = options.cors(&template)?;
        let injected = options.answers()?;
        let storage = options.storage()?;
        let env_file = options.env_file.clone();
        let env_file = EnvFile::prepare(env_file.unwrap_or_else(|| programs.env_file()))?;
        Ok(Self {
            programs,
            template,
            cors,
            injected,
            storage,
            env_file,
        })
    }
}

impl Backend {
    /// Starts the stand-ins of AWS's services, stores the sample data, and starts the functions.
    async fn start(
        options: &Options,
        checked: &Checked,
        listener: TcpListener,
        addresses: &Addresses,
    ) -> Result<Self> {
        let Checked {
            programs,
            template,
            storage,
            ..
        } = checked;
        let emulator = dynamodb::start(template, storage, listener)?;
        let overflow = start_overflow_queue(options, template, storage).await?;
        let mut environment = template.environment()?;
        environment.extend(overflow.iter().flat_map(OverflowQueue::variables));
        let stack_info = StackInfo::new(addresses, &emulator.endpoint(), environment);
        let contracts = start_contracts(options, programs).await?;
        let operator = OperatorProgram::new(programs, &stack_info);
        if options.seed {
            store_sample_data(checked, &operator, &emulator).await?;
        }
        let faults = start_faults(options, &emulator).await?;
        let variables = function_variables(&stack_info, faults.as_ref());
        let functions = start_functions(template, &variables, options.raw).await?;
        if let Some(overflow) = &overflow {
            overflow.drain(functions.clone());
        }
        Ok(Self {
            emulator,
            overflow,
            stack_info,
            contracts,
            operator,
            faults,
            functions,
        })
    }
}

/// The gateway, which does not listen yet.
fn gateway(
    options: &Options,
    checked: &Checked,
    backend: &Backend,
    contracts: Option<ContractsProgram>,
) -> Result<Gateway> {
    let keys = ApiKeyTable {
        emulator: Arc::clone(&backend.emulator),
        name: checked.template.table("ApiKeysTable")?.name.clone(),
    };
    Ok(Gateway {
        functions: backend.functions.clone(),
        routes: checked.template.routes().cloned().collect(),
        names: OwnNames(options.host_name.clone()),
        cors: checked.cors.clone(),
        injected: checked.injected.clone(),
        sources: Sources {
            keys: Some(keys),
            contracts,
        },
        has_lines: !options.raw,
        exchanges: RecentExchanges::default(),
    })
}

async fn start_overflow_queue(
    options: &Options,
    template: &Template,
    storage: &Storage,
) -> Result<Option<OverflowQueue>> {
    if options.no_queue {
        return Ok(None);
    }
    OverflowQueue::start(template, storage).await
}

async fn start_contracts(
    options: &Options,
    programs: &Programs,
) -> Result<Option<ContractsProgram>> {
    let Some(dir) = &options.contracts else {
        return Ok(None);
    };
    let contracts = ContractsProgram::start(programs, dir).await?;
    Ok(Some(contracts))
}

async fn start_faults(options: &Options, emulator: &Emulator) -> Result<Option<Faults>> {
    let Some(share) = options.faults else {
        return Ok(None);
    };
    let faults = Faults::start(&emulator.endpoint(), share).await?;
    Ok(Some(faults))
}

/// The variables that the functions start with. They reach DynamoDB through the faults, if there are
/// any.
fn function_variables(stack_info: &StackInfo, faults: Option<&Faults>) -> Variables {
    // Of two values of a variable, the last one counts.
    let variables = stack_info.environment.iter().cloned();
    variables.chain(faults.map(Faults::variable)).collect()
}

/// Stores the sample data, unless the data file holds customers.
async fn store_sample_data(
    checked: &Checked,
    operator: &OperatorProgram,
    emulator: &Emulator,
) -> Result<()> {
    let customers = checked.template.table("CustomersTable")?;
    if emulator.is_empty(&customers.name)? {
        return sample_data::store(&checked.programs, operator).await;
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
    tokio::spawn(function_log::show(lines, is_raw));
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
