//! The pages of the documentation agree with the repository and with the code: links, paths and
//! cited headings exist, the tables of docs/api.md are the code's, and a number is the same on all
//! pages.

mod api;
mod examples;
mod links;
mod numbers;
mod runbook;
