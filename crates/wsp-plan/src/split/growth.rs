//! For how long the cuts of a balanced split stay good while requests grow.

use super::{Line, Policy, Work, shares_of};

/// The fullest core over the mean that is even enough, in parts of [`WHOLE`]; where the cuts are less even to begin with, they
/// may become worse by as much.
const EVEN: u128 = WHOLE + UNEVEN;
const UNEVEN: u128 = 300;
const WHOLE: u128 = 10_000;

/// By how many tokens every request for which `grows` holds may grow until cores that keep their shares of the line are uneven:
/// until the elements of the fullest are more than 1.03 times those of a core on average, or, where that is so already, until
/// that ratio has risen by 0.03. Cuts stay where they are, so that the last item of each range grows.
///
/// A core with `a` elements and `n` items that grow has `a + t·n` after `t` tokens, all `cores` together `A + t·N`. So
/// `cores · (a + t·n) ≤ limit · (A + t·N)` is to hold for each core, which gives the most tokens by a division.
pub fn tokens_in_balance(work: &Work<'_>, align: u32, grows: impl Fn(u32) -> bool) -> u64 {
    let items = work.items(Policy::Balanced(align));
    let cores = u128::from(work.cores.max(1));
    let mut loads = vec![(0u128, 0u128); Line::new(work, align).shares() as usize];
    for (item, share) in items.iter().zip(shares_of(work, &items, align)) {
        let (elements, growing) = &mut loads[share];
        *elements += u128::from(item.elements());
        *growing += u128::from(item.index + 1 == item.count && grows(item.request));
    }
    let all = u128::from(work.elements());
    let more: u128 = loads.iter().map(|(_, growing)| growing).sum();
    let fullest = loads.iter().map(|(elements, _)| *elements).max().unwrap_or(0);
    let now = WHOLE * cores * fullest;
    // Of an empty line every core has as much as any other.
    let limit = if now <= EVEN * all { EVEN } else { now / all + UNEVEN };
    let tokens = |(elements, growing): &(u128, u128)| {
        let room = (limit * all).saturating_sub(WHOLE * cores * elements);
        let used = (WHOLE * cores * growing).checked_sub(limit * more).filter(|used| *used > 0)?;
        Some(u64::try_from(room / used).unwrap_or(u64::MAX))
    };
    loads.iter().filter_map(tokens).min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The balance after so many tokens, from the items as they grow.
    fn balance_after(work: &Work<'_>, align: u32, tokens: u64) -> f64 {
        let items = work.items(Policy::Balanced(align));
        let (mut loads, mut all) = (vec![0u64; work.cores as usize], 0);
        for (item, share) in items.iter().zip(shares_of(work, &items, align)) {
            let last = item.index + 1 == item.count;
            let elements = u64::from(item.elements()) + if last { tokens } else { 0 };
            loads[share] += elements;
            all += elements;
        }
        let fullest = loads.into_iter().max().unwrap_or(0);
        if all == 0 { 1.0 } else { fullest as f64 * f64::from(work.cores) / all as f64 }
    }

    proptest! {
        /// Exact: within the bound up to the last token, beyond it one token later.
        #[test]
        fn balance_is_kept_up_to_the_bound_and_not_one_token_longer(
            lengths in prop::collection::vec(prop_oneof![0u32..40, 1u32..5000], 1..40),
            heads in 1u32..5,
            cores in 1u32..140,
            align in prop::sample::select(vec![1u32, 16]),
        ) {
            let work = Work { lengths: &lengths, heads, cores };
            let found = tokens_in_balance(&work, align, |_| true);
            let first = balance_after(&work, align, 0);
            // Ratios above 1.03 are counted in whole ten-thousandths, rounded down.
            let limit = if first <= 1.03 { 1.03 } else { first + 0.03 };
            let rounding = 1e-9 * limit;
            for tokens in [0, found / 2, found].map(|t| t.min(1 << 20)) {
                let balance = balance_after(&work, align, tokens);
                prop_assert!(balance <= limit + rounding, "{balance} > {limit} after {tokens} of {found}");
            }
            if found < 1 << 20 {
                let balance = balance_after(&work, align, found + 1);
                prop_assert!(balance > limit - 1e-4 - rounding, "{balance} <= {limit} after {found} and one");
            }
        }
    }

    #[test]
    fn cores_with_as_many_requests_each_stay_even_for_good() {
        let work = Work { lengths: &[160; 12], heads: 1, cores: 4 };
        assert_eq!(tokens_in_balance(&work, 16, |_| true), u64::MAX);
    }

    #[test]
    fn cuts_that_are_barely_uneven_may_become_worse_by_as_much_as_others() {
        // The fullest core has 1.03008 times the mean, which in ten-thousandths rounds down to 1.03.
        let lengths = [
            1387, 13, 6, 28, 34, 26, 21, 2798, 24, 9, 33, 23, 2069, 4802, 415, 25, 22, 3880, 18, 1549, 20,
            1261, 4651, 19, 13, 991, 37, 3501, 26, 38,
        ];
        let work = Work { lengths: &lengths, heads: 2, cores: 129 };
        assert!((1.03..1.0301).contains(&balance_after(&work, 16, 0)));
        let found = tokens_in_balance(&work, 16, |_| true);
        assert!(balance_after(&work, 16, found) <= 1.0601 && balance_after(&work, 16, found + 1) > 1.06);
        assert!(found > 0);
    }

    #[test]
    fn a_core_with_many_short_requests_fills_first() {
        // 100 and 10 · 10 elements for two cores: 100 + 10 t against a mean of 100 + 5.5 t.
        let lengths: Vec<u32> = [100].into_iter().chain([10; 10]).collect();
        let work = Work { lengths: &lengths, heads: 1, cores: 2 };
        assert_eq!(tokens_in_balance(&work, 1, |_| true), 0);
        let lengths: Vec<u32> = [10_000].into_iter().chain([1000; 10]).collect();
        let work = Work { lengths: &lengths, heads: 1, cores: 2 };
        // 10,000 + 10 t <= 1.03 · (10,000 + 5.5 t) up to t = 300 / 4.335.
        assert_eq!(tokens_in_balance(&work, 1, |_| true), 69);
        assert_eq!(tokens_in_balance(&work, 1, |request| request == 0), 618);
        assert_eq!(tokens_in_balance(&work, 1, |_| false), u64::MAX);
    }
}
