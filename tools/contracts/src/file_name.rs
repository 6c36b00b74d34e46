//! The name of the file of a type's event contract. Must not know what is in the file.
//!
//! A type has two names, which are equal if it has no capital letter. Disks that ignore case have one
//! file for `login.json` and `Login.json`, so that one of these types needs the other name.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// The longest name of a contract's file that has the whole type, in bytes and without the ending.
/// File systems have 255 for a name.
const MAX_NAME_BYTES: usize = 200;

/// How many bytes of a longer type its file's name begins with. Encoded, a byte is at most three
/// characters.
const KEPT_BYTES: usize = 40;

/// The usual name of the file of a type's contract. Letters, digits, `_`, `-` and a `.` that is not
/// the first are as they are, and every other byte is percent-encoded, so that no type leads out of
/// the folder. A name that would be too long for a file system ends with the type's SHA-256.
pub(crate) fn file_name(signal_type: &str) -> String {
    let encoded = signal_type
        .bytes()
        .enumerate()
        .map(|(place, byte)| encode_byte(byte, place));
    name_of(signal_type, encoded.collect())
}

/// The name whose capital letters are percent-encoded, too. No two types have names of this kind that
/// are equal when case is ignored.
pub(crate) fn file_name_with_encoded_capitals(signal_type: &str) -> String {
    let encoded = signal_type.bytes().enumerate().map(|(place, byte)| {
        if byte.is_ascii_uppercase() {
            return percent_encode(byte);
        }
        encode_byte(byte, place)
    });
    name_of(signal_type, encoded.collect())
}

/// The name that has these encoded bytes of the type or, if they are too many, the first of them.
fn name_of(signal_type: &str, encoded: Vec<String>) -> String {
    let name = encoded.concat();
    if name.len() <= MAX_NAME_BYTES {
        return name + ".json";
    }
    let begin: String = encoded.into_iter().take(KEPT_BYTES).collect();
    let digest = HEXLOWER.encode(&Sha256::digest(signal_type));
    format!("{begin}%sha256-{digest}.json")
}

fn encode_byte(byte: u8, place: usize) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => char::from(byte).to_string(),
        b'.' if place > 0 => ".".to_owned(),
        _ => percent_encode(byte),
    }
}

fn percent_encode(byte: u8) -> String {
    format!("%{byte:02X}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{file_name, file_name_with_encoded_capitals};

    #[test]
    fn file_of_a_type_is_within_the_folder() {
        for (signal_type, name) in [
            ("product_viewed", "product_viewed.json"),
            ("../a b", "%2E.%2Fa%20b.json"),
            ("é.v2", "%C3%A9.v2.json"),
        ] {
            assert_eq!(file_name(signal_type), name);
        }
    }

    #[test]
    fn name_with_encoded_capitals_tells_types_apart_that_differ_in_case() {
        let long = ["l".repeat(250), "L".repeat(250)];
        let types = ["login", "Login", "LOGIN", "%4Cogin", &long[0], &long[1]];
        let names = types.map(file_name_with_encoded_capitals);
        assert_eq!(
            names[..4],
            [
                "login.json",
                "%4Cogin.json",
                "%4C%4F%47%49%4E.json",
                "%254%43ogin.json"
            ]
        );
        let without_case = names.map(|name| name.to_ascii_lowercase());
        assert_eq!(BTreeSet::from(without_case).len(), types.len());
    }
}
