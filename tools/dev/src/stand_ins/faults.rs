//! Faults of DynamoDB, which the option `--faults` injects so that the author of a client sees how
//! the client handles them. Must not know how the functions handle them.

use anyhow::Result;
use emulator::fault_proxy::{Fault, FaultProxy, Plan};

use crate::stack_info::ENDPOINT_VARIABLE;
use crate::terminal::status;

const FAULT_COUNT: u8 = 5;

/// The faults: DynamoDB throttles a call, fails in two ways, or the connection is lost before or
/// after DynamoDB has done the call.
const FAULTS: [Fault; FAULT_COUNT as usize] = [
    Fault::THROTTLED,
    Fault::InternalServerError,
    Fault::Status(503),
    Fault::ResetBefore,
    Fault::ResetAfter,
];

/// A proxy in front of DynamoDB that injects faults. Dropping it prints how many faults there were.
pub(crate) struct Faults {
    proxy: FaultProxy,
    share: f64,
}

impl Faults {
    /// Starts a proxy in front of the emulator at `dynamodb`. It injects no faults before
    /// [`begin`](Self::begin), because the functions first have to look up the development key.
    ///
    /// # Errors
    /// There is no free port.
    pub(crate) async fn start(dynamodb: &str, share: f64) -> Result<Self> {
        Ok(Self {
            proxy: FaultProxy::start(dynamodb, Plan::none()).await?,
            share,
        })
    }

    /// The variable that makes the functions call DynamoDB through the proxy.
    pub(crate) fn variable(&self) -> (String, String) {
        (ENDPOINT_VARIABLE.to_owned(), self.proxy.endpoint())
    }

    /// Begins to inject faults, and prints a message about it.
    pub(crate) fn begin(&self) {
        let rules = FAULTS
            .into_iter()
            .zip(shares(self.share))
            .map(|(fault, share)| fault.in_share(share));
        self.proxy.set(Plan::new(rules));
        status(&format!(
            "Faults are on: a share of {} of the functions' calls to DynamoDB is throttled, fails, or is lost.",
            self.share,
        ));
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        let counts = self.proxy.counts();
        status(&format!(
            "{} of {} calls to DynamoDB had a fault.",
            counts.faulted,
            counts.calls()
        ));
    }
}

/// The share of each fault. The proxy chooses the faults one after another, so the share of each is
/// one of the calls that the faults before it have left. All faults are equally frequent, and
/// together they have `share` of the calls.
fn shares(share: f64) -> [f64; FAULTS.len()] {
    let mut left = 1.0;
    FAULTS.map(|_| {
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
