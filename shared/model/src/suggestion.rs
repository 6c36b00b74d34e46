//! Which field of the contract the client may have meant by an unknown one (docs/api.md, Warnings).

use crate::limits::MAX_UNKNOWN_NAME_CHARS;

/// What other systems call a field, in lower case and without separators, and the field.
pub type Synonym = (&'static str, &'static str);

/// What they call the members of a signal. A time of the client's own belongs into its data.
pub const SIGNAL_SYNONYMS: [Synonym; 11] = [
    ("user", "customerId"),
    ("userid", "customerId"),
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

/// What they call the profile fields.
pub const PROFILE_SYNONYMS: [Synonym; 22] = [
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
    ("town", "city"),
    ("region", "state"),
    ("province", "state"),
    ("countrycode", "country"),
    ("zipcode", "zip"),
    ("postcode", "zip"),
    ("postalcode", "zip"),
    ("plz", "zip"),
];

/// The largest edit distance of a typing error, by the length of the field: in a short name, other characters make another name.
fn typing_errors(field: &str) -> usize {
    match field.len() {
        0..=3 => 0,
        4..=5 => 1,
        _ => 2,
    }
}

/// The one of `fields` that `name` resembles: equal but for case and separators, one of its `synonyms`, its first words
/// (`phone` of `phoneNumber`), or a typing error away.
pub fn suggest_field(name: &str, fields: &[&'static str], synonyms: &[Synonym]) -> Option<&'static str> {
    // A longer name is an error anyway, and comparing one as long as the body would take a second.
    if name.chars().nth(MAX_UNKNOWN_NAME_CHARS).is_some() {
        return None;
    }
    let name: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if let Some((_, field)) = synonyms.iter().find(|(synonym, _)| *synonym == name) {
        return Some(field);
    }
    let are_first_words = |field: &&&str| {
        let rest = field.to_lowercase().starts_with(&name).then(|| field.get(name.len()..)).flatten();
        !name.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_uppercase))
    };
    let is_typing_error = |field: &&&str| strsim::osa_distance(&field.to_lowercase(), &name) <= typing_errors(field);
    let found = fields.iter().find(are_first_words).or_else(|| fields.iter().find(is_typing_error));
    found.copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::customer::PROFILE_FIELDS;
    use crate::unknown_fields::SIGNAL_FIELDS;

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
            ("eventFlowIdentifier", "eventflowIdentifier"),
        ] {
            assert_eq!(suggest_field(name, &SIGNAL_FIELDS, &SIGNAL_SYNONYMS), Some(like), "{name}");
        }
        for name in ["sessionId", "source", "channel", "id", "database", "dataSource"] {
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
        ] {
            assert_eq!(suggestion(name), Some(like), "{name}");
        }
    }

    #[test]
    fn name_longer_than_the_limit_gets_no_suggestion() {
        let of_length = |length: usize| format!("{:_<length$}", "email");
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
            "vip",
            "cityHall",
            "stateful",
        ] {
            assert_eq!(suggestion(name), None, "{name}");
        }
    }
}
