//! Automatic tiles.

use wsp_core::limits;

/// The smallest chunk, not below [`limits::MIN_AUTO_CHUNK`], for which the chunks of all requests and heads together do
/// not outnumber the cores; the longest request when no chunk is large enough for that.
///
/// The search of FlashInfer's decode planner and of section 8.5 of the plan-descriptor-execute document.
pub(crate) fn binary_search_chunk_size(lengths: &[u32], heads: u64, max_blocks: u32) -> u32 {
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let (mut low, mut high) = (limits::MIN_AUTO_CHUNK, longest);
    while low < high {
        let mid = low + (high - low) / 2;
        if blocks(lengths, heads, mid) > u128::from(max_blocks) { low = mid + 1 } else { high = mid }
    }
    low
}

/// Chunks of all requests and heads.
fn blocks(lengths: &[u32], heads: u64, chunk: u32) -> u128 {
    let per_head: u64 = lengths.iter().map(|&n| u64::from(n.div_ceil(chunk))).sum();
    u128::from(per_head) * u128::from(heads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, tried size by size.
    fn brute_force(lengths: &[u32], heads: u64, max_blocks: u32) -> u32 {
        let longest = lengths.iter().copied().max().unwrap_or(0).max(limits::MIN_AUTO_CHUNK);
        (limits::MIN_AUTO_CHUNK..=longest)
            .find(|&chunk| blocks(lengths, heads, chunk) <= u128::from(max_blocks))
            .unwrap_or(longest)
    }

    #[test]
    fn an_empty_batch_and_short_requests_take_the_smallest_chunk() {
        assert_eq!(binary_search_chunk_size(&[], 8, 72), 256);
        assert_eq!(binary_search_chunk_size(&[0, 0], 8, 72), 256);
        assert_eq!(binary_search_chunk_size(&[255, 3], 8, 72), 256);
    }

    #[test]
    fn more_requests_than_cores_are_not_cut() {
        assert_eq!(binary_search_chunk_size(&[4096; 16], 8, 72), 4096);
    }

    proptest! {
        #[test]
        fn binary_search_finds_what_trying_every_size_finds(
            lengths in prop::collection::vec(0u32..3000, 0..12), heads in 1u64..9, max_blocks in 1u32..200,
        ) {
            prop_assert_eq!(
                binary_search_chunk_size(&lengths, heads, max_blocks),
                brute_force(&lengths, heads, max_blocks)
            );
        }
    }
}
