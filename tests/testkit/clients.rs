//! The clients of AWS's services, pointed at a server of a test.

use aws::dynamodb::{UNRESPONSIVE_TIMEOUT, dynamodb};
use aws::sdk_config::{connector, defaults};
use aws::variables::Variables;
use aws_config::{Region, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};

/// The configuration of a function whose services are at `endpoint`.
pub(crate) fn config_at(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("local", "local", None, None, "test");
    let connector = connector(&Variables::default(), UNRESPONSIVE_TIMEOUT);
    let connector = connector.expect("the roots can be used");
    defaults(connector)
        .region(Region::new("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(endpoint)
        .build()
}

/// A client that looks into the tables, at `endpoint`.
pub fn client_at(endpoint: &str) -> Client {
    Client::new(&config_at(endpoint))
}

/// A client of a function's, pointed at `endpoint`.
pub fn dynamodb_at(endpoint: &str) -> Client {
    dynamodb(&config_at(endpoint))
}
