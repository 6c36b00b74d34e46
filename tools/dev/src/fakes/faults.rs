//! Faults of DynamoDB and of the overflow queue, which the options `--faults` and `--queue-faults` inject so
//! that the author of a client sees how the client handles them. Must not know how the functions handle
//! them.

use anyhow::Result;
use emulator::fault_proxy::{AwsService, Fault, FaultProxy, Plan, Rule};

use crate::stack_info::{DYNAMODB_ENDPOINT_VARIABLE, SQS_ENDPOINT_VARIABLE};
use crate::terminal::status;

const FAULT_COUNT: u8 = 5;

/// A service whose calls can fail.
#[derive(Clone, Copy)]
pub(crate) struct FaultyService {
    service: AwsService,
    name: &'static str,
    /// The SDK's variable for its address.
    variable: &'static str,
    /// What happens to calls: the service throttles a call, fails in two ways, or the connection is lost
    /// before or after it has done the call.
    faults: [Fault; FAULT_COUNT as usize],
}

pub(crate) const DYNAMODB: FaultyService = FaultyService {
    service: AwsService::DynamoDb,
    name: "DynamoDB",
    variable: DYNAMODB_ENDPOINT_VARIABLE,
    faults: [
        Fault::THROTTLED,
        Fault::InternalServerError,
        Fault::Status(503),
        Fault::ResetBefore,
        Fault::ResetAfter,
    ],
};

pub(crate) const QUEUE: FaultyService = FaultyService {
    service: AwsService::Sqs,
    name: "the overflow queue",
    variable: SQS_ENDPOINT_VARIABLE,
    faults: [
        Fault::Refused("RequestThrottled"),
        Fault::InternalServerError,
        Fault::Status(503),
        Fault::ResetBefore,
        Fault::ResetAfter,
    ],
};

/// A service, and the share of its calls that fail.
pub(crate) struct FaultShare {
    pub(crate) service: FaultyService,
    pub(crate) share: f64,
}

/// A proxy in front of the services whose calls fail. Dropping it prints how many faults there were.
pub(crate) struct Faults {
    shares: Vec<FaultShare>,
    proxy: FaultProxy,
}

impl Faults {
    /// Starts a proxy in front of the services, which are at `endpoint`. It injects no faults before
    /// [`begin`](Self::begin), because the functions first have to look up the development key.
    ///
    /// # Errors
    /// There is no free port.
    pub(crate) async fn start(shares: Vec<FaultShare>, endpoint: &str) -> Result<Self> {
        let proxy = FaultProxy::start(endpoint, Plan::none()).await?;
        Ok(Self { shares, proxy })
    }

    /// The variables that make the functions call these services through the proxy.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let services = self.shares.iter().map(|of| of.service);
        services.map(|service| (service.variable.to_owned(), self.proxy.endpoint()))
    }

    /// Begins to inject faults, which it draws from `seed`, and prints a message about it.
    pub(crate) fn begin(&self, seed: u64) {
        let rules = self.shares.iter().flat_map(FaultShare::rules);
        self.proxy.set(Plan::new(rules).with_seed(seed));
        for FaultShare { service, share } in &self.shares {
            status(&format!(
                "Faults are on: a share of {share} of the functions' calls to {} is throttled, fails, or is lost. To repeat \
                 them: --random-seed {seed}",
                service.name,
            ));
        }
    }
}

impl FaultShare {
    /// A rule for each fault of the service.
    fn rules(&self) -> impl Iterator<Item = Rule> {
        let FaultyService {
            service, faults, ..
        } = self.service;
        let of_each = faults.into_iter().zip(shares(self.share));
        of_each.map(move |(fault, share)| fault.in_share(share).for_service(service))
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        let counts = self.proxy.counts();
        for FaultShare { service, .. } in &self.shares {
            let of_service = counts.of_service(service.service);
            status(&format!(
                "{} of {} calls to {} had a fault.",
                of_service.faulted, of_service.calls, service.name
            ));
        }
    }
}

/// The share of each fault. The proxy chooses the faults one after another, so the share of each is
/// one of the calls that the faults before it have left. All faults are equally frequent, and
/// together they have `share` of the calls.
fn shares(share: f64) -> [f64; FAULT_COUNT as usize] {
    let mut left = 1.0;
    [(); FAULT_COUNT as usize].map(|()| {
        let part = share / f64::from(FAULT_COUNT);
        let of_left = part / left;
        left -= part;
        of_left
    })
}

#[cfg(test)]
mod tests {
    use super::{FAULT_COUNT, shares};

    #[test]
    fn faults_are_equally_frequent_and_have_the_share_together() {
        for share in [0.0, 0.1, 0.5, 1.0] {
            let mut left = 1.0;
            for of_left in shares(share) {
                assert!((0.0..=1.0 + 1e-9).contains(&of_left), "{of_left}");
                assert!((left * of_left - share / f64::from(FAULT_COUNT)).abs() < 1e-9);
                left *= 1.0 - of_left;
            }
            assert!((left - (1.0 - share)).abs() < 1e-9);
        }
    }
}
