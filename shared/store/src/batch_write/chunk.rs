//! Chunks: the items of one call of a batch write. This module must not know how many calls are
//! under way.

/// Items in one `BatchWriteItem`: DynamoDB's limit.
const CHUNK_ITEMS: usize = 25;

/// The payload text in one `BatchWriteItem`, in bytes: one of the largest signals. DynamoDB accepts
/// 16 MB per call, and its JSON of an array of one-digit numbers is five times as long as the
/// client's.
pub(super) const CHUNK_BYTES: usize = 256 * 1024;

/// How much of a queue is the next chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChunkSize {
    pub(super) items: usize,
    /// Their payload text.
    pub(super) bytes: usize,
}

/// The next chunk of a queue whose items have so many bytes of payload text: as many items as one
/// call may have, and at least one. `None` if the queue is empty.
pub(super) fn next_chunk(bytes_of_items: impl Iterator<Item = usize>) -> Option<ChunkSize> {
    let mut chunk = ChunkSize::default();
    for bytes in bytes_of_items.take(CHUNK_ITEMS) {
        if chunk.items > 0 && chunk.bytes + bytes > CHUNK_BYTES {
            break;
        }
        chunk.items += 1;
        chunk.bytes += bytes;
    }
    (chunk.items > 0).then_some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_has_at_most_25_items_and_256_kib_but_one_item_of_any_size() {
        let size = |items, bytes| Some(ChunkSize { items, bytes });
        assert_eq!(next_chunk([].into_iter()), None);
        assert_eq!(next_chunk([1; 60].into_iter()), size(25, 25));
        assert_eq!(
            next_chunk([CHUNK_BYTES - 1, 1, 1].into_iter()),
            size(2, CHUNK_BYTES)
        );
        assert_eq!(next_chunk([1, CHUNK_BYTES].into_iter()), size(1, 1));
        let large = 2 * CHUNK_BYTES;
        assert_eq!(next_chunk([large, 1].into_iter()), size(1, large));
    }
}
