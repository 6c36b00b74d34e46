//! Decides whether `--seed` stores the sample data, and from which time on. Must not know what is in
//! the sample data, nor how it is stored.

use std::path::PathBuf;

use anyhow::{Context as _, Error, Result};
use emulator::{Emulator, Storage};
use model::timestamp::Timestamp;
use operator::Tables;

use super::inputs::StackInputs;
use super::sample_data::SampleData;
use crate::terminal::status;

/// Stores the sample data, unless the data file holds customers. If an earlier start was
/// interrupted while it did so, stores it again as of the time of that start: then no signal is
/// stored twice.
pub(super) async fn store_sample_data(
    inputs: &StackInputs,
    tables: &Tables,
    emulator: &Emulator,
) -> Result<()> {
    let customers = inputs.template.table("CustomersTable")?;
    let mark = SeedMark::of(&inputs.storage);
    // Read also where it does not count: a file that another program has made is not replaced.
    let earlier_start = mark.read()?;
    let begun_at = if emulator.is_empty(&customers.name)? {
        Some(Timestamp::now())
    } else {
        earlier_start
    };
    let Some(begun_at) = begun_at else {
        status("The data file holds customers: the sample data is not stored again.");
        return Ok(());
    };
    let sample_data = SampleData::read(&inputs.files)?;
    mark.write(begun_at)?;
    sample_data.store(tables, begun_at).await?;
    mark.remove()
}

/// A file beside the data file, with the time at which the sample data began to be stored. It exists
/// until all of the sample data is stored. Data in memory needs none.
struct SeedMark(Option<PathBuf>);

impl SeedMark {
    fn of(storage: &Storage) -> Self {
        match storage {
            Storage::Memory => Self(None),
            Storage::File(path) => Self(Some(path.with_added_extension("seed"))),
        }
    }

    /// The time that an interrupted start has written.
    ///
    /// # Errors
    /// The file is there and cannot be read. Without its time, signals would be stored twice.
    fn read(&self) -> Result<Option<Timestamp>> {
        let Some(path) = self.0.as_ref().filter(|path| path.exists()) else {
            return Ok(None);
        };
        let cannot_read = || format!("Cannot read {}", path.display());
        let text = std::fs::read_to_string(path).with_context(cannot_read)?;
        let begun_at = text.parse().map_err(Error::msg);
        begun_at.map(Some).with_context(cannot_read)
    }

    fn write(&self, begun_at: Timestamp) -> Result<()> {
        let Some(path) = &self.0 else {
            return Ok(());
        };
        std::fs::write(path, begun_at.to_string())
            .with_context(|| format!("Cannot write {}", path.display()))
    }

    fn remove(&self) -> Result<()> {
        let Some(path) = &self.0 else {
            return Ok(());
        };
        std::fs::remove_file(path).with_context(|| format!("Cannot remove {}", path.display()))
    }
}
