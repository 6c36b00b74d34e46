//! The contract, test by test. Each test has an emulator of its own and leaves nothing behind.

mod accounts;
mod customers;
mod events;
mod hostile;
mod local_stack;
mod logs;
mod outages;
mod retries;
mod routes;
mod signals;
