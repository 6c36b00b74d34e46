//! The name of the file of a type's event contract. Must not know what is in the file.
//!
//! A type has two names, which are equal if it has no capital letter. Disks that ignore case have one
//! file for `login.json` and `Login.json`, so that one of these types needs the other name.

use anyhow::{Context as _, Result, bail, ensure};
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use sha2::{Digest as _, Sha256};

/// How the name of every contract's file ends.
const ENDING: &str = ".json";

/// What is before the SHA-256 in the name of a long type's file. It is no percent-encoded byte.
const BEFORE_DIGEST: &str = "%sha256-";

/// The longest name of a contract's file that has the whole type, in bytes and without the ending.
/// File systems have 255 for a name.
const MAX_NAME_BYTES: usize = 200;

/// The names that Windows gives to devices, with any ending ("Naming Files, Paths, and Namespaces" in
/// its documentation). No file there can have them.
const DEVICES: [&str; 4] = ["aux", "con", "nul", "prn"];

/// Those of them that a digit follows.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// How many bytes of a longer type its file's name begins with. Encoded, a byte is at most three
/// characters.
const KEPT_BYTES: usize = 40;

/// The usual name of the file of a type's contract. Letters, digits, `_`, `-` and a `.` that is not
/// the first are as they are, and every other byte is percent-encoded, so that no type leads out of
/// the folder. A name that would be too long for a file system ends with the type's SHA-256.
pub(crate) fn file_name(signal_type: &str) -> String {
    name_of(signal_type, encode_bytes(signal_type.as_bytes()))
}

/// The name whose capital letters are percent-encoded, too. No two types have names of this kind that
/// are equal when case is ignored.
pub(crate) fn file_name_with_encoded_capitals(signal_type: &str) -> String {
    name_of(signal_type, encode_with_capitals(signal_type.as_bytes()))
}

/// The name that has these encoded bytes of the type or, if they are too many, the first of them.
fn name_of(signal_type: &str, encoded: Vec<String>) -> String {
    let name = encoded.concat();
    if name.len() <= MAX_NAME_BYTES {
        return name + ENDING;
    }
    let begin: String = encoded.into_iter().take(KEPT_BYTES).collect();
    let digest = HEXLOWER.encode(&Sha256::digest(signal_type));
    format!("{begin}{BEFORE_DIGEST}{digest}{ENDING}")
}

/// Of a type that Windows has as a device, the first byte is percent-encoded, too.
fn encode_bytes(bytes: &[u8]) -> Vec<String> {
    let places = bytes.iter().enumerate();
    let mut encoded: Vec<_> = places
        .map(|(place, byte)| encode_byte(*byte, place))
        .collect();
    if let (Some(start), Some(byte)) = (encoded.first_mut(), bytes.first())
        && is_device(bytes)
    {
        *start = percent_encode(*byte);
    }
    encoded
}

fn is_device(signal_type: &[u8]) -> bool {
    let name = signal_type.split(|byte| *byte == b'.').next();
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let is_named = DEVICES.iter().any(|device| name == device.as_bytes());
    let is_numbered = name.split_last().is_some_and(|(digit, device)| {
        let mut devices = NUMBERED_DEVICES.iter();
        digit.is_ascii_digit() && devices.any(|one| device == one.as_bytes())
    });
    is_named || is_numbered
}

fn encode_with_capitals(bytes: &[u8]) -> Vec<String> {
    let encoded = bytes.iter().zip(encode_bytes(bytes));
    let encoded = encoded.map(|(byte, usual)| {
        if byte.is_ascii_uppercase() {
            percent_encode(*byte)
        } else {
            usual
        }
    });
    encoded.collect()
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

/// Whether a file is meant as a contract: its name ends like one, also in capital letters. macOS puts
/// a file `._NAME` beside another one where the disk has no place for what it says of it.
pub(crate) fn is_meant_as_contract(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(ENDING) && !name.starts_with("._")
}

/// Checks that [`file_name`] or [`file_name_with_encoded_capitals`] gives this name to a type. A file
/// with another name is the contract of no type.
///
/// # Errors
/// They do not: says why, or which name is meant.
pub(crate) fn ensure_name_of_type(name: &str) -> Result<()> {
    let length = name.len().saturating_sub(ENDING.len());
    let encoded = name.get(..length).unwrap_or_default();
    if let Some((begin, digest)) = encoded.split_once(BEFORE_DIGEST) {
        return ensure_name_of_long_type(name, begin, digest);
    }
    let signal_type = String::from_utf8(percent_decode(encoded)?);
    let signal_type = signal_type.context("the name is no UTF-8 when it is decoded")?;
    ensure!(!signal_type.is_empty(), "the name has no type");
    let usual = file_name(&signal_type);
    if name != usual && name != file_name_with_encoded_capitals(&signal_type) {
        bail!("the contract of the type {signal_type:?} has the name {usual}");
    }
    Ok(())
}

/// Of a long type, the name has only the first bytes, so that the digest cannot be checked.
fn ensure_name_of_long_type(name: &str, begin: &str, digest: &str) -> Result<()> {
    let bytes = percent_decode(begin)?;
    let usual = encode_bytes(&bytes);
    let is_begin = begin == usual.concat() || begin == encode_with_capitals(&bytes).concat();
    let has_digest = HEXLOWER
        .decode(digest.as_bytes())
        .is_ok_and(|digest| digest.len() == Sha256::output_size());
    ensure!(
        name.ends_with(ENDING) && is_begin && bytes.len() == KEPT_BYTES && has_digest,
        "the name of a long type's contract has its first {KEPT_BYTES} bytes, {BEFORE_DIGEST} and the type's SHA-256"
    );
    Ok(())
}

fn percent_decode(encoded: &str) -> Result<Vec<u8>> {
    let mut pieces = encoded.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).unwrap_or_default();
        let byte = HEXLOWER_PERMISSIVE.decode(digits.as_bytes());
        let byte = byte.ok().filter(|byte| !byte.is_empty());
        bytes.extend(byte.context("two hexadecimal digits follow each % of the name")?);
        bytes.extend(piece.bytes().skip(2));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{ensure_name_of_type, file_name, file_name_with_encoded_capitals};

    #[test]
    fn every_name_that_a_type_can_have_is_that_of_a_type() {
        let long = ["L".repeat(250), "李".repeat(255)];
        for signal_type in [
            "login", "Login", "a b", "é.v2", "..", "%", &long[0], &long[1],
        ] {
            ensure_name_of_type(&file_name(signal_type)).unwrap();
            ensure_name_of_type(&file_name_with_encoded_capitals(signal_type)).unwrap();
        }
    }

    #[test]
    fn name_that_no_type_has_is_an_error_with_the_name_that_is_meant() {
        let long = file_name(&"l".repeat(250));
        let of_long_type = "the name of a long type's contract has its first 40 bytes";
        for (name, why) in [
            (
                "add to cart.json",
                "the type \"add to cart\" has the name add%20to%20cart.json",
            ),
            ("x%2dy.json", "the type \"x-y\" has the name x-y.json"),
            ("a%2fb.json", "has the name a%2Fb.json"),
            ("é.json", "the type \"é\" has the name %C3%A9.json"),
            ("%42UY.json", "the type \"BUY\" has the name BUY.json"),
            ("up.JSON", "the type \"up\" has the name up.json"),
            (".hidden.json", "has the name %2Ehidden.json"),
            ("c%C3.json", "the name is no UTF-8 when it is decoded"),
            ("100%.json", "two hexadecimal digits follow each %"),
            ("%é.json", "two hexadecimal digits follow each %"),
            (".json", "the name has no type"),
            ("aux.json", "the type \"aux\" has the name %61ux.json"),
            (&long.replacen("ll", "l", 1), of_long_type),
            (&long.replace(".json", "0.json"), of_long_type),
            (&long.replace(".json", ".JSON"), of_long_type),
        ] {
            let error = ensure_name_of_type(name).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }

    #[test]
    fn file_of_a_type_is_within_the_folder() {
        for (signal_type, name) in [
            ("product_viewed", "product_viewed.json"),
            ("../a b", "%2E.%2Fa%20b.json"),
            ("é.v2", "%C3%A9.v2.json"),
            ("aux", "%61ux.json"),
            ("Con.v2", "%43on.v2.json"),
            ("com1", "%63om1.json"),
            ("auxiliary", "auxiliary.json"),
            ("comet", "comet.json"),
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
