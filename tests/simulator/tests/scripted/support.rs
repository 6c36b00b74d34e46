//! What the tests are made of.

#[path = "../../../integration/support/clock.rs"]
pub(crate) mod clock;
pub(crate) mod key_sources;
#[path = "../../../integration/support/requests.rs"]
pub(crate) mod requests;
pub(crate) mod stack;
pub(crate) mod updates;

#[path = "../../../../testkit/harness/src/request_builder.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "it is a file of the library of the integration tests, which have other requests, too"
)]
pub(crate) mod request_builder;

use request_builder::RequestBuilder;
