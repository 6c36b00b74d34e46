//! The variables that describe a stack: those of the environment, those in the file that `cargo
//! dev` writes, or what CloudFormation knows of a deployed stack. Must not know what they are for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use aws_config::SdkConfig;

use super::cloudformation::describe;

/// The file that `cargo dev` writes by default, from the root of the workspace.
pub(super) const DEFAULT_FILE: &str = "target/dev.env";

/// The variables that describe a stack, and where they come from.
#[derive(Clone, Debug)]
pub(super) struct StackVariables {
    pub(super) values: HashMap<String, String>,
    pub(super) source: String,
}

impl StackVariables {
    pub(super) fn from_environment() -> Self {
        let mut values = HashMap::new();
        for (name, value) in std::env::vars_os() {
            if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) {
                values.insert(name, value);
            }
        }
        Self {
            values,
            source: "The environment".to_owned(),
        }
    }

    /// The variables in `file`. The default file may also be in a folder above the current one, or
    /// where a release writes it: in the current folder itself.
    pub(super) fn read_file(file: &Path) -> Result<Self> {
        let is_default = file == Path::new(DEFAULT_FILE);
        let file = if is_default {
            find_default()?
        } else {
            file.to_owned()
        };
        let source = file.display().to_string();
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("Cannot read {source} (is `cargo dev` running?)"))?;
        let values = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Ok(Self { values, source })
    }

    /// The outputs and the parameters of a stack, under the variables that `names` has for them.
    pub(super) async fn read_stack(
        config: &SdkConfig,
        name: &str,
        names: &[(&str, &str)],
    ) -> Result<Self> {
        let described = describe(config, name).await?;
        let outputs = described.outputs.into_iter().flatten();
        let outputs = outputs.map(|output| (output.output_key, output.output_value));
        let parameters = described.parameters.into_iter().flatten();
        let parameters =
            parameters.map(|parameter| (parameter.parameter_key, parameter.parameter_value));
        let mut values = HashMap::new();
        for (key, value) in outputs.chain(parameters) {
            let (Some(key), Some(value)) = (key, value) else {
                continue;
            };
            if let Some((_, variable)) = names.iter().find(|(output, _)| key == *output) {
                values.insert((*variable).to_owned(), value);
            }
        }
        Ok(Self {
            values,
            source: format!("The stack {name}"),
        })
    }

    /// The value of a variable that is set to something.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.values
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The value of a variable. The error says which variable is missing where, and `advice`.
    pub(super) fn get(&self, name: &str, advice: &str) -> Result<&str> {
        self.find(name)
            .with_context(|| format!("{} does not define {name}. {advice}", self.source))
    }
}

fn find_default() -> Result<PathBuf> {
    let current = std::env::current_dir().unwrap_or_default();
    let mut candidates = Vec::new();
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        candidates.push(PathBuf::from(target).join("dev.env"));
    }
    candidates.extend(current.ancestors().map(|folder| folder.join(DEFAULT_FILE)));
    candidates.push(current.join("dev.env"));
    candidates
        .into_iter()
        .find(|file| file.is_file())
        .with_context(|| format!("No local stack is running: neither {DEFAULT_FILE} nor dev.env exists. Start one with `cargo dev` or `./dev`."))
}
