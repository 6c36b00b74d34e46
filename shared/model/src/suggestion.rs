//! Which documented member of customerData somebody may have meant (SPEC 2.2).

use crate::customer::PROFILE_FIELDS;
use crate::limits::MAX_UNKNOWN_NAME_CHARS;

/// What other systems call the documented members, lower case and without separators.
const SYNONYMS: [(&str, &str); 21] = [
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
    ("postcode", "zip"),
    ("postalcode", "zip"),
    ("plz", "zip"),
];

/// The shortest name of which a part counts as the whole: `phone` is part of `phoneNumber`.
const SHORTEST_PART: usize = 3;

/// How many characters may differ, be missing, be too many or be swapped.
const TYPING_ERRORS: usize = 2;

/// The documented member that `name` resembles: the same but for case and separators, a known synonym, a part of it (or
/// it of the name), or a slip of the keys away.
#[must_use]
pub fn suggest_field(name: &str) -> Option<&'static str> {
    // A longer name is an error in any case, and to compare one as long as the body would take a second.
    if name.chars().nth(MAX_UNKNOWN_NAME_CHARS).is_some() {
        return None;
    }
    let name: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if let Some((_, documented)) = SYNONYMS.iter().find(|(synonym, _)| *synonym == name) {
        return Some(documented);
    }
    let folded = |documented: &str| documented.to_lowercase();
    let is_part = |documented: &&&str| {
        let documented = folded(documented);
        name.len() >= SHORTEST_PART && (documented.starts_with(&name) || name.starts_with(&documented))
    };
    let is_slip = |documented: &&&str| {
        let documented = folded(documented);
        // Of a short name, two other characters are another name.
        let allowed = if documented.len() <= SHORTEST_PART.saturating_add(TYPING_ERRORS) { 1 } else { TYPING_ERRORS };
        strsim::osa_distance(&documented, &name) <= allowed
    };
    let found = PROFILE_FIELDS.iter().find(is_part).or_else(|| PROFILE_FIELDS.iter().find(is_slip));
    found.copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_resemble_a_documented_one_are_recognized() {
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
            assert_eq!(suggest_field(name), Some(like), "{name}");
        }
    }

    #[test]
    fn name_longer_than_the_limit_gets_no_suggestion() {
        let of_length = |length: usize| format!("{:x<length$}", "email");
        assert_eq!(suggest_field(&of_length(MAX_UNKNOWN_NAME_CHARS)), Some("email"));
        assert_eq!(suggest_field(&of_length(MAX_UNKNOWN_NAME_CHARS + 1)), None);
    }

    #[test]
    fn other_names_are_left_alone() {
        for name in ["loyaltyTier", "company", "x", "", "tags", "newsletter", "age"] {
            assert_eq!(suggest_field(name), None, "{name}");
        }
    }
}
