//! template.yaml, and the names of its tables.

use std::path::Path;
use std::sync::LazyLock;

use emulator::Template;

static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    Template::read(&path).expect("template.yaml can be read")
});

/// template.yaml, as the local stack reads it.
pub fn template() -> &'static Template {
    &TEMPLATE
}

/// The name that the table with this logical id has in an emulator.
pub fn table_name(logical_id: &str) -> &'static str {
    let table = template()
        .table(logical_id)
        .expect("the template has this table");
    &table.name
}
