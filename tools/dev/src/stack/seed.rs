//! Decides whether `--seed` stores the sample data, and from which time on. Must not know what is in
//! the sample data, nor how it is stored.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use emulator::{Emulator, Storage};
use model::timestamp::Timestamp;

use super::inputs::StackInputs;
use crate::programs::operator::OperatorProgram;
use crate::programs::sample_data::SampleData;
use crate::terminal::status;

/// Stores the sample data, unless the data file holds customers. If an earlier start was
/// interrupted while it did so, stores it again as of the time of that start: then no signal is
/// stored twice.
pub(super) async fn store_sample_data(
    inputs: &StackInputs,
    operator: &OperatorProgram,
    emulator: &Emulator,
) -> Result<()> {
    let customers = inputs.template.table("CustomersTable")?;
    let mark = SeedMark::of(&inputs.storage);
    let begun_at = if emulator.is_empty(&customers.name)? {
        Some(Timestamp::now())
    } else {
        mark.read()
    };
    let Some(begun_at) = begun_at else {
        status("The data file holds customers: the sample data is not stored again.");
        return Ok(());
    };
    let sample_data = SampleData::read(&inputs.programs)?;
    operator.build().await?;
    mark.write(begun_at)?;
    sample_data.store(operator, begun_at).await?;
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

    fn read(&self) -> Option<Timestamp> {
        let text = std::fs::read_to_string(self.0.as_ref()?).ok()?;
        text.parse().ok()
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
