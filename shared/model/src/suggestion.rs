//! Which field of the contract the client may have meant by an unknown one (docs/api.md,
//! Warnings).

use crate::json::Value;
use crate::limits::{MAX_ERRORS_PER_SIGNAL, MAX_UNKNOWN_NAME_CHARS};
use crate::pointer::JsonPointer;
use crate::validation::{FieldErrorCode, FieldErrors, WarningCode, Warnings};

/// A field of the contract, and what other systems call it, in lower case and without separators.
pub(crate) type Synonyms = (&'static str, &'static [&'static str]);

/// What other systems call the fields of a signal. A time of the client's own belongs in its data.
pub(crate) const SIGNAL_SYNONYMS: [Synonyms; 6] = [
    ("customerId", &["user", "userid", "customeridentifier"]),
    ("eventType", &["event", "eventname", "type"]),
    ("data", &["attributes", "payload", "properties"]),
    ("data.date", &["date"]),
    ("data.time", &["time"]),
    ("data.timestamp", &["timestamp"]),
];

/// What other systems call the profile fields.
pub(crate) const PROFILE_SYNONYMS: [Synonyms; 10] = [
    ("email", &["mail", "emailaddress"]),
    (
        "phoneNumber",
        &["mobile", "mobilenumber", "telephone", "tel"],
    ),
    ("firstName", &["givenname", "forename"]),
    ("lastName", &["surname", "familyname"]),
    ("gender", &["sex"]),
    ("dob", &["birthday", "birthdate", "dateofbirth"]),
    ("city", &["cityname", "town"]),
    ("state", &["region", "province", "statename"]),
    ("country", &["countrycode", "countryname"]),
    ("zip", &["postcode", "postalcode", "plz", "zipcode"]),
];

/// The fields of one kind of object in the contract.
pub(crate) struct Vocabulary {
    pub(crate) fields: &'static [&'static str],
    pub(crate) synonyms: &'static [Synonyms],
}

impl Vocabulary {
    /// The field that `name` resembles: equal but for case and separators, one of its synonyms,
    /// its leading words (`phone` of `phoneNumber`), or a typing error away.
    pub(crate) fn suggest(&self, name: &str) -> Option<&'static str> {
        // A longer name is an error anyway, and comparing one as long as the body would take a
        // second.
        if name.chars().nth(MAX_UNKNOWN_NAME_CHARS).is_some() {
            return None;
        }
        let name: String = name
            .chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect();
        if let Some((field, _)) = self
            .synonyms
            .iter()
            .find(|(_, synonyms)| synonyms.contains(&name.as_str()))
        {
            return Some(field);
        }
        let begins = |field: &&&str| {
            let rest = field
                .get(name.len()..)
                .filter(|_| field.to_lowercase().starts_with(&name));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_uppercase))
        };
        let is_typing_error = |field: &&&str| {
            // In a short name, two different characters make another name; in one of three letters,
            // one does: `vip` is not `zip`.
            let allowed = match field.len() {
                ..=3 => 0,
                4..=5 => 1,
                _ => 2,
            };
            strsim::osa_distance(&field.to_lowercase(), &name) <= allowed
        };
        self.fields
            .iter()
            .find(begins)
            .or_else(|| self.fields.iter().find(is_typing_error))
            .copied()
    }

    /// A warning about the unknown field `name`: the `predicate`, and the field that the client may
    /// have meant.
    pub(crate) fn warning(&self, predicate: &str, name: &str) -> String {
        match self.suggest(name) {
            Some(like) => format!("{predicate}. Did you mean {like}?"),
            None => predicate.to_owned(),
        }
    }

    /// The end of a sentence about `missing` fields of `object`: which unknown ones the client may
    /// have meant by them. Only the first few are looked at.
    pub(crate) fn similar(&self, object: Value<'_>, missing: &[&str]) -> String {
        let present = object.raw_fields().filter(|(_, value)| !value.is_null());
        let unknown = present
            .filter_map(|(name, _)| name.decode().ok())
            .filter(|name| !self.fields.contains(&name.as_ref()));
        let similar = unknown.take(MAX_ERRORS_PER_SIGNAL).filter_map(|name| {
            let like = self.suggest(&name)?;
            missing
                .contains(&like)
                .then(|| format!("{name} for {like}"))
        });
        let similar: Vec<_> = similar.collect();
        if similar.is_empty() {
            String::new()
        } else {
            format!("; did you write {}?", similar.join(", "))
        }
    }

    /// Adds an error to `errors` about the field `name`, which the `body` does not have. The end of
    /// the sentence is the `hint`, if there is one, or a similar field that the body has.
    pub(crate) fn report_missing(
        &self,
        name: &str,
        body: Value<'_>,
        hint: &str,
        errors: &mut FieldErrors,
    ) {
        let why = match hint {
            "" => self.similar(body, &[name]),
            hint => hint.to_owned(),
        };
        errors.add(
            &JsonPointer::Member(&JsonPointer::Root, name),
            FieldErrorCode::Required,
            format!("is required{why}"),
        );
    }

    /// Adds a warning about the unknown field `name` of the body, which is at `path`.
    pub(crate) fn warn_ignored(&self, name: &str, path: &JsonPointer<'_>, warnings: &mut Warnings) {
        let message = || self.warning("is not in the contract; it was ignored", name);
        warnings.add(path, WarningCode::UndocumentedMember, message);
    }
}

#[cfg(test)]
mod tests {
    use super::Vocabulary;
    use crate::batch::BATCH;
    use crate::customer::{CUSTOMER, PROFILE};
    use crate::limits::MAX_UNKNOWN_NAME_CHARS;
    use crate::signal::SIGNAL;

    /// Asserts the suggestions for names, as `name>suggestion`, and that other names have none.
    fn assert_suggestions(vocabulary: &Vocabulary, similar: &str, others: &str) {
        for (name, like) in similar
            .split_whitespace()
            .map(|pair| pair.split_once('>').unwrap())
        {
            assert_eq!(vocabulary.suggest(name), Some(like), "{name}");
        }
        for name in others.split_whitespace() {
            assert_eq!(vocabulary.suggest(name), None, "{name}");
        }
    }

    #[test]
    fn name_that_resembles_a_field_of_the_contract_gets_a_suggestion() {
        let similar = "customer_id>customerId userId>customerId event>eventType type>eventType properties>data timestamp>data.timestamp \
            emitter>emitterId step_node>stepNodeId date>data.date eventFlowIdentifier>eventflowIdentifier";
        let others = "sessionId source channel id database dataVersion customerIdHash custom";
        assert_suggestions(&SIGNAL, similar, others);
        let similar = "request_identifier>requestIdentifier requestId>requestIdentifier Signals>signals signal>signals";
        assert_suggestions(&BATCH, similar, "source client id debug");
        let similar = "customer_id>customerId customerdata>customerData userId>customerId";
        assert_suggestions(&CUSTOMER, similar, "source client id debug");
        let similar = "phone>phoneNumber Phone_Number>phoneNumber first_name>firstName LASTNAME>lastName emial>email zipCode>zip \
            postal-code>zip dateOfBirth>dob countri>country first>firstName";
        let others = "loyaltyTier company x tags newsletter age emailVerified stateful cityGuide phon vip job";
        assert_suggestions(&PROFILE, similar, others);
        assert_eq!(PROFILE.suggest(""), None);
    }

    #[test]
    fn name_longer_than_the_limit_gets_no_suggestion() {
        let of_length = |length: usize| format!("{:-<length$}", "email");
        assert_eq!(
            PROFILE.suggest(&of_length(MAX_UNKNOWN_NAME_CHARS)),
            Some("email")
        );
        assert_eq!(
            PROFILE.suggest(&of_length(MAX_UNKNOWN_NAME_CHARS + 1)),
            None
        );
    }
}
