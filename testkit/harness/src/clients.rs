//! A client of DynamoDB, pointed at a server of a test.

use aws::dynamodb::UNRESPONSIVE_TIMEOUT;
use aws::sdk_config::{connector, defaults};
use aws::variables::Variables;
use aws_config::Region;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};

/// A client that looks into the tables, at `endpoint`.
pub fn client_at(endpoint: &str) -> Client {
    let credentials = Credentials::new("local", "local", None, None, "test");
    let connector = connector(&Variables::default(), UNRESPONSIVE_TIMEOUT);
    let connector = connector.expect("the roots can be used");
    let config = defaults(connector)
        .region(Region::new("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(endpoint)
        .build();
    Client::new(&config)
}
