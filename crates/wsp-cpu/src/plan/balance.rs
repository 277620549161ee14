//! How evenly a plan spreads work over cores.

use super::Plan;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wsp_diag::Diagnostic;

/// The load of the fullest core over the mean load of all cores, for two ways of dealing descriptors to cores. 1 is even;
/// without work it is 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Balance {
    /// Consecutive descriptors to each core: a descriptor belongs to the core in whose share of the line of all work its
    /// middle lies.
    pub consecutive: f64,
    /// Descriptors by falling cost, each to the core with the least so far.
    pub longest_first: f64,
}

impl Balance {
    /// The more even of the two.
    pub fn best(self) -> f64 {
        self.consecutive.min(self.longest_first)
    }

    /// The balance of tasks with these costs, in issue order.
    pub fn of(costs: &[u64], cores: u32) -> Balance {
        let total: u128 = costs.iter().map(|&c| u128::from(c)).sum();
        if total == 0 || cores == 0 {
            return Balance { consecutive: 1.0, longest_first: 1.0 };
        }
        let over_mean = |fullest: u128| fullest as f64 * f64::from(cores) / total as f64;
        Balance {
            consecutive: over_mean(fullest_in_order(costs, cores, total)),
            longest_first: over_mean(fullest_by_cost(costs, cores)),
        }
    }
}

fn fullest_in_order(costs: &[u64], cores: u32, total: u128) -> u128 {
    let (mut before, mut core, mut load, mut fullest) = (0u128, 0u128, 0u128, 0u128);
    for &cost in costs {
        let cost = u128::from(cost);
        // Twice the middle, so that it is whole.
        let at = (2 * before + cost) * u128::from(cores) / (2 * total);
        if at != core {
            (core, load) = (at, 0);
        }
        load += cost;
        before += cost;
        fullest = fullest.max(load);
    }
    fullest
}

fn fullest_by_cost(costs: &[u64], cores: u32) -> u128 {
    let mut sorted: Vec<u64> = costs.iter().copied().filter(|c| *c > 0).collect();
    sorted.sort_unstable_by_key(|&c| Reverse(c));
    let mut loads: BinaryHeap<Reverse<u128>> =
        (0..(cores as usize).min(sorted.len())).map(|_| Reverse(0)).collect();
    let mut fullest = 0;
    for cost in sorted {
        let Some(Reverse(load)) = loads.pop() else { break };
        let load = load + u128::from(cost);
        fullest = fullest.max(load);
        loads.push(Reverse(load));
    }
    fullest
}

impl Plan {
    /// How evenly the descriptors spread over so many cores, by the elements that they read ([`Plan::costs`]).
    ///
    /// # Errors
    /// When a kernel cannot be launched at all.
    pub fn balance(&self, cores: u32) -> Result<Balance, Vec<Diagnostic>> {
        Ok(Balance::of(&self.costs()?, cores))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_costs_are_even_and_idle_cores_count() {
        assert_eq!(Balance::of(&[4; 8], 4), Balance { consecutive: 1.0, longest_first: 1.0 });
        assert_eq!(Balance::of(&[8], 4), Balance { consecutive: 4.0, longest_first: 4.0 });
        assert_eq!(Balance::of(&[], 4).best(), 1.0);
        assert_eq!(Balance::of(&[0, 0], 4).best(), 1.0);
    }

    #[test]
    fn shares_that_end_between_descriptors_are_even_in_order_only() {
        let balance = Balance::of(&[6, 4, 5, 5, 3, 3, 4], 3);
        assert_eq!(balance.consecutive, 1.0);
        assert_eq!(balance.longest_first, 1.2);
    }

    #[test]
    fn one_long_task_among_short_ones_is_dealt_first() {
        let costs = [1, 1, 1, 1, 1, 1, 6];
        assert_eq!(Balance::of(&costs, 2).longest_first, 1.0);
    }
}
