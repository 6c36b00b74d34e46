//! The variables that describe a stack: those of the environment, those in the file that `cargo
//! dev` writes, or what CloudFormation knows of a deployed stack. Must not know what they are for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::ProvideErrorMetadata as _;
use aws_sdk_cloudformation::types::Stack;

/// The file that `cargo dev` writes by default, from the root of the workspace.
pub(super) const DEFAULT_FILE: &str = "target/dev.env";

/// Variables, and where they come from.
#[derive(Clone, Debug)]
pub(super) struct Variables {
    pub(super) values: HashMap<String, String>,
    pub(super) source: String,
}

impl Variables {
    pub(super) fn of_environment() -> Self {
        let variables = std::env::vars_os();
        let values = variables.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self {
            values: values.collect(),
            source: "The environment".to_owned(),
        }
    }

    /// The variables in `file`. The default one is also looked for in the folders above the current
    /// one, and where a release writes it: in the current one.
    pub(super) fn of_file(file: &Path) -> Result<Self> {
        let file = if file == Path::new(DEFAULT_FILE) {
            find_default()?
        } else {
            file.to_owned()
        };
        let source = file.display().to_string();
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("Cannot read {source} (is `cargo dev` running?)"))?;
        let values = text.lines().filter_map(|line| line.split_once('='));
        Ok(Self {
            values: values
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            source,
        })
    }

    /// The outputs and the parameters of a stack, under the variables that `names` has for them.
    pub(super) async fn of_stack(
        config: &SdkConfig,
        name: &str,
        names: &[(&str, &str)],
    ) -> Result<Self> {
        let described = Client::new(config)
            .describe_stacks()
            .stack_name(name)
            .send()
            .await;
        let described = described.map_err(|error| {
            let region = config.region().map(ToString::to_string).unwrap_or_default();
            match (error.code(), error.message().unwrap_or_default()) {
                (Some("ValidationError"), _) => {
                    anyhow!("The stack {name} does not exist in {region}. Check its name, AWS_REGION and AWS_PROFILE.")
                }
                (Some(code), message) => anyhow!("Cannot read the stack {name} in {region}: {code}: {message}"),
                (None, _) => {
                    anyhow!("Cannot reach CloudFormation in {region} for the stack {name}. Check the network.")
                }
            }
        })?;
        let outputs = described.stacks().iter().flat_map(Stack::outputs);
        let outputs = outputs.map(|output| (output.output_key(), output.output_value()));
        let parameters = described.stacks().iter().flat_map(Stack::parameters);
        let parameters =
            parameters.map(|parameter| (parameter.parameter_key(), parameter.parameter_value()));
        let values = outputs.chain(parameters).filter_map(|(key, value)| {
            let (_, variable) = names.iter().find(|(output, _)| key == Some(output))?;
            Some(((*variable).to_owned(), value?.to_owned()))
        });
        Ok(Self {
            values: values.collect(),
            source: format!("The stack {name}"),
        })
    }

    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.values
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    pub(super) fn get(&self, name: &str, advice: &str) -> Result<&str> {
        self.find(name)
            .with_context(|| format!("{} does not define {name}. {advice}", self.source))
    }
}

fn find_default() -> Result<PathBuf> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map(|target| PathBuf::from(target).join("dev.env"));
    let folder = std::env::current_dir().unwrap_or_default();
    target
        .into_iter()
        .chain(folder.ancestors().map(|folder| folder.join(DEFAULT_FILE)))
        .chain([folder.join("dev.env")])
        .find(|file| file.is_file())
        .with_context(|| format!("No local stack is running: neither {DEFAULT_FILE} nor dev.env exists. Start one with `cargo dev` or `./dev`."))
}
