//! How evenly work is spread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wsp_ordered::Arrange;

/// Largest load over mean load when costs are dealt, largest first, each to the block with the least so far.
///
/// The mean is taken over all blocks, so work for fewer blocks than there are counts as uneven. `None` without work.
pub fn planned_balance(costs: &[u64], blocks: u32) -> Option<f64> {
    let total: u128 = costs.iter().map(|&c| u128::from(c)).sum();
    if total == 0 || blocks == 0 {
        return None;
    }
    let mut sorted = costs.to_vec();
    sorted.arrange_by_key(|&c| Reverse(c));
    // Blocks beyond the number of costs stay idle and matter to the mean only.
    let used = (blocks as usize).min(sorted.len());
    let mut loads: BinaryHeap<Reverse<u128>> = (0..used).map(|_| Reverse(0)).collect();
    let mut longest = 0;
    for cost in sorted {
        let Reverse(load) = loads.pop()?;
        let load = load + u128::from(cost);
        longest = longest.max(load);
        loads.push(Reverse(load));
    }
    Some(longest as f64 * f64::from(blocks) / total as f64)
}

/// The largest value over the mean; `None` when there are none or all are 0.
pub fn longest_over_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut longest) = (0u32, 0.0, 0.0f64);
    for value in values {
        count += 1;
        sum += value;
        longest = longest.max(value);
    }
    (sum > 0.0).then(|| longest * f64::from(count) / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_first_balances_well() {
        assert_eq!(planned_balance(&[4, 4, 4, 4], 4), Some(1.0));
        assert_eq!(planned_balance(&[5, 3, 3, 2, 2, 1], 2), Some(1.0));
        assert_eq!(planned_balance(&[8], 4), Some(4.0));
        assert_eq!(planned_balance(&[], 4), None);
        assert_eq!(planned_balance(&[0, 0], 4), None);
        assert_eq!(planned_balance(&[u64::MAX, u64::MAX], 2), Some(1.0));
    }

    #[test]
    fn an_idle_worker_counts() {
        assert_eq!(longest_over_mean([3.0, 1.0].into_iter()), Some(1.5));
        assert_eq!(longest_over_mean([0.0].into_iter()), None);
        assert_eq!(longest_over_mean(std::iter::empty()), None);
    }
}
