//! Which field of the contract the client may have meant by an unknown one (docs/api.md, Warnings).

use crate::limits::MAX_UNKNOWN_NAME_CHARS;

/// What other systems call a field, in lower case and without separators, and the field.
pub(crate) type Synonym = (&'static str, &'static str);

/// What other systems call the fields of a signal. A time of the client's own belongs into its data.
pub(crate) const SIGNAL_SYNONYMS: [Synonym; 12] = [
    ("user", "customerId"),
    ("userid", "customerId"),
    ("customeridentifier", "customerId"),
    ("event", "eventType"),
    ("eventname", "eventType"),
    ("type", "eventType"),
    ("attributes", "data"),
    ("payload", "data"),
    ("properties", "data"),
    ("date", "data.date"),
    ("time", "data.time"),
    ("timestamp", "data.timestamp"),
];

/// What other systems call the profile fields.
pub(crate) const PROFILE_SYNONYMS: [Synonym; 25] = [
    ("mail", "email"),
    ("emailaddress", "email"),
    ("mobile", "phoneNumber"),
    ("mobilenumber", "phoneNumber"),
    ("telephone", "phoneNumber"),
    ("tel", "phoneNumber"),
    ("givenname", "firstName"),
    ("forename", "firstName"),
    ("surname", "lastName"),
    ("familyname", "lastName"),
    ("sex", "gender"),
    ("birthday", "dob"),
    ("birthdate", "dob"),
    ("dateofbirth", "dob"),
    ("cityname", "city"),
    ("town", "city"),
    ("region", "state"),
    ("province", "state"),
    ("statename", "state"),
    ("countrycode", "country"),
    ("countryname", "country"),
    ("postcode", "zip"),
    ("postalcode", "zip"),
    ("plz", "zip"),
    ("zipcode", "zip"),
];

/// The one of `fields` that `name` resembles: equal but for case and separators, one of its `synonyms`, its leading words
/// (`phone` of `phoneNumber`), or a typing error away.
pub(crate) fn suggest_field(name: &str, fields: &[&'static str], synonyms: &[Synonym]) -> Option<&'static str> {
    // A longer name is an error anyway, and comparing one as long as the body would take a second.
    if name.chars().nth(MAX_UNKNOWN_NAME_CHARS).is_some() {
        return None;
    }
    let name: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if let Some((_, field)) = synonyms.iter().find(|(synonym, _)| *synonym == name) {
        return Some(field);
    }
    let begins = |field: &&&str| {
        let rest = field.get(name.len()..).filter(|_| field.to_lowercase().starts_with(&name));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_uppercase))
    };
    let is_typing_error = |field: &&&str| {
        // In a short name, two different characters make another name; in one of three letters, one does: `vip` is not `zip`.
        let allowed = match field.len() {
            ..=3 => 0,
            4..=5 => 1,
            _ => 2,
        };
        strsim::osa_distance(&field.to_lowercase(), &name) <= allowed
    };
    fields.iter().find(begins).or_else(|| fields.iter().find(is_typing_error)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::customer::PROFILE_FIELDS;
    use crate::signal::SIGNAL_FIELDS;

    fn suggestion(name: &str) -> Option<&'static str> {
        suggest_field(name, &PROFILE_FIELDS, &PROFILE_SYNONYMS)
    }

    #[test]
    fn name_that_resembles_a_member_of_a_signal_gets_a_suggestion() {
        for (name, like) in [
            ("customer_id", "customerId"),
            ("userId", "customerId"),
            ("event", "eventType"),
            ("type", "eventType"),
            ("properties", "data"),
            ("timestamp", "data.timestamp"),
            ("emitter", "emitterId"),
            ("step_node", "stepNodeId"),
            ("date", "data.date"),
            ("eventFlowIdentifier", "eventflowIdentifier"),
        ] {
            assert_eq!(suggest_field(name, &SIGNAL_FIELDS, &SIGNAL_SYNONYMS), Some(like), "{name}");
        }
        for name in ["sessionId", "source", "channel", "id", "database", "dataVersion", "customerIdHash", "custom"] {
            assert_eq!(suggest_field(name, &SIGNAL_FIELDS, &SIGNAL_SYNONYMS), None, "{name}");
        }
    }

    #[test]
    fn name_that_resembles_a_profile_field_gets_a_suggestion() {
        for (name, like) in [
            ("phone", "phoneNumber"),
            ("Phone_Number", "phoneNumber"),
            ("first_name", "firstName"),
            ("LASTNAME", "lastName"),
            ("emial", "email"),
            ("zipCode", "zip"),
            ("postal-code", "zip"),
            ("dateOfBirth", "dob"),
            ("countri", "country"),
            ("first", "firstName"),
        ] {
            assert_eq!(suggestion(name), Some(like), "{name}");
        }
    }

    #[test]
    fn name_longer_than_the_limit_gets_no_suggestion() {
        let of_length = |length: usize| format!("{:-<length$}", "email");
        assert_eq!(suggestion(&of_length(MAX_UNKNOWN_NAME_CHARS)), Some("email"));
        assert_eq!(suggestion(&of_length(MAX_UNKNOWN_NAME_CHARS + 1)), None);
    }

    #[test]
    fn other_name_gets_no_suggestion() {
        for name in [
            "loyaltyTier",
            "company",
            "x",
            "",
            "tags",
            "newsletter",
            "age",
            "emailVerified",
            "stateful",
            "cityGuide",
            "phon",
            "vip",
            "job",
        ] {
            assert_eq!(suggestion(name), None, "{name}");
        }
    }
}
