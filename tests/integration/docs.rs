//! The pages of the documentation agree with the repository and with the code: links, paths and
//! cited headings exist, and the tables of docs/api.md are the code's.

mod api;
mod examples;
mod links;
mod runbook;
