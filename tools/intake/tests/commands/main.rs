//! `cargo intake` as an operator runs it: a process with an exit code, standard output and standard
//! error, on the emulator of a test and beside the functions.
//!
//! | command or rule | modules |
//! |---|---|
//! | how a command finds its stack, help and version | `configuration`; `stack_states` of a stack that is not deployed |
//! | AWS profiles and variables of operators | `aws_profiles`; `aws_refusals` of what cannot work, `aws_credentials` of what gives none in time, `aws_login` of its sign-in, `aws_connections` of hosts and proxies |
//! | `keys` | `keys`; `key_revocation`, and `key_snapshot` for what each command writes into it |
//! | writes whose responses are lost | `lost_responses` |
//! | Ctrl-C and SIGTERM | `interrupted` |
//! | reads of whole tables while DynamoDB throttles | `long_reads` |
//! | `accounts` | `accounts` |
//! | `customers` | `customers`; `customer_erasure` |
//! | what erasures and exports do with rejected signals | `rejected_signal_erasure` |
//! | what is left of a person after the erasures | `erased_person` |
//! | `signals` | `signals` for `list`, `signal_erasure` |
//! | `rejected` | `rejected_signals`; `rejected_redrives` of single signals |
//! | `overflow` | `overflow` |
//! | erasures while messages are queued | `erasure_while_queued` |
//! | `lake` | `lake`; `lake_objects` of single objects |
//! | `contracts` | `contracts` |
//! | `import` | `import`; `import_again` of what other commands list, `import_interrupted`, `import_once`, `import_any_order`, `import_by_field`, `import_files`, `import_refused`, `sample_data` |
//! | `verify` | `verify` |
//! | `doctor` | `doctor` |
//! | how many calls a command makes | `call_counts` |
//! | no command reaches another account | `account_isolation` |
//! | confirmations and hidden input in a terminal, a closed standard output | `terminal` |
//! | what tests of several commands are made of | `support` |
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]

mod account_isolation;
mod accounts;
mod aws_connections;
mod aws_credentials;
mod aws_login;
mod aws_profiles;
mod aws_refusals;
mod call_counts;
mod configuration;
mod contracts;
mod customer_erasure;
mod customers;
mod doctor;
mod erased_person;
mod erasure_while_queued;
mod import;
mod import_again;
mod import_any_order;
mod import_by_field;
mod import_files;
mod import_interrupted;
mod import_once;
mod import_refused;
mod interrupted;
mod key_revocation;
mod key_snapshot;
mod keys;
mod lake;
mod lake_objects;
mod long_reads;
mod lost_responses;
mod overflow;
mod rejected_redrives;
mod rejected_signal_erasure;
mod rejected_signals;
mod sample_data;
mod signal_erasure;
mod signals;
mod stack_states;
mod support;
mod terminal;
mod verify;
