//! The two files with the operator's profiles, as text: what the SDK passes over in silence, and where it stands.
//! Must not know what a setting is for.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, bail, ensure};

use super::{KEYS, environment};
use crate::output::note;

/// The files of profiles.
pub(super) struct ProfileFiles(Vec<ProfileFile>);

/// A file of profiles that exists.
struct ProfileFile {
    kind: FileKind,
    path: PathBuf,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Config,
    Credentials,
}

/// A kind of section that a name chooses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    Profile,
    SsoSession,
}

/// A line of a file.
pub(super) struct Place<'a> {
    file: &'a Path,
    /// Counted from 1.
    line: usize,
    text: &'a str,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of {}", self.line, self.file.display())
    }
}

impl ProfileFiles {
    /// Reads the files. One that does not exist is told if the operator has named it.
    ///
    /// # Errors
    /// A file cannot be read, or is no text in UTF-8: the SDK would go on without it.
    pub(super) fn read() -> Result<Self> {
        let mut files = Vec::new();
        for kind in [FileKind::Config, FileKind::Credentials] {
            files.extend(ProfileFile::read(kind)?);
        }
        Ok(Self(files))
    }

    /// The heading of a section that the AWS command line would take for this name, and the SDK passes over.
    pub(super) fn unreadable_section(&self, kind: SectionKind, name: &str) -> Option<Place<'_>> {
        let headings = self.0.iter().flat_map(|file| {
            let headings = file.places().filter(|place| place.heading().is_some());
            headings.map(|place| (file.kind, place))
        });
        let mut named = headings.filter(|(file, place)| {
            let heading = place.heading().unwrap_or_default();
            is_section_of(*file, heading, kind, name)
        });
        named.next().map(|(_, place)| place)
    }

    /// # Errors
    /// A line of one of these profiles has a control character, or continues the key or token before it.
    pub(super) fn ensure_values_are_clean(&self, profiles: &[&str]) -> Result<()> {
        for file in &self.0 {
            file.ensure_values_are_clean(profiles)?;
        }
        Ok(())
    }
}

impl ProfileFile {
    fn read(kind: FileKind) -> Result<Option<Self>> {
        let (variable, default) = match kind {
            FileKind::Config => ("AWS_CONFIG_FILE", "~/.aws/config"),
            FileKind::Credentials => ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
        };
        let named = environment(variable);
        let path = in_home(named.as_deref().unwrap_or(default));
        let shown = path.display();
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            // The AWS command line passes over them, too.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => {
                if named.is_some() {
                    note(&format!("{variable} is \"{shown}\": {error}."));
                }
                return Ok(None);
            }
            Err(error) => bail!("The file of AWS profiles {shown} cannot be read: {error}."),
        };
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| {
            Error::msg(format!(
                "The file of AWS profiles {shown} is no text in UTF-8. Store it as that."
            ))
        })?;
        Ok(Some(Self { kind, path, text }))
    }

    fn places(&self) -> impl Iterator<Item = Place<'_>> {
        let lines = self.text.lines().enumerate();
        lines.map(|(index, text)| Place {
            file: &self.path,
            line: index.saturating_add(1),
            text,
        })
    }

    fn ensure_values_are_clean(&self, profiles: &[&str]) -> Result<()> {
        let mut is_in_profile = false;
        let mut key = "";
        for place in self.places() {
            if let Some(heading) = place.heading() {
                let is_heading = |name: &&str| is_profile(self.kind, heading, name);
                is_in_profile = profiles.iter().any(is_heading);
                key = "";
            } else if is_in_profile && !place.is_blank_or_comment() {
                let is_continuation = place.text.starts_with(BLANKS);
                if !is_continuation {
                    key = place.text.split('=').next().unwrap_or_default();
                }
                let is_key = KEYS
                    .iter()
                    .any(|(_, known)| key.trim().eq_ignore_ascii_case(known));
                let has_control = place.text.contains(|character: char| {
                    character.is_control() && !BLANKS.contains(&character)
                });
                let has_line_end = is_continuation && is_key;
                ensure!(
                    !has_control && !has_line_end,
                    "{} of an AWS profile has a line end or another control character: {place}.",
                    key.trim()
                );
            }
        }
        Ok(())
    }
}

/// What the SDK's reader takes for blanks.
const BLANKS: [char; 2] = [' ', '\t'];

impl<'a> Place<'a> {
    /// What is in the brackets, if the line begins a section.
    pub(super) fn heading(&self) -> Option<&'a str> {
        let (heading, _) = self.text.strip_prefix('[')?.split_once(']')?;
        Some(heading.trim_matches(BLANKS))
    }

    fn is_blank_or_comment(&self) -> bool {
        let text = self.text.trim_matches(BLANKS);
        text.is_empty() || self.text.starts_with(['#', ';'])
    }
}

/// A path that may begin with the home folder.
fn in_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), environment("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// Whether the SDK takes a section for a profile with this name.
fn is_profile(file: FileKind, heading: &str, name: &str) -> bool {
    match file {
        FileKind::Config if heading == "default" => name == "default",
        FileKind::Config => name_after("profile", heading) == Some(name),
        FileKind::Credentials => heading == name,
    }
}

/// Whether the AWS command line takes a section for one of this kind with this name. It splits a heading as a
/// shell does.
fn is_section_of(file: FileKind, heading: &str, kind: SectionKind, name: &str) -> bool {
    let word = match (file, kind) {
        (FileKind::Credentials, SectionKind::Profile) => return heading == name,
        (FileKind::Credentials, SectionKind::SsoSession) => return false,
        (FileKind::Config, SectionKind::Profile) => "profile",
        (FileKind::Config, SectionKind::SsoSession) => "sso-session",
    };
    let Some(rest) = name_after(word, heading) else {
        return false;
    };
    let unquoted = ['"', '\'']
        .into_iter()
        .find_map(|quote| rest.strip_prefix(quote)?.strip_suffix(quote));
    unquoted.unwrap_or(rest) == name
}

/// What follows a word and blanks in a heading.
fn name_after<'a>(word: &str, heading: &'a str) -> Option<&'a str> {
    let rest = heading.strip_prefix(word)?;
    rest.starts_with(BLANKS).then(|| rest.trim_matches(BLANKS))
}
