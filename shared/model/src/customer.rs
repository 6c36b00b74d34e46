//! One customer: what to change of the stored profile (SPEC 1.1, 2.2).

use std::borrow::Cow;

use crate::document::{Document, Names};
use crate::fault::{Fault, FaultCode, Faults, Warning, Warnings};
use crate::identifier::{LONE_SURROGATE, Placeholders, read_identifier};
use crate::limits::{
    PROFILE_VALUE_CHARS, REPORTED_PER_REQUEST, UNDOCUMENTED_NAME_CHARS, UNDOCUMENTED_PER_REQUEST,
    UNDOCUMENTED_VALUE_CHARS,
};
use crate::place::Path;
use crate::resemblance::documented_name_like;
use crate::token::{JsonText, Token, Tokens};

/// The documented members of customerData (SPEC 1.1).
pub const DOCUMENTED: [&str; 10] =
    ["email", "phoneNumber", "firstName", "lastName", "gender", "dob", "city", "state", "country", "zip"];

/// Names that the stored item uses for itself (SPEC 2.2).
pub const RESERVED: [&str; 6] = ["pk", "accountId", "customerId", "createdAt", "updatedAt", "expiresAt"];

/// An update of one customer that obeys every rule of SPEC 2.2.
#[derive(Debug)]
pub struct CustomerUpdate<'a> {
    /// Who.
    pub customer_id: Cow<'a, str>,
    /// What becomes of the profile, member by member. No name stands twice.
    pub changes: Vec<(Cow<'a, str>, Change<'a>)>,
    /// Members that are not in the contract.
    pub warnings: Vec<Warning>,
}

/// What becomes of one member of the profile (RFC 7396).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// It gets this value.
    Set(Document<'a>),
    /// It goes.
    Remove,
}

impl<'a> CustomerUpdate<'a> {
    /// Reads an update.
    ///
    /// # Errors
    /// Every fault of it; the first hundred, should there be more.
    pub fn parse(text: JsonText<'a>) -> Result<Self, Vec<Fault>> {
        let mut tokens = text.tokens();
        let mut faults = Faults::keeping(REPORTED_PER_REQUEST);
        let mut reading = Reading::default();
        if matches!(tokens.next(), Some(Token::BeginObject)) {
            reading.envelope(&mut tokens, &mut faults);
        } else {
            faults.add(&Path::Root, FaultCode::InvalidType, "must be an object");
        }
        match reading.customer_id {
            Some(customer_id) if faults.is_empty() => {
                let warnings = reading.warnings.into_kept(&Path::Root);
                Ok(Self { customer_id, changes: reading.changes, warnings })
            }
            _ => Err(faults.into_kept()),
        }
    }
}

struct Reading<'a> {
    customer_id: Option<Cow<'a, str>>,
    changes: Vec<(Cow<'a, str>, Change<'a>)>,
    undocumented: usize,
    warnings: Warnings,
}

impl Default for Reading<'_> {
    fn default() -> Self {
        let warnings = Warnings::keeping(REPORTED_PER_REQUEST);
        Self { customer_id: None, changes: Vec::new(), undocumented: 0, warnings }
    }
}

impl<'a> Reading<'a> {
    fn envelope(&mut self, tokens: &mut Tokens<'a>, faults: &mut Faults) {
        let mut names = Names::default();
        let (mut id_seen, mut data_seen) = (false, false);
        while let Some(raw) = tokens.next_name() {
            let name = names.add(raw, &Path::Root, faults);
            let at = Path::Member(&Path::Root, &name);
            let Some(token) = tokens.next() else { break };
            match name.as_ref() {
                _ if matches!(token, Token::Null) => {}
                "customerId" => {
                    id_seen = true;
                    self.customer_id = read_identifier(token, tokens, Placeholders::Refused, &at, faults);
                }
                "customerData" if matches!(token, Token::BeginObject) => {
                    data_seen = true;
                    self.profile(tokens, &at, faults);
                }
                "customerData" => {
                    data_seen = true;
                    tokens.skip(token);
                    faults.add(&at, FaultCode::InvalidType, "must be an object");
                }
                _ => {
                    tokens.skip(token);
                    self.warnings.add(&at, || "is not in the contract; it was ignored");
                }
            }
        }
        names.report_duplicates(&Path::Root, faults);
        for (seen, name) in [(id_seen, "customerId"), (data_seen, "customerData")] {
            if !seen {
                faults.add(&Path::Member(&Path::Root, name), FaultCode::Required, "is required");
            }
        }
    }

    fn profile(&mut self, tokens: &mut Tokens<'a>, path: &Path<'_>, faults: &mut Faults) {
        let mut names = Names::default();
        while let Some(raw) = tokens.next_name() {
            let name = names.add(raw, path, faults);
            let at = Path::Member(path, &name);
            let Some(token) = tokens.next() else { break };
            let change = if DOCUMENTED.contains(&name.as_ref()) {
                documented(token, tokens, &at, faults)
            } else if RESERVED.contains(&name.as_ref()) {
                tokens.skip(token);
                faults.add(&at, FaultCode::ReservedName, "is a name that the stored customer uses for itself");
                continue;
            } else {
                self.undocumented = self.undocumented.saturating_add(1);
                self.undocumented(&name, token, tokens, &at, faults)
            };
            self.changes.push((name, change));
        }
        names.report_duplicates(path, faults);
        if self.undocumented > UNDOCUMENTED_PER_REQUEST {
            let message = format!(
                "must have at most {UNDOCUMENTED_PER_REQUEST} members that are not in the contract; {} were sent",
                self.undocumented
            );
            faults.add(path, FaultCode::TooLarge, message);
        }
    }

    fn undocumented(
        &mut self,
        name: &str,
        token: Token<'a>,
        tokens: &mut Tokens<'a>,
        at: &Path<'_>,
        faults: &mut Faults,
    ) -> Change<'a> {
        self.warnings.add(at, || match documented_name_like(name) {
            Some(like) => format!("is not in the contract; it is stored as it was sent. Did you mean {like}?"),
            None => "is not in the contract; it is stored as it was sent".to_owned(),
        });
        let name_chars = name.chars().count();
        if name_chars > UNDOCUMENTED_NAME_CHARS {
            let message =
                format!("must have a name of at most {UNDOCUMENTED_NAME_CHARS} characters; {name_chars} were sent");
            faults.add(at, FaultCode::TooLong, message);
        }
        if matches!(token, Token::Null) {
            return Change::Remove;
        }
        let value = Document::check(token, tokens, 0, at, faults);
        let chars = value.as_str().chars().count();
        if chars > UNDOCUMENTED_VALUE_CHARS {
            let message = format!("must have at most {UNDOCUMENTED_VALUE_CHARS} characters of JSON; {chars} were sent");
            faults.add(at, FaultCode::TooLong, message);
        }
        Change::Set(value)
    }
}

fn documented<'a>(token: Token<'a>, tokens: &mut Tokens<'a>, at: &Path<'_>, faults: &mut Faults) -> Change<'a> {
    match token {
        Token::Null => return Change::Remove,
        Token::String(string) => match string.decode().map(|text| text.chars().count()) {
            Err(_) => faults.add(at, FaultCode::InvalidType, LONE_SURROGATE),
            Ok(chars) if chars > PROFILE_VALUE_CHARS => {
                let message = format!("must have at most {PROFILE_VALUE_CHARS} characters; {chars} were sent");
                faults.add(at, FaultCode::TooLong, message);
            }
            Ok(_) => {}
        },
        _ => faults.add(at, FaultCode::InvalidType, "must be a string or null"),
    }
    // A scalar has no fault of its own left, so this only takes its text; what is none was a fault already.
    let mut unheard = Faults::keeping(0);
    Change::Set(Document::check(token, tokens, 0, at, &mut unheard))
}

#[cfg(test)]
#[path = "customer_tests.rs"]
mod tests;
