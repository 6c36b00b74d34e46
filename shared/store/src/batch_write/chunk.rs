//! Chunks: the items of one call of a batch write. This module must not know how many calls are
//! under way.

use std::collections::VecDeque;

/// Items in one `BatchWriteItem`: DynamoDB's limit.
const CHUNK_ITEMS: usize = 25;

/// The payload text in one `BatchWriteItem`, in bytes: one of the largest signals. DynamoDB accepts
/// 16 MB per call, and its JSON of an array of one-digit numbers is five times as long as the
/// client's.
pub(super) const CHUNK_BYTES: usize = 256 * 1024;

pub(super) struct Chunk<I> {
    pub(super) items: Vec<I>,
    pub(super) bytes: usize,
}

/// Splits items of so many bytes of payload text into chunks within the limits of one call.
pub(super) fn chunks<I>(items: Vec<I>, bytes_of: impl Fn(&I) -> usize) -> VecDeque<Chunk<I>> {
    let mut chunks: VecDeque<Chunk<I>> = VecDeque::new();
    for item in items {
        let bytes = bytes_of(&item);
        match chunks.back_mut() {
            Some(last) if last.items.len() < CHUNK_ITEMS && last.bytes + bytes <= CHUNK_BYTES => {
                last.items.push(item);
                last.bytes += bytes;
            }
            _ => chunks.push_back(Chunk {
                items: vec![item],
                bytes,
            }),
        }
    }
    chunks
}
