//! What a stack is made of beside its options: the template and the files. All of it is read and
//! checked before anything starts. Must not know how a part is started.

use anyhow::Result;
use emulator::{Storage, Template};

use crate::files::Files;
use crate::gateway::cors::CorsPolicy;
use crate::options::Options;
use crate::stack_info::env_file::EnvFile;

/// The inputs of a stack, which are checked.
pub(super) struct StackInputs {
    pub(super) files: Files,
    pub(super) template: Template,
    pub(super) cors: CorsPolicy,
    pub(super) storage: Storage,
    pub(super) env_file: EnvFile,
}

impl StackInputs {
    /// # Errors
    /// An option or a file cannot be used.
    pub(super) fn read(options: &Options) -> Result<Self> {
        let files = Files::find()?;
        let template = Template::read(&files.root.join("template.yaml"))?;
        let cors = options.cors_policy(&template)?;
        options.ensure_possible_shares()?;
        let storage = options.storage()?;
        let env_file = options.env_file.clone();
        let env_file = EnvFile::prepare(env_file.unwrap_or_else(|| files.env_file()))?;
        Ok(Self {
            files,
            template,
            cors,
            storage,
            env_file,
        })
    }
}
