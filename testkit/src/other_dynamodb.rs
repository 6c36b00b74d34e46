//! Another emulator of DynamoDB in place of the embedded one: moto's server, whose address is in
//! `INTAKE_OTHER_DYNAMODB`.
//!
//! All tests share it, so they run one after the other, and each begins with empty tables.

use std::net::SocketAddr;

use emulator::{Emulator, Template};

/// moto reads only the region from it.
const AUTHORIZATION: &str =
    "AWS4-HMAC-SHA256 Credential=local/20260101/eu-central-1/dynamodb/aws4_request";

/// The emulator at the address in `INTAKE_OTHER_DYNAMODB`, if there is one, with the tables of
/// `template`, which are empty.
pub(crate) fn other_dynamodb(template: &Template) -> Option<Emulator> {
    let address: SocketAddr = std::env::var("INTAKE_OTHER_DYNAMODB")
        .ok()?
        .parse()
        .expect("it is HOST:PORT");
    ureq::post(format!("http://{address}/moto-api/reset"))
        .send_empty()
        .unwrap();
    for table in &template.tables {
        let definition = serde_json::Value::from(table.definition.clone());
        ureq::post(format!("http://{address}/"))
            .header("x-amz-target", "DynamoDB_20120810.CreateTable")
            .header("authorization", AUTHORIZATION)
            .send(definition.to_string())
            .unwrap();
    }
    Some(Emulator::remote(address))
}
