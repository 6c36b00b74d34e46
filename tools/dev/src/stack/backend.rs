//! The parts of the stack behind the gateway: the stand-ins of AWS's services, the functions, and
//! the programs beside them. Must not know how requests arrive.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use aws::dynamodb::{UNRESPONSIVE_TIMEOUT, dynamodb as dynamodb_client};
use aws::sdk_config::{connector, sdk_config};
use aws::variables::Variables;
use emulator::{Emulator, Storage, Template};
use operator::Tables;
use service::telemetry;
use store::customers::CustomersTable;
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;
use tokio::sync::mpsc;

use super::inputs::StackInputs;
use super::seed::store_sample_data;
use crate::exchange::event_contract::EventContracts;
use crate::functions::Functions;
use crate::options::Options;
use crate::stack_info::{Addresses, StackInfo};
use crate::stand_ins::dynamodb;
use crate::stand_ins::faults::Faults;
use crate::stand_ins::overflow_queue::OverflowQueue;
use crate::terminal::function_log::{self, EventWriter};
use crate::terminal::status;

/// The parts behind the gateway.
pub(super) struct Backend {
    pub(super) emulator: Arc<Emulator>,
    /// With --no-queue, it is the queue that an earlier start left, which the functions do not use.
    pub(super) overflow: Option<OverflowQueue>,
    pub(super) stack_info: StackInfo,
    pub(super) event_contracts: Option<EventContracts>,
    pub(super) tables: Tables,
    pub(super) faults: Option<Faults>,
    pub(super) functions: Functions,
}

impl Backend {
    /// Starts the stand-ins of AWS's services, stores the sample data, and starts the functions.
    pub(super) async fn start(
        options: &Options,
        inputs: &StackInputs,
        listener: TcpListener,
        addresses: &Addresses,
    ) -> Result<Self> {
        let StackInputs {
            template, storage, ..
        } = inputs;
        let emulator = dynamodb::start(template, storage, listener)?;
        let overflow = start_overflow_queue(options, template, storage).await?;
        let used_queue = overflow.as_ref().filter(|_| !options.no_queue);
        let mut environment = template.environment()?;
        environment.extend(used_queue.into_iter().flat_map(OverflowQueue::variables));
        let stack_info = StackInfo::new(addresses, &emulator.endpoint(), environment);
        let event_contracts = options.event_contracts.as_deref().map(EventContracts::read);
        let event_contracts = event_contracts.transpose()?;
        let tables = tables(&stack_info)?;
        if options.seed {
            store_sample_data(inputs, &tables, &emulator).await?;
        }
        let faults = start_faults(options, &emulator).await?;
        let variables = function_variables(&stack_info, faults.as_ref());
        let functions = start_functions(template, &variables, options.raw).await?;
        if let Some(queue) = used_queue {
            queue.drain(functions.clone());
        }
        Ok(Self {
            emulator,
            overflow,
            stack_info,
            event_contracts,
            tables,
            faults,
            functions,
        })
    }
}

async fn start_overflow_queue(
    options: &Options,
    template: &Template,
    storage: &Storage,
) -> Result<Option<OverflowQueue>> {
    if options.no_queue {
        return OverflowQueue::open_left(template, storage).await;
    }
    OverflowQueue::start(template, storage).await
}

async fn start_faults(options: &Options, emulator: &Emulator) -> Result<Option<Faults>> {
    let Some(share) = options.faults else {
        return Ok(None);
    };
    let faults = Faults::start(&emulator.endpoint(), share).await?;
    Ok(Some(faults))
}

/// The tables as an operator uses them. Faults do not reach an operator.
fn tables(stack_info: &StackInfo) -> Result<Tables> {
    let variables = stack_info.environment.iter().cloned();
    let variables: Variables = variables.collect();
    let days = variables.whole_number(SignalsTable::RETENTION_VARIABLE)?;
    let connector = connector(&variables, UNRESPONSIVE_TIMEOUT)?;
    Ok(Tables {
        dynamodb: dynamodb_client(&sdk_config(&variables, &connector)?),
        customers: variables.required(CustomersTable::VARIABLE)?,
        signals: variables.required(SignalsTable::VARIABLE)?,
        rejected_signals: variables.required(RejectedSignalsTable::VARIABLE)?,
        retention: (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60))),
        note: status,
    })
}

/// The variables that the functions start with. They reach DynamoDB through the faults, if there
/// are any.
fn function_variables(stack_info: &StackInfo, faults: Option<&Faults>) -> Variables {
    // Of two values of a variable, the last one counts.
    let variables = stack_info.environment.iter().cloned();
    variables.chain(faults.map(Faults::variable)).collect()
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
