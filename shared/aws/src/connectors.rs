//! The connectors of a function: what makes its HTTP calls to each service of AWS. This module must not know
//! what is called.

use aws_smithy_runtime_api::client::http::SharedHttpConnector;

use crate::sdk_config::connector;
use crate::tls::CaBundleError;
use crate::variables::Variables;
use crate::{dynamodb, s3, sqs};

/// The connector to each service that a function calls.
#[derive(Clone, Debug)]
pub struct Connectors {
    pub dynamodb: SharedHttpConnector,
    pub sqs: SharedHttpConnector,
    pub s3: SharedHttpConnector,
}

impl Connectors {
    /// The connectors of a function with these variables. Each service has connections of its own: if one
    /// does not respond, only the connections to that service are closed.
    ///
    /// # Errors
    /// When `AWS_CA_BUNDLE` names a file that cannot be used.
    pub fn from_variables(variables: &Variables) -> Result<Self, CaBundleError> {
        Ok(Self {
            dynamodb: connector(variables, dynamodb::UNRESPONSIVE_TIMEOUT)?,
            sqs: connector(variables, sqs::UNRESPONSIVE_TIMEOUT)?,
            s3: connector(variables, s3::UNRESPONSIVE_TIMEOUT)?,
        })
    }
}
