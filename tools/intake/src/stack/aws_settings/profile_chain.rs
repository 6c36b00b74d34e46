//! The profile that the operator has chosen, and those that it names: each exists, and the SDK can read it. Must
//! not know what their settings are for.

use anyhow::{Result, bail, ensure};
use aws_config::profile::Profile;

use super::profile_files::SectionKind;
use super::{AwsSettings, environment};

impl AwsSettings {
    /// The chosen profile, and those that it and they name as their sources.
    pub(super) fn profile_chain(&self) -> Vec<&Profile> {
        let mut chain: Vec<&Profile> = Vec::new();
        let mut next = Some(self.profile_name());
        while let Some(profile) = next.and_then(|name| self.profiles.get_profile(name)) {
            if chain.iter().any(|known| known.name() == profile.name()) {
                // The SDK says that it is a loop, or takes the keys of a profile that is its own source.
                break;
            }
            chain.push(profile);
            next = profile.get("source_profile");
        }
        chain
    }

    pub(super) fn ensure_profiles_exist(&self) -> Result<()> {
        let name = self.profile_name();
        if let Some(variable) = profile_variable()
            && self.profiles.get_profile(name).is_none()
        {
            self.ensure_section_is_readable(SectionKind::Profile, name)?;
            bail!(
                "The AWS profile {name} does not exist: {}. Check {variable}.",
                self.known_profiles()
            );
        }
        for profile in self.profile_chain() {
            self.ensure_session_exists(profile)?;
            let Some(source) = profile.get("source_profile") else {
                continue;
            };
            if self.profiles.get_profile(source).is_none() {
                self.ensure_section_is_readable(SectionKind::Profile, source)?;
                bail!(
                    "The AWS profile {} has source_profile = {source}, and there is no profile {source}: {}.",
                    profile.name(),
                    self.known_profiles()
                );
            }
        }
        Ok(())
    }

    /// Fails when a profile signs in with a section `sso-session` that the files do not have.
    fn ensure_session_exists(&self, profile: &Profile) -> Result<()> {
        let Some(session) = profile.get("sso_session") else {
            return Ok(());
        };
        let name = profile.name();
        if self.profiles.sso_session(session).is_none() {
            self.ensure_section_is_readable(SectionKind::SsoSession, session)?;
            bail!(
                "The AWS profile {name} has sso_session = {session}, and there is no section sso-session {session}."
            );
        }
        for key in ["sso_start_url", "sso_region"] {
            ensure!(
                profile.get(key).is_none(),
                "This program cannot read {key} beside sso_session in the AWS profile {name}: write it in the section \
                 sso-session {session} alone."
            );
        }
        Ok(())
    }

    /// # Errors
    /// There is a section with this name that the AWS command line reads and the SDK does not.
    fn ensure_section_is_readable(&self, kind: SectionKind, name: &str) -> Result<()> {
        let Some(place) = self.files.unreadable_section(kind, name) else {
            return Ok(());
        };
        let heading = place.heading().unwrap_or_default();
        bail!(
            "This program cannot read the section [{heading}], {place}: a name has no quotation marks, and only letters from a \
             to z, digits, and the characters _-/.%@:+."
        )
    }

    fn known_profiles(&self) -> String {
        let mut names: Vec<&str> = self.profiles.profiles().collect();
        names.sort_unstable();
        if names.is_empty() {
            return "there are no profiles".to_owned();
        }
        format!("there are {}", names.join(", "))
    }
}

/// The variables that name a profile. The AWS command line reads both in this order; the SDK knows only
/// the second one.
const PROFILE_VARIABLES: [&str; 2] = ["AWS_DEFAULT_PROFILE", "AWS_PROFILE"];

/// The variable that names the profile.
fn profile_variable() -> Option<&'static str> {
    PROFILE_VARIABLES
        .into_iter()
        .find(|variable| environment(variable).is_some())
}

/// The name of the profile to load. The SDK would take an empty `AWS_PROFILE` for a name.
pub(super) fn chosen_profile() -> Option<String> {
    profile_variable()
        .and_then(environment)
        .or_else(|| std::env::var_os("AWS_PROFILE").map(|_| "default".to_owned()))
}
