//! What the operator types to start this program: in the repository, in an unpacked release, or
//! installed. Must not know which commands there are.

/// The name that this program has in its own texts.
const NAME: &str = "cargo intake";

/// The text of a help with this program's name, wherever it stands, as the operator types it.
pub(crate) fn as_typed(text: &str) -> String {
    text.replace(NAME, own_name())
}

/// What the operator types to start this program.
pub(crate) fn own_name() -> &'static str {
    let program = std::env::current_exe().unwrap_or_default();
    let is_beside = |file: &str| {
        let folder = program.parent();
        folder.is_some_and(|folder| folder.join(file).is_file())
    };
    let is_in_release = is_beside("template.yaml");
    // Cargo's lock of the folder that it puts programs into.
    let is_in_target_folder = is_beside(".cargo-lock");
    if is_in_release {
        "./intake"
    } else if is_in_target_folder {
        NAME
    } else {
        "intake"
    }
}

/// `text` with the commands in backticks as the operator types them. The name stays elsewhere: a value
/// in the text may contain it, such as the name of a key.
pub(crate) fn commands_as_typed(text: &str) -> String {
    text.replace(&format!("`{NAME} "), &format!("`{} ", own_name()))
}
