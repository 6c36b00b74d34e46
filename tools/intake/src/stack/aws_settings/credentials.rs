//! Why there are no AWS credentials, and what the operator can do. Must not know how credentials are asked
//! for.

use std::error::Error as StdError;

use anyhow::{Error, anyhow};
use aws_config::meta::ProviderChainError;
use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_runtime_api::client::result::ConnectorError;
use operator::error::{causes, explain_clock};

use super::{AwsSettings, environment};

const NO_CREDENTIALS: &str = "No AWS credentials. Sign in (`aws sso login`, `aws login`), choose a profile with AWS_PROFILE, or \
                              set AWS_ACCESS_KEY_ID.";

/// The settings of a profile each of which gives credentials, alone or with others.
const GIVES_CREDENTIALS: [&str; 6] = [
    "aws_access_key_id",
    "credential_process",
    "login_session",
    "role_arn",
    "sso_session",
    "sso_start_url",
];

/// The variable by which Kubernetes and CI systems give credentials; the SDK asks it after the profile.
const WEB_IDENTITY_TOKEN_FILE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";

impl AwsSettings {
    /// Why there are no credentials, and what to do.
    pub(in crate::stack) fn explain(&self, error: &CredentialsError) -> Error {
        if let CredentialsError::CredentialsNotLoaded(_) = error {
            return match reason_of_chain(error) {
                Some(reason) => anyhow!("{NO_CREDENTIALS} {reason}"),
                None => anyhow!(NO_CREDENTIALS),
            };
        }
        let name = self.profile_name();
        let chain = self.profile_chain();
        let has = |key: &str| chain.iter().any(|profile| profile.get(key).is_some());
        let reason = causes(error);
        let advice = explain_clock(&reason)
            .map(|advice| format!(" {advice}"))
            .or_else(|| advice_without_sign_in(error, &reason).map(ToOwned::to_owned))
            .unwrap_or_else(|| advice_of_profile(name, has));
        let reason = reason.trim_end_matches('.');
        let source = if GIVES_CREDENTIALS.iter().any(|key| has(key)) {
            format!(" from the profile {name}")
        } else if environment(WEB_IDENTITY_TOKEN_FILE).is_some() {
            format!(" from {WEB_IDENTITY_TOKEN_FILE}")
        } else {
            String::new()
        };
        anyhow!("No AWS credentials{source}: {reason}.{advice}")
    }
}

/// What the operator can do, if to sign in would not help.
fn advice_without_sign_in(error: &CredentialsError, reason: &str) -> Option<&'static str> {
    // The codes of GetRoleCredentials ("Errors" in the API reference of the single sign-on portal) and of `aws login`.
    const ADVICE: [(&str, &str); 3] = [
        (
            "ForbiddenException",
            " Single sign-on gives you no access to this account and role: check sso_account_id and sso_role_name, and who is \
             assigned to them.",
        ),
        (
            "ResourceNotFoundException",
            " Single sign-on does not know this account and role: check sso_account_id and sso_role_name.",
        ),
        (
            "TooManyRequests",
            " AWS throttles the sign-ins. Wait a minute and run the command again.",
        ),
    ];
    let mut known = ADVICE.into_iter();
    let by_code = known.find(|(code, _)| reason.contains(code));
    by_code.map(|(_, advice)| advice).or_else(|| {
        has_connector_error(error)
            .then_some(" Check the region, the network, and endpoints and proxies if you set them.")
    })
}

/// Whether AWS was not reached.
fn has_connector_error(error: &CredentialsError) -> bool {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if error.is::<ConnectorError>() {
            return true;
        }
        next = error.source();
    }
    false
}

/// How the operator gets credentials from this profile, which has these settings.
fn advice_of_profile(name: &str, has: impl Fn(&str) -> bool) -> String {
    if has("mfa_serial") {
        format!(
            " The profile needs an MFA code (mfa_serial), and this command cannot ask for one: the AWS command line does, \
             with `eval \"$(aws configure export-credentials --profile {name} --format env)\"`."
        )
    } else if has("login_session") {
        format!(" Sign in: `aws login --profile {name}`.")
    } else if has("sso_session") || has("sso_start_url") {
        format!(" Sign in: `aws sso login --profile {name}`.")
    } else if has("credential_process") {
        // What it prints may be a secret.
        " Run its credential_process in a shell to see what that prints.".to_owned()
    } else {
        String::new()
    }
}

/// What is worth telling of a chain of providers none of which had credentials: why a profile has
/// none, and that the metadata service does not answer.
fn reason_of_chain(error: &CredentialsError) -> Option<String> {
    let chain = error
        .source()?
        .downcast_ref::<ProviderChainError<CredentialsError>>()?;
    let mut reasons = Vec::new();
    for attempt in chain.attempts() {
        let subject = match attempt.name() {
            "Profile" => "the profile",
            "Ec2InstanceMetadata" => "the metadata service",
            _ => continue,
        };
        let reason = attempt.error().source().map(causes).unwrap_or_default();
        if !reason.is_empty() {
            reasons.push(format!("{subject}: {reason}"));
        }
    }
    (!reasons.is_empty()).then(|| format!("({})", reasons.join("; ")))
}
