//! Pairs of accesses that have to be ordered.
//!
//! Accesses of a tensor are gone through in an order that the edges allow. Of each run of bytes those accesses are kept that
//! the next one has to follow: the last writes, and the reads since. A write takes the place of what stood there before in
//! its own block or deeper, since what follows the write follows those as well, if the pairs found here are in order.

use super::super::runs::Runs;
use super::access::Access;
use super::accesses::Accesses;
use super::overlap::overlap;
use crate::Certainty;
use wsp_core::tg::Direction;
use wsp_ir::tg::TgModule;
use wsp_ir::tg::outline::{Blocks, Outline};
use wsp_ordered::{Arrange, OrderedMap};

/// Steps after which a unit's pairs are not looked for any further.
const MAX_STEPS: usize = 40_000_000;

/// Two accesses, by place in the list; the first comes first in the order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pair {
    pub(super) first: u32,
    pub(super) second: u32,
}

/// How the direction of an access that nobody gives is guessed.
pub(super) struct Guess<'a> {
    /// Whether an edge says that the access gives the tensor to others.
    pub(super) gives: &'a dyn Fn(&Access) -> bool,
    /// Whether an edge says that the access takes it from others.
    pub(super) takes: &'a dyn Fn(&Access) -> bool,
    /// Whether the tensor holds nothing before its first user wrote it.
    pub(super) begins_empty: bool,
}

/// Finds pairs.
pub(super) struct Finder<'a> {
    pub(super) blocks: &'a Blocks,
    /// Only writes of this node and later ones take the place of what stood before: of others it is not known whether they follow it.
    pub(super) replacing: u32,
    pub(super) list: &'a mut [Access],
    /// Accesses whose direction was guessed.
    pub(super) guessed: &'a mut [bool],
    pub(super) pairs: Vec<Pair>,
    pub(super) steps: usize,
}

impl Finder<'_> {
    /// Adds the pairs of some accesses of one tensor, by place in the list and in order. `false` if there are too many.
    pub(super) fn tensor(&mut self, order: &[u32], guess: &Guess<'_>) -> bool {
        // Of each byte the accesses that matter there.
        let mut runs = Runs::default();
        for &at in order {
            let access = self.list[at as usize];
            if access.low >= access.high {
                continue;
            }
            self.steps += runs.cut(access.low..access.high);
            if !access.is_known() {
                self.guess(at, &runs, guess);
            }
            if self.list[at as usize].is_known() {
                self.follow(at, &mut runs);
            }
            if self.steps > MAX_STEPS {
                return false;
            }
        }
        true
    }

    fn guess(&mut self, at: u32, runs: &Runs<u32>, guess: &Guess<'_>) {
        let access = self.list[at as usize];
        let mut here = runs.within(access.low..access.high).flat_map(|(_, kept)| kept);
        let mut steps = 0;
        let written = here.any(|&other| {
            steps += 1;
            self.list[other as usize].writes()
        });
        self.steps += steps;
        let direction = match ((guess.gives)(&access), (guess.takes)(&access), written) {
            (true, true, _) | (true, _, true) => Direction::InOut,
            (true, false, false) => Direction::Out,
            (_, true, _) => Direction::In,
            (_, _, true) => Direction::In,
            _ if guess.begins_empty => Direction::Out,
            _ => return,
        };
        self.list[at as usize].direction = direction;
        self.guessed[at as usize] = true;
    }

    fn follow(&mut self, at: u32, runs: &mut Runs<u32>) {
        let access = self.list[at as usize];
        for kept in runs.within_mut(access.low..access.high) {
            self.steps += kept.len() + 1;
            for &other in kept.iter() {
                let before = self.list[other as usize];
                if before.node != access.node && (before.writes() || access.writes()) {
                    self.pairs.push(Pair { first: other, second: at });
                }
            }
            if access.writes() && access.exact && access.node >= self.replacing {
                kept.retain(|&other| !self.blocks.is_within(self.list[other as usize].block, access.block));
            }
            kept.push(at);
        }
    }
}

/// Two nodes, one of them a copy, of which the first comes first in the program.
pub(super) struct CopyPair {
    pub(super) first: u32,
    pub(super) second: u32,
    /// Their accesses that touch the same bytes in some round, by place in the list.
    pub(super) meetings: Vec<(u32, u32)>,
}

/// Copies, and the order of the program between each and the other nodes that use its bytes.
pub(super) struct CopyOrder {
    /// Pairs of nodes, one of them a copy. Other such pairs are in order by these.
    pub(super) pairs: Vec<CopyPair>,
    /// A tensor that has too many users to find all of them.
    pub(super) left_out: Option<u32>,
}

impl CopyOrder {
    /// The pairs that touch bytes in common which one of them writes.
    pub(super) fn new(module: &TgModule, outline: &Outline, accesses: &Accesses) -> CopyOrder {
        let mut list = accesses.list.clone();
        // What may be written is in order with copies.
        let unknown = list.iter_mut().filter(|access| !access.is_known());
        unknown.for_each(|access| access.direction = Direction::InOut);
        let (mut guessed, copies) = (vec![false; list.len()], outline.kernels.len() as u32);
        let is_copied = |tensor: &u32| accesses.of(*tensor).iter().any(|access| access.node >= copies);
        let mut finder = Finder {
            blocks: &outline.blocks,
            replacing: copies,
            list: &mut list,
            guessed: &mut guessed,
            pairs: Vec::new(),
            steps: 0,
        };
        let guess = Guess { gives: &|_| false, takes: &|_| false, begins_empty: false };
        let mut left_out = None;
        for tensor in (0..outline.tensors.len() as u32).filter(is_copied) {
            let mut users: Vec<u32> =
                (accesses.first[tensor as usize]..accesses.first[tensor as usize + 1]).collect();
            // Within a graph in program order, reads of a copy before what it writes.
            users.arrange_by_key(|at| {
                let access = &accesses.list[*at as usize];
                (access.graph, access.place, access.direction == Direction::Out, *at)
            });
            for graph in
                users.chunk_by(|a, b| accesses.list[*a as usize].graph == accesses.list[*b as usize].graph)
            {
                if left_out.is_none() && !finder.tensor(graph, &guess) {
                    left_out = Some(tensor);
                }
            }
        }
        let found = std::mem::take(&mut finder.pairs);
        let mut pairs: OrderedMap<(u32, u32), Vec<(u32, u32)>> = OrderedMap::new();
        for pair in found {
            let (first, second) = (&list[pair.first as usize], &list[pair.second as usize]);
            if first.node.max(second.node) >= copies
                && !accesses.exclude(outline, first, second)
                && overlap(module, outline, first, second) != Certainty::Never
            {
                pairs.entry((first.node, second.node)).or_default().push((pair.first, pair.second));
            }
        }
        let pair = |((first, second), mut meetings): (_, Vec<_>)| {
            meetings.arrange();
            meetings.dedup();
            CopyPair { first, second, meetings }
        };
        CopyOrder { pairs: pairs.into_iter().map(pair).collect(), left_out }
    }
}
