//! Depths of the smallest sum that meet clauses.
//!
//! Channels that clauses join are looked at one after the other, in their order. What matters of those before is which clauses that have channels
//! to come are not met yet, so that of each such set one beginning is kept: where clauses join neighbours, there are few.

use std::cell::Cell;
use wsp_ordered::{OrderedMap, OrderedSet};

/// Channels, ascending, with the depth from which each meets it.
pub(super) type Clause = Vec<(usize, u32)>;

/// The depths of the smallest sum, nowhere below `least`, that meet every clause; the first in the order of channels where several have it. None
/// inside where the sum would be `most` or more, and none where it takes more steps than are left.
pub(super) fn cover(
    least: &[u32],
    clauses: &[Clause],
    most: u64,
    steps: &Cell<u64>,
) -> Option<Option<Vec<u32>>> {
    let mut depths = least.to_vec();
    let mut sum: u64 = least.iter().map(|depth| u64::from(*depth)).sum();
    for group in groups(least.len(), clauses) {
        let Some(left) = most.checked_sub(sum + 1) else { return Some(None) };
        let Some(part) = of_group(least, &group, left, steps)? else { return Some(None) };
        for (channel, depth) in part {
            sum += u64::from(depth - depths[channel]);
            depths[channel] = depth;
        }
    }
    Some((sum < most).then_some(depths))
}

/// Clauses in groups that have no channel in common.
fn groups(channels: usize, clauses: &[Clause]) -> Vec<Vec<&Clause>> {
    let mut of: Vec<usize> = (0..channels).collect();
    fn root(of: &mut [usize], mut at: usize) -> usize {
        while of[at] != at {
            of[at] = of[of[at]];
            at = of[at];
        }
        at
    }
    for clause in clauses {
        for pair in clause.windows(2) {
            let (a, b) = (root(&mut of, pair[0].0), root(&mut of, pair[1].0));
            of[a.max(b)] = a.min(b);
        }
    }
    let mut groups: OrderedMap<usize, Vec<&Clause>> = OrderedMap::new();
    for clause in clauses {
        if let Some((first, _)) = clause.first() {
            groups.entry(root(&mut of, *first)).or_default().push(clause);
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// By how much the depths of channels so far are above the least ones, and what they are.
type Begin = (u64, Vec<(usize, u32)>);

/// The depths of the channels of a group; none inside where they are above the least ones by more than `left`.
fn of_group(
    least: &[u32],
    group: &[&Clause],
    left: u64,
    steps: &Cell<u64>,
) -> Option<Option<Vec<(usize, u32)>>> {
    // Of each channel the clauses that it may meet, with the depth from which it does.
    let mut channels: OrderedMap<usize, Vec<(u32, usize)>> = OrderedMap::new();
    for (number, clause) in group.iter().enumerate() {
        for (channel, needed) in *clause {
            channels.entry(*channel).or_default().push((*needed, number));
        }
    }
    // Begins by the clauses that are not met yet.
    let mut begins: OrderedMap<Vec<usize>, Begin> = OrderedMap::new();
    begins.insert(Vec::new(), (0, Vec::new()));
    for (channel, meets) in channels {
        let mut values: OrderedSet<u32> =
            meets.iter().map(|(needed, _)| *needed.max(&least[channel])).collect();
        values.insert(least[channel]);
        let mut next: OrderedMap<Vec<usize>, Begin> = OrderedMap::new();
        for (open, (above, begin)) in &begins {
            let work = values.iter().count() * (meets.len() + open.len() + begin.len());
            steps.set(steps.get().checked_sub(work as u64)?);
            for value in values.iter().filter(|value| above + u64::from(**value - least[channel]) <= left) {
                let Some(open) = unmet(group, (channel, *value), open, &meets) else { continue };
                let depths = begin.iter().copied().chain([(channel, *value)]).collect();
                let begin = (above + u64::from(value - least[channel]), depths);
                match next.get_mut(&open) {
                    Some(kept) if *kept <= begin => {}
                    Some(kept) => *kept = begin,
                    None => {
                        next.insert(open, begin);
                    }
                }
            }
        }
        begins = next;
    }
    Some(begins.into_iter().next().map(|(_, (_, depths))| depths))
}

/// Which clauses are open when a channel has a depth, of those that were before it and those that it begins; none where it is the last of one that is
/// not met.
fn unmet(
    group: &[&Clause],
    (channel, depth): (usize, u32),
    open: &[usize],
    meets: &[(u32, usize)],
) -> Option<Vec<usize>> {
    let begun = meets.iter().map(|(_, number)| *number);
    let begun = begun.filter(|number| group[*number].first().is_some_and(|(first, _)| *first == channel));
    let is_met = |number: usize| meets.iter().any(|(needed, of)| *of == number && *needed <= depth);
    let left: OrderedSet<usize> =
        open.iter().copied().chain(begun).filter(|number| !is_met(*number)).collect();
    let is_last = |number: &usize| group[*number].last().is_some_and(|(last, _)| *last == channel);
    (!left.iter().any(is_last)).then(|| left.into_iter().collect())
}
