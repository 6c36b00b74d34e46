//! What a function costs: instructions, time, memory, calls and connections, counted from outside.
//!
//! A function is run as Lambda runs it: as a process of its own, which is handed events by a Runtime API and writes to a
//! DynamoDB. Both are here, on loopback, and only they know what the function did. Instructions are counted by
//! callgrind, because they repeat where time does not.
//!
//! | module | is for | refuses to know |
//! |---|---|---|
//! | [`requests`] | the events that are measured | what they cost |
//! | [`subject`] | which functions there are, how they are built and started | what is asked of them |
//! | [`running`] | one process, alone or under callgrind | what is measured |
//! | [`callgrind`] | reading what callgrind wrote | how it came about |
//! | [`count`], [`clock`], [`size`] | instructions; time, memory, calls; size and crates | which goals there are |
//! | [`measure`], [`growth`], [`prices`] | a whole run; from 1 to 500 signals; a million signals | how it is shown |
//! | [`report`], [`document`] | the tables; the page they belong in | how they were measured |
//! | [`figures`] | what was accepted, and what deviates from it | everything but counts |
//! | [`options`] | what a run is asked to do | how |

#![expect(clippy::indexing_slicing, reason = "what is indexed is JSON, which is null where there is nothing")]

pub mod callgrind;
pub mod clock;
pub mod count;
pub mod document;
pub mod figures;
pub mod growth;
pub mod measure;
pub mod options;
pub mod prices;
pub mod report;
pub mod requests;
pub mod running;
pub mod size;
pub mod subject;
