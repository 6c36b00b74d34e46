//! Chunks: the items of one call of a bulk write. This module must not know how many calls are
//! under way.

/// Items in one `BatchWriteItem`: DynamoDB's limit.
pub(super) const CHUNK_ITEMS: usize = 25;

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

/// An item of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedItem {
    /// Its payload text.
    pub(super) bytes: usize,
    /// The most items in a call that has it.
    pub(super) most_together: usize,
}

/// The next chunk of a queue: as many items as one call may have, and at least one. `None` if the
/// queue is empty.
pub(super) fn next_chunk(queue: impl Iterator<Item = QueuedItem>) -> Option<ChunkSize> {
    let mut chunk = ChunkSize::default();
    let mut most_items = CHUNK_ITEMS;
    for item in queue {
        most_items = most_items.min(item.most_together);
        let is_full = chunk.items >= most_items || chunk.bytes + item.bytes > CHUNK_BYTES;
        if chunk.items > 0 && is_full {
            break;
        }
        chunk.items += 1;
        chunk.bytes += item.bytes;
    }
    (chunk.items > 0).then_some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_has_at_most_25_items_and_256_kib_but_one_item_of_any_size() {
        assert_eq!(next_chunk_of(&[], CHUNK_ITEMS), None);
        assert_eq!(next_chunk_of(&[1; 60], CHUNK_ITEMS), size(25, 25));
        assert_eq!(
            next_chunk_of(&[CHUNK_BYTES - 1, 1, 1], CHUNK_ITEMS),
            size(2, CHUNK_BYTES)
        );
        assert_eq!(next_chunk_of(&[1, CHUNK_BYTES], CHUNK_ITEMS), size(1, 1));
        let large = 2 * CHUNK_BYTES;
        assert_eq!(next_chunk_of(&[large, 1], CHUNK_ITEMS), size(1, large));
    }

    #[test]
    fn chunk_has_no_more_items_than_any_of_them_may_be_with() {
        assert_eq!(next_chunk_of(&[1; 25], 13), size(13, 13));
        assert_eq!(next_chunk_of(&[1; 12], 13), size(12, 12));
        let others = [CHUNK_ITEMS, CHUNK_ITEMS, 1].map(|most_together| QueuedItem {
            bytes: 1,
            most_together,
        });
        assert_eq!(next_chunk(others.into_iter()), size(2, 2));
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is compared with an `Option`")]
    fn size(items: usize, bytes: usize) -> Option<ChunkSize> {
        Some(ChunkSize { items, bytes })
    }

    fn next_chunk_of(bytes_of_items: &[usize], most_together: usize) -> Option<ChunkSize> {
        let queue = bytes_of_items.iter().map(|&bytes| QueuedItem {
            bytes,
            most_together,
        });
        next_chunk(queue)
    }
}
