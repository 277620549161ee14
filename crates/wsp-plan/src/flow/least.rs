//! Depths of the smallest sum that are enough for something for which deeper channels are never worse: that every process ends, or that the last one
//! ends as early as it can.
//!
//! Depths that are not enough stay so however deep some of the channels are; of the others, one has to be deeper. What one of them needs so is a
//! *clause*: `a` from 2 or `b` from 3. The depths of the smallest sum that meet all clauses so far are either enough, and then the answer, or give
//! another clause. That is an implicit hitting set (Moreno-Centeno and Karp, *The implicit hitting set approach to solve combinatorial optimization
//! problems*, 2013).

use super::cover::{Clause, cover};
use std::cell::Cell;

/// What a search comes to.
#[derive(Debug)]
pub(super) enum Found {
    /// Depths of the smallest sum.
    Least(Vec<u32>),
    /// They are enough, and none of them can be one less; the smallest sum is not known, which is `from` or more. The search was given up.
    Enough { depths: Vec<u32>, from: u64 },
    /// Nothing: no steps were left.
    Unknown,
}

/// What depths come to.
pub(super) struct Tried {
    pub(super) is_enough: bool,
    /// Channels of which one at least has to be deeper if it is not: with other depths of the others it is the same.
    pub(super) deeper: Vec<bool>,
}

/// The smallest depths that are enough, which `most` are. `trying` tells of depths; none where no steps are left.
pub(super) fn least(
    most: &[u32],
    steps: &Cell<u64>,
    trying: &mut dyn FnMut(&[u32]) -> Option<Tried>,
) -> Found {
    let mut search = Search { most, steps, trying };
    let Some((least, enough)) = search.bounds() else { return Found::Unknown };
    let mut clauses = Vec::new();
    let mut from = sum(&least);
    while from < sum(&enough) {
        match search.next(&least, &enough, &mut clauses) {
            Some(Next::Enough(depths)) => return Found::Least(depths),
            Some(Next::From(sum)) => from = sum,
            None => return Found::Enough { depths: enough, from },
        }
    }
    Found::Least(enough)
}

fn sum(depths: &[u32]) -> u64 {
    depths.iter().map(|depth| u64::from(*depth)).sum()
}

enum Next {
    Enough(Vec<u32>),
    /// The smallest sum is this or more.
    From(u64),
}

struct Search<'s> {
    most: &'s [u32],
    steps: &'s Cell<u64>,
    trying: &'s mut dyn FnMut(&[u32]) -> Option<Tried>,
}

impl Search<'_> {
    fn is_enough(&mut self, depths: &[u32]) -> Option<bool> {
        (self.trying)(depths).map(|tried| tried.is_enough)
    }

    /// Depths below which no channel is enough, and depths that are enough, of which none can be one less.
    fn bounds(&mut self) -> Option<(Vec<u32>, Vec<u32>)> {
        let mut least = vec![0; self.most.len()];
        if self.is_enough(&least)? {
            return Some((least.clone(), least));
        }
        // What a channel needs where all others hold all tokens, it needs in any case.
        let mut all = self.most.to_vec();
        for at in 0..all.len() {
            least[at] = self.smallest(&mut all, at, 0)?;
            all[at] = self.most[at];
        }
        if self.is_enough(&least)? {
            return Some((least.clone(), least));
        }
        for (at, from) in least.iter().enumerate() {
            self.smallest(&mut all, at, *from)?;
        }
        Some((least, all))
    }

    /// Sets the depth of a channel, which is enough, to the smallest from `from` on that is.
    fn smallest(&mut self, depths: &mut [u32], at: usize, from: u32) -> Option<u32> {
        let most = depths[at];
        let mut fits = |depth: u32| {
            depths[at] = depth;
            (self.trying)(depths).map(|tried| tried.is_enough)
        };
        let (mut from, mut to, mut step) = (from, from, 1);
        while to < most && !fits(to)? {
            (from, to, step) = (to + 1, to.saturating_add(step).min(most), step.saturating_mul(2));
        }
        while from < to {
            let middle = from + (to - from) / 2;
            (from, to) = if fits(middle)? { (from, middle) } else { (middle + 1, to) };
        }
        depths[at] = to;
        Some(to)
    }

    /// Looks at the depths of the smallest sum that meet the clauses, and adds clauses that they do not meet.
    fn next(&mut self, least: &[u32], enough: &[u32], clauses: &mut Vec<Clause>) -> Option<Next> {
        let mut depths = cover(least, clauses, sum(enough), self.steps)?.unwrap_or_else(|| enough.to_vec());
        let from = sum(&depths);
        if from == sum(enough) {
            return Some(Next::From(from));
        }
        let mut tried = (self.trying)(&depths)?;
        if tried.is_enough {
            return Some(Next::Enough(depths));
        }
        while !tried.is_enough {
            let clause = self.clause(&depths, &tried.deeper)?;
            // The next has other channels.
            for (channel, _) in &clause {
                depths[*channel] = self.most[*channel];
            }
            clauses.push(clause);
            tried = (self.trying)(&depths)?;
        }
        Some(Next::From(from))
    }

    /// What of these depths, which are not enough, has to be deeper.
    fn clause(&mut self, depths: &[u32], deeper: &[bool]) -> Option<Clause> {
        let mut high = depths.to_vec();
        for (at, is_one) in deeper.iter().enumerate() {
            if !is_one {
                high[at] = self.most[at];
            }
        }
        let mut clause = Clause::new();
        for at in (0..high.len()).filter(|at| deeper[*at]) {
            let before = std::mem::replace(&mut high[at], self.most[at]);
            if self.is_enough(&high)? {
                let needed = self.smallest(&mut high, at, before + 1)?;
                clause.push((at, needed));
                high[at] = needed - 1;
            }
        }
        Some(clause)
    }
}
