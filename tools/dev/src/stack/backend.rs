//! The parts of the stack behind the gateway: the fakes of AWS's services, the functions, and
//! the programs beside them. Must not know how requests arrive.

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::Result;
use aws::dynamodb::{UNRESPONSIVE_TIMEOUT, dynamodb as dynamodb_client};
use aws::sdk_config::{connector, sdk_config};
use aws::variables::Variables;
use emulator::{Emulator, Template};
use operator::Tables;
use service::telemetry;
use store::customers::CustomersTable;
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;
use tokio::sync::mpsc;

use super::inputs::StackInputs;
use super::seed::store_sample_data;
use crate::exchange::event_contract::EventContracts;
use crate::fakes::dynamodb;
use crate::fakes::faults::{self, FaultShare, Faults};
use crate::fakes::key_snapshot;
use crate::fakes::overflow_queue::OverflowQueue;
use crate::functions::Functions;
use crate::options::Options;
use crate::stack_info::{Addresses, StackInfo};
use crate::terminal::function_log::{self, EventWriter};
use crate::terminal::status;

/// The parts behind the gateway.
pub(super) struct Backend {
    pub(super) emulator: Arc<Emulator>,
    pub(super) overflow: OverflowQueue,
    pub(super) stack_info: StackInfo,
    pub(super) event_contracts: Option<EventContracts>,
    pub(super) tables: Tables,
    pub(super) faults: Option<Faults>,
    pub(super) functions: Functions,
}

impl Backend {
    /// Starts the fakes of AWS's services, stores the sample data, and starts the functions.
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
        let overflow = OverflowQueue::start(template, storage).await?;
        let s3 = key_snapshot::start(&emulator, template).await?;
        emulator.serve_others(overflow.sqs(), &s3);
        let mut environment = template.environment()?;
        environment.extend(OverflowQueue::variables());
        environment.push(key_snapshot::variable());
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
        overflow.drain(functions.clone());
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

/// Starts the faults that the options ask for, if they ask for any.
async fn start_faults(options: &Options, emulator: &Emulator) -> Result<Option<Faults>> {
    let services = [
        (faults::DYNAMODB, options.faults),
        (faults::QUEUE, options.queue_faults),
    ];
    let mut shares = Vec::new();
    for (service, share) in services {
        shares.extend(share.map(|share| FaultShare { service, share }));
    }
    if shares.is_empty() {
        return Ok(None);
    }
    Faults::start(shares, &emulator.endpoint()).await.map(Some)
}

/// The tables as an operator uses them. Faults do not reach an operator.
fn tables(stack_info: &StackInfo) -> Result<Tables> {
    let variables = stack_info.environment.iter().cloned();
    let variables: Variables = variables.collect();
    let connector = connector(&variables, UNRESPONSIVE_TIMEOUT)?;
    Ok(Tables {
        dynamodb: dynamodb_client(&sdk_config(&variables, &connector)?),
        customers: variables.required(CustomersTable::VARIABLE)?,
        signals: variables.required(SignalsTable::VARIABLE)?,
        rejected_signals: variables.required(RejectedSignalsTable::VARIABLE)?,
        retention: SignalsTable::retention(&variables)?,
        note: status,
    })
}

/// The variables that the functions start with. They reach a service through its faults, if it has
/// any.
fn function_variables(stack_info: &StackInfo, faults: Option<&Faults>) -> Variables {
    // Of two values of a variable, the last one counts.
    let variables = stack_info.environment.iter().cloned();
    let of_faults = faults.into_iter().flat_map(Faults::variables);
    variables.chain(of_faults).collect()
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
