//! The name of the file of a type's event contract. Must not know what is in the file.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// The longest name of a contract's file that has the whole type, in bytes and without the ending.
/// File systems have 255 for a name.
const MAX_NAME_BYTES: usize = 200;

/// How many bytes of a longer type its file's name begins with. Encoded, a byte is at most three
/// characters.
const KEPT_BYTES: usize = 40;

/// The name of the file of a type's contract. Letters, digits, `_`, `-` and a `.` that is not the
/// first are as they are, and every other byte is percent-encoded, so that no type leads out of the
/// folder. A name that would be too long for a file system ends with the type's SHA-256.
pub(crate) fn file_name(signal_type: &str) -> String {
    let encoded: Vec<String> = signal_type
        .bytes()
        .enumerate()
        .map(|(place, byte)| encode_byte(byte, place))
        .collect();
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
        _ => format!("%{byte:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

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
}
