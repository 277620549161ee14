//! Automatic tiles.

use wsp_core::limits;

/// What a task costs beside its elements, in elements of the tiled axis.
///
/// Measured with `examples/decode_attention.pto` on ranges of 144 tokens (4 query heads of 128 lanes): cut into 3 items they
/// took 2.4 times as long, into 9 items 5.8 times, which is 80 to 100 tokens for an item and its part of the merge.
const TASK: u128 = 64;

/// What merging the part of one item costs, in elements; measured together with [`TASK`].
const MERGE: u128 = 32;

/// The tile with which a run is expected to take the least time, the largest of equals: of
/// [`limits::MIN_AUTO_CHUNK`], its doubles, the longest length, and the smallest tile for which all items fit the cores at
/// once. Never below [`limits::MIN_AUTO_CHUNK`].
pub(crate) fn automatic_tile(lengths: &[u32], heads: u64, max_blocks: u32) -> u32 {
    let longest = lengths.iter().copied().max().unwrap_or(0).max(limits::MIN_AUTO_CHUNK);
    let doubles = std::iter::successors(Some(limits::MIN_AUTO_CHUNK), |tile| tile.checked_mul(2));
    let candidates = doubles
        .take_while(|&tile| tile < longest)
        .chain([longest, binary_search_chunk_size(lengths, heads, max_blocks)]);
    let best = candidates.min_by_key(|&tile| {
        (expected_time(lengths, longest, heads, max_blocks, tile), std::cmp::Reverse(tile))
    });
    best.unwrap_or(longest)
}

/// Time of a run with this tile, in half elements.
///
/// Items that fit the cores at once take as long as the largest. More of them take as long as their share per core and half
/// of the largest, for cores that end later than others. The merge of the longest range comes last.
fn expected_time(lengths: &[u32], longest: u32, heads: u64, max_blocks: u32, tile: u32) -> u128 {
    let (mut elements, mut items, mut parts) = (0u128, 0u128, 0u128);
    for &length in lengths {
        let count = u128::from(length.div_ceil(tile));
        elements += u128::from(length);
        items += count;
        parts += if count > 1 { count } else { 0 };
    }
    let heads = u128::from(heads);
    let largest = u128::from(longest.min(tile)) + TASK;
    let last = match u128::from(longest.div_ceil(tile)) {
        0 | 1 => 0,
        parts => 2 * MERGE * parts,
    };
    if items * heads <= u128::from(max_blocks) {
        return 2 * largest + last;
    }
    let work = (elements + TASK * items + MERGE * parts).saturating_mul(heads);
    2 * work.div_ceil(u128::from(max_blocks.max(1))) + largest + last
}

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

    /// Greedy list scheduling of all items, in the order of requests and heads, a merge after the last item of its range: what a
    /// run comes to.
    fn simulated(lengths: &[u32], heads: u64, cores: u32, tile: u32) -> u128 {
        let mut busy = vec![0u128; cores as usize];
        let mut run = |ready: u128, cost: u128| {
            let core = busy.iter_mut().min().expect("there should be a core");
            *core = (*core).max(ready) + cost;
            *core
        };
        let mut end = 0;
        for _ in 0..heads {
            for &length in lengths {
                let count = length.div_ceil(tile);
                let cost = |item: u32| u128::from(tile.min(length - item * tile)) + TASK;
                let last = (0..count).map(|item| run(0, cost(item))).max().unwrap_or(0);
                let merge = if count > 1 { MERGE * u128::from(count) } else { 0 };
                end = end.max(if merge > 0 { run(last, merge) } else { last });
            }
        }
        end
    }

    #[test]
    fn one_long_request_among_short_ones_is_cut_and_equal_ones_are_not() {
        let mut lengths = vec![512; 255];
        lengths.push(131_072);
        let tile = automatic_tile(&lengths, 8, 72);
        assert!((256..=16_384).contains(&tile), "{tile}");
        assert_eq!(automatic_tile(&[4096; 720], 1, 72), 4096);
        assert_eq!(automatic_tile(&[], 8, 72), 256);
        assert_eq!(automatic_tile(&[0, 3, 255], 8, 72), 256);
        assert_eq!(automatic_tile(&[u32::MAX; 4], u64::MAX, u32::MAX), u32::MAX);
    }

    #[test]
    fn requests_that_fit_the_cores_in_parts_use_all_of_them() {
        assert_eq!(automatic_tile(&[32_768], 1, 32), 1024);
        assert_eq!(automatic_tile(&[32_768; 4], 8, 32), 32_768);
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
        fn the_automatic_tile_is_near_the_best_power_of_two(
            lengths in prop::collection::vec(prop_oneof![1u32..600, 1u32..5000, 20_000u32..60_000], 1..40),
            heads in 1u64..9, cores in 2u32..200,
        ) {
            let tile = automatic_tile(&lengths, heads, cores);
            let best = (8..17).map(|k| simulated(&lengths, heads, cores, 1 << k)).min().unwrap_or(0);
            // A run takes at most twice the estimate, as list scheduling leaves no more gaps than that (Graham, 1969), and the
            // estimate is at most one and a half times a run: the share of a core, and half of the largest item.
            let found = simulated(&lengths, heads, cores, tile);
            prop_assert!(found <= 3 * best, "{tile}: {found} beside {best}");
        }

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
