//! The names of the variables that describe a stack, in the environment and in `target/dev.env`. Each
//! constant has the name of its variable. Must not know where the values come from.

use store::api_keys::ApiKeysTable;
use store::customers::CustomersTable;
use store::idempotency::IdempotencyTable;
use store::overflow_messages;
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;

/// The variable that names the CloudFormation stack in place of `--stack`.
pub(crate) const INTAKE_STACK: &str = "INTAKE_STACK";

/// The variables that name the tables, in the environment and in `target/dev.env`.
pub(crate) const API_KEYS_TABLE: &str = ApiKeysTable::VARIABLE;
pub(crate) const CUSTOMERS_TABLE: &str = CustomersTable::VARIABLE;
pub(crate) const SIGNALS_TABLE: &str = SignalsTable::VARIABLE;
pub(crate) const REJECTED_SIGNALS_TABLE: &str = RejectedSignalsTable::VARIABLE;
pub(crate) const IDEMPOTENCY_TABLE: &str = IdempotencyTable::VARIABLE;

/// The variables that hold the URLs of the overflow queue and of its dead-letter queue. A stack may
/// have neither.
pub(crate) const OVERFLOW_QUEUE_URL: &str = overflow_messages::QUEUE_VARIABLE;
pub(crate) const DEAD_LETTER_QUEUE_URL: &str = overflow_messages::DEAD_LETTER_QUEUE_VARIABLE;

/// The variable that holds the name of the overflow function, which its metrics have.
pub(crate) const OVERFLOW_FUNCTION: &str = "OVERFLOW_FUNCTION";

/// The variable that holds the name of the bucket of the key snapshot. A stack may have none.
pub(crate) const KEY_SNAPSHOT_BUCKET: &str = store::key_snapshot::BUCKET_VARIABLE;

/// The variable that holds the address of the API.
pub(crate) const BASE_URL: &str = "BASE_URL";

/// The variable that says whether the tables have deletion protection.
pub(crate) const DELETION_PROTECTION: &str = "DELETION_PROTECTION";

/// The variable that holds the version of Intake that is deployed.
pub(crate) const INTAKE_VERSION: &str = "INTAKE_VERSION";

/// The variable that says for how many days signals are kept; 0 keeps them forever.
pub(crate) const SIGNAL_RETENTION_DAYS: &str = SignalsTable::RETENTION_VARIABLE;
