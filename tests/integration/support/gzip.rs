//! Compressed bodies and objects.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// These bytes, compressed.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    gzip_at_level(bytes, Compression::fast())
}

/// These bytes as a gzip of this level of compression.
pub(crate) fn gzip_at_level(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
