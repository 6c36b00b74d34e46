//! What is read and checked before anything starts. Must not know how anything is started.

use anyhow::Result;
use emulator::{Storage, Template};

use crate::gateway::cors::CorsPolicy;
use crate::gateway::injected_answer::InjectedAnswerShare;
use crate::options::Options;
use crate::programs::Programs;
use crate::stack_info::env_file::EnvFile;

/// What is read and checked before anything starts.
pub(super) struct Checked {
    pub(super) programs: Programs,
    pub(super) template: Template,
    pub(super) cors: CorsPolicy,
    pub(super) injected_answers: Vec<InjectedAnswerShare>,
    pub(super) storage: Storage,
    pub(super) env_file: EnvFile,
}

impl Checked {
    pub(super) fn new(options: &Options) -> Result<Self> {
        let programs = Programs::find()?;
        let template = Template::read(&programs.root.join("template.yaml"))?;
        let cors = options.cors(&template)?;
        let injected_answers = options.injected_answers()?;
        let storage = options.storage()?;
        let env_file = options.env_file.clone();
        let env_file = EnvFile::prepare(env_file.unwrap_or_else(|| programs.env_file()))?;
        Ok(Self {
            programs,
            template,
            cors,
            injected_answers,
            storage,
            env_file,
        })
    }
}
