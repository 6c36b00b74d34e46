//! What the tests of several commands share. Must not know what a test asserts.
//!
//! | module | is for |
//! |---|---|
//! | `operator` | an operator, and the commands that they run to the end |
//! | `running_command` | a command that runs until it is interrupted |
//! | `terminal` | a command in a terminal |
//! | `requests` | requests of clients, whose data a command then finds |
//! | `invalid_signals` | invalid signals that name a person, at random |
//! | `lake` | what is in a lake |
//! | `key_table` | changes of the key table that no command makes |
//! | `key_snapshot` | the key snapshot that commands have written |
//! | `clock` | times before now |
//! | `fault` | an operator whose calls to DynamoDB get faults |
//! | `aws_network` | a network in which the names of AWS's hosts lead to a stand-in |
//! | `cbor` | the protocol of CloudWatch |
//! | `fake_aws` | an AWS that responds like that of a healthy stack, with one response changed |

pub(crate) mod aws_network;
pub(crate) mod cbor;
pub(crate) mod clock;
pub(crate) mod fake_aws;
pub(crate) mod fault;
pub(crate) mod invalid_signals;
pub(crate) mod key_snapshot;
pub(crate) mod key_table;
pub(crate) mod lake;
pub(crate) mod operator;
pub(crate) mod requests;
pub(crate) mod running_command;
pub(crate) mod terminal;

use std::time::Duration;

/// Longer than any step of a command takes, so that only a hang reaches it.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(3);
