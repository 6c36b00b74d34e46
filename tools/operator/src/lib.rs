//! What an operator's commands do with the tables of a stack: `cargo intake` calls it for any stack,
//! and `cargo dev` for its own. Never deployed.
//!
//! [`import`] stores the lines of a file, [`rejected`] reads and redrives rejected signals, and
//! [`items`] reads and deletes items of any table. [`Tables`] says where the tables are.
//!
//! The crate parses and stores with the functions' own code, in [`model`] and [`store`], since the two
//! must not differ. It must not know how the stack was found, nor how a result is printed: results are
//! values, and the texts of a long operation go to a [`Note`].

pub mod error;
pub mod escape;
mod file_line;
pub mod import;
pub mod items;
pub mod read_retries;
pub mod rejected;
mod tables;

pub use self::tables::{NOTE_INTERVAL, Note, Tables, WRITE_TIMEOUT};
