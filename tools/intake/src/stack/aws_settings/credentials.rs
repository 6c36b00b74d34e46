//! Why there are no AWS credentials, and what the operator can do. Must not know how credentials are requested.

use std::error::Error as _;

use anyhow::{Error, anyhow};
use aws_config::meta::ProviderChainError;
use aws_credential_types::provider::error::CredentialsError;
use operator::error::{causes, explain_clock};

use super::AwsSettings;

const NO_CREDENTIALS: &str = "No AWS credentials. Sign in (`aws sso login`, `aws login`), choose a profile with AWS_PROFILE, or \
                              set AWS_ACCESS_KEY_ID.";

impl AwsSettings {
    /// Why there are no credentials, and what to do.
    pub(in crate::stack) fn explain(&self, error: &CredentialsError) -> Error {
        if let CredentialsError::CredentialsNotLoaded(_) = error {
            return match reason_of_profile(error) {
                Some(reason) => anyhow!("{NO_CREDENTIALS} (the profile: {reason})"),
                None => anyhow!(NO_CREDENTIALS),
            };
        }
        let reason = causes(error);
        let advice = explain_clock(&reason)
            .map(ToOwned::to_owned)
            .or_else(|| self.sign_in_advice());
        let advice = advice.map_or_else(String::new, |advice| format!(" {advice}"));
        anyhow!(
            "No AWS credentials from the profile {} or the environment: {}.{advice}",
            self.profile_name(),
            reason.trim_end_matches('.')
        )
    }

    /// How the operator signs in with the chosen profile, or with the one that it names as its source.
    fn sign_in_advice(&self) -> Option<String> {
        let name = self.profile_name();
        let chosen = self.profiles.get_profile(name)?;
        let source = chosen
            .get("source_profile")
            .and_then(|source| self.profiles.get_profile(source));
        let has = |key: &str| {
            chosen.get(key).is_some() || source.is_some_and(|source| source.get(key).is_some())
        };
        if has("mfa_serial") {
            Some(format!(
                "The profile needs an MFA code (mfa_serial). Sign in with the AWS command line: \
                 `eval \"$(aws configure export-credentials --profile {name} --format env)\"`."
            ))
        } else if has("login_session") {
            Some(format!(
                "If your session has expired, sign in: `aws login --profile {name}`."
            ))
        } else if has("sso_session") || has("sso_start_url") {
            Some(format!(
                "If your session has expired, sign in: `aws sso login --profile {name}`."
            ))
        } else {
            None
        }
    }
}

/// Why the profile has no credentials, if no provider of the SDK's chain has any.
fn reason_of_profile(error: &CredentialsError) -> Option<String> {
    let chain = error
        .source()?
        .downcast_ref::<ProviderChainError<CredentialsError>>()?;
    let profile = chain
        .attempts()
        .iter()
        .find(|attempt| attempt.name() == "Profile")?;
    profile.error().source().map(causes)
}
