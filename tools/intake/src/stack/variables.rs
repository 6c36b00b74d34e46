//! The variables that describe a stack: those of the environment, those in the file that `cargo
//! dev` writes, or what CloudFormation knows of a deployed stack. Must not know what they are for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use aws_config::SdkConfig;

use super::cloudformation::{NotDescribed, describe};

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
        let description = describe(config, name)
            .await
            .map_err(|why| explain(&why, name, config))?;
        let outputs = description.outputs.members.into_iter();
        let outputs = outputs.map(|output| (output.output_key, output.output_value));
        let parameters = description.parameters.members.into_iter();
        let parameters =
            parameters.map(|parameter| (parameter.parameter_key, parameter.parameter_value));
        let mut values = HashMap::new();
        for (key, value) in outputs.chain(parameters) {
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

/// The error that tells an operator why a stack was not described.
fn explain(why: &NotDescribed, name: &str, config: &SdkConfig) -> anyhow::Error {
    let region = config.region().map(ToString::to_string).unwrap_or_default();
    match why {
        NotDescribed::Missing => anyhow!(
            "The stack {name} does not exist in {region}. Check its name, AWS_REGION and AWS_PROFILE."
        ),
        NotDescribed::Refused(refusal) => {
            anyhow!("Cannot read the stack {name} in {region}: {refusal}")
        }
        NotDescribed::Unreachable => anyhow!(
            "Cannot reach CloudFormation in {region} for the stack {name}. Check the network."
        ),
        NotDescribed::Unreadable(error) => {
            anyhow!("Cannot read what CloudFormation in {region} says of the stack {name}: {error}")
        }
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
