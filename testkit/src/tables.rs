//! template.yaml, and the names of its tables.

use std::path::Path;
use std::sync::LazyLock;

use emulator::Template;

static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../template.yaml");
    Template::read(&path).expect("template.yaml can be read")
});

/// template.yaml, as the local stack reads it.
pub fn template() -> &'static Template {
    &TEMPLATE
}

/// The names that the tables of template.yaml have in an emulator.
#[derive(Clone, Debug)]
pub struct Tables;

impl Tables {
    /// The name of the table with this logical id.
    pub fn name(logical_id: &str) -> &'static str {
        let table = template()
            .table(logical_id)
            .expect("the template has this table");
        &table.name
    }
}
