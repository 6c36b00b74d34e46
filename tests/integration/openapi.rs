//! openapi.yaml matches the code: the functions return each response example, and each code, limit,
//! path and method is that of the code.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests are in here: to panic is to fail the test"
)]

pub(crate) mod codes;
mod document;
mod examples;
mod generators;
mod limits;
mod responses;
mod routes;
