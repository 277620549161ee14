//! Kernels and other nodes that are ready on a device, in the order in which they get workers.
//!
//! Levels of higher priority come first. Within a level there is a *lane* per launch and kind of resource, and lanes take
//! turns. Within a lane a few kernels are *active* and take turns too, block by block, so that independent kernels run
//! side by side on any number of threads; the others wait in the order in which they became ready.

use super::id::LaunchId;
use std::collections::VecDeque;
use wsp_core::tg::CoreType;

/// Kernels of a lane that get blocks in turns. More would only spread the caches thinner.
const ACTIVE: usize = 8;

/// What the nodes of a lane need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Any cores of one type, by the type's number: if one of them gets none, the others get none either.
    Uniform(u8),
    /// Cores of their own.
    Placed,
    /// No cores.
    Item,
    /// As `Uniform`: kernels of one block, which one worker takes several of. In lanes of this class stand nodes of the launch, and not dispatches.
    Single(CoreType),
}

/// What came of offering a worker to a node.
pub(crate) enum Offer<T> {
    /// It has work for more workers.
    TakenInPart(T),
    /// It has no work for others now.
    Taken(T),
    /// It cannot use one.
    Blocked,
}

/// What a worker is offered to.
pub(crate) enum Asked<'r> {
    /// A node with blocks to be shared, or with cores of its own, or that needs none.
    Dispatch(u32),
    /// Kernels of one block each.
    Nodes(Nodes<'r>),
}

/// Kernels of one block each, of one launch and one type of cores, of which some are to be taken.
pub(crate) struct Nodes<'r> {
    pub(crate) launch: LaunchId,
    pub(crate) core_type: CoreType,
    /// In the order in which they became ready; never empty.
    pub(crate) ready: &'r mut VecDeque<u32>,
}

#[derive(Debug)]
struct Lane {
    launch: LaunchId,
    class: Class,
    active: VecDeque<u32>,
    waiting: VecDeque<u32>,
}

impl Lane {
    fn is_empty(&self) -> bool {
        self.active.is_empty() && self.waiting.is_empty()
    }

    fn fill(&mut self) {
        // Whoever has cores of its own must not wait for those who wait for theirs.
        let most = if self.class == Class::Placed { usize::MAX } else { ACTIVE };
        while self.active.len() < most {
            let Some(next) = self.waiting.pop_front() else { return };
            self.active.push_back(next);
        }
    }

    fn offer<T>(&mut self, offer: &mut impl FnMut(Asked<'_>) -> Offer<T>) -> Option<T> {
        if let Class::Single(core_type) = self.class {
            let nodes = Nodes { launch: self.launch, core_type, ready: &mut self.waiting };
            return match offer(Asked::Nodes(nodes)) {
                Offer::Blocked => None,
                Offer::Taken(taken) | Offer::TakenInPart(taken) => Some(taken),
            };
        }
        self.fill();
        let tries = if self.class == Class::Placed { self.active.len() } else { 1 };
        for at in 0..tries.min(self.active.len()) {
            let (taken, rest) = match offer(Asked::Dispatch(self.active[at])) {
                Offer::Blocked => continue,
                Offer::Taken(taken) => (taken, false),
                Offer::TakenInPart(taken) => (taken, true),
            };
            let dispatch = self.active.remove(at);
            self.active.extend(dispatch.filter(|_| rest));
            return Some(taken);
        }
        None
    }
}

#[derive(Debug)]
struct Level {
    priority: i8,
    lanes: Vec<Lane>,
    turn: usize,
}

impl Level {
    fn lane(&mut self, launch: LaunchId, class: Class, spare: &mut Vec<Lane>) -> &mut Lane {
        let at = self.lanes.iter().position(|lane| lane.launch == launch && lane.class == class);
        let at = at.unwrap_or_else(|| {
            let Lane { active, waiting, .. } = spare.pop().unwrap_or_else(|| Lane {
                launch,
                class,
                active: VecDeque::new(),
                waiting: VecDeque::new(),
            });
            self.lanes.push(Lane { launch, class, active, waiting });
            self.lanes.len() - 1
        });
        &mut self.lanes[at]
    }

    fn offer<T>(
        &mut self,
        spare: &mut Vec<Lane>,
        offer: &mut impl FnMut(Asked<'_>) -> Offer<T>,
    ) -> Option<T> {
        let lanes = self.lanes.len();
        for i in 0..lanes {
            let at = (self.turn + i) % lanes;
            if let Some(taken) = self.lanes[at].offer(offer) {
                self.turn = at + 1;
                if self.lanes[at].is_empty() {
                    spare.push(self.lanes.remove(at));
                    self.turn = at;
                }
                return Some(taken);
            }
        }
        None
    }
}

/// The ready nodes of a device, as numbers of dispatches, or of nodes in lanes of [`Class::Single`].
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// By priority, the highest first; those without lanes stay for the next node.
    levels: Vec<Level>,
    /// Lanes that were emptied, with the memory that they had.
    spare: Vec<Lane>,
}

impl Ready {
    pub(crate) fn is_empty(&self) -> bool {
        self.levels.iter().all(|level| level.lanes.is_empty())
    }

    fn lane(&mut self, priority: i8, launch: LaunchId, class: Class) -> &mut Lane {
        let at = self.levels.partition_point(|level| level.priority > priority);
        if self.levels.get(at).is_none_or(|level| level.priority != priority) {
            self.levels.insert(at, Level { priority, lanes: Vec::new(), turn: 0 });
        }
        let level = &mut self.levels[at];
        if level.lanes.is_empty() {
            level.turn = 0;
        }
        level.lane(launch, class, &mut self.spare)
    }

    /// A node has become ready.
    pub(crate) fn push(&mut self, priority: i8, launch: LaunchId, class: Class, dispatch: u32) {
        self.lane(priority, launch, class).waiting.push_back(dispatch);
    }

    /// A node that was taken has work for others after all.
    pub(crate) fn push_active(&mut self, priority: i8, launch: LaunchId, class: Class, dispatch: u32) {
        self.lane(priority, launch, class).active.push_back(dispatch);
    }

    /// Offers a worker to the nodes, those above a priority only or all, until one takes it.
    pub(crate) fn offer<T>(
        &mut self,
        above: Option<i8>,
        mut offer: impl FnMut(Asked<'_>) -> Offer<T>,
    ) -> Option<T> {
        for at in 0..self.levels.len() {
            if above.is_some_and(|above| self.levels[at].priority <= above) {
                return None;
            }
            let taken = self.levels[at].offer(&mut self.spare, &mut offer);
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Offers a worker to the nodes of a launch, those that are active first, until one takes it.
    pub(crate) fn offer_of<T>(
        &mut self,
        launch: LaunchId,
        mut offer: impl FnMut(u32) -> Offer<T>,
    ) -> Option<T> {
        for level in &mut self.levels {
            let taken = level.lanes.iter_mut().filter(|lane| lane.launch == launch).find_map(|lane| {
                take_of(&mut lane.active, &mut offer).or_else(|| take_of(&mut lane.waiting, &mut offer))
            });
            if taken.is_some() {
                level.lanes.retain(|lane| !lane.is_empty());
                level.turn = 0;
                return taken;
            }
        }
        None
    }

    /// Draws whose turn is next: `draw` gives a number below its own.
    pub(crate) fn draw(&mut self, draw: &mut impl FnMut(usize) -> usize) {
        for level in &mut self.levels {
            level.turn = draw(level.lanes.len());
            for lane in &mut level.lanes {
                lane.fill();
                let first = draw(lane.active.len());
                lane.active.rotate_left(first);
            }
        }
    }

    /// Takes the nodes of a launch out, in their order, with their classes.
    pub(crate) fn remove(&mut self, launch: LaunchId) -> Vec<(Class, u32)> {
        let mut removed = Vec::new();
        for level in &mut self.levels {
            level.lanes.retain(|lane| {
                if lane.launch == launch {
                    let nodes = lane.active.iter().chain(&lane.waiting);
                    removed.extend(nodes.map(|&node| (lane.class, node)));
                }
                lane.launch != launch
            });
        }
        removed
    }
}

/// Takes what a queue offers first that is taken.
fn take_of<T>(queue: &mut VecDeque<u32>, offer: &mut impl FnMut(u32) -> Offer<T>) -> Option<T> {
    for at in 0..queue.len() {
        match offer(queue[at]) {
            Offer::Blocked => {}
            Offer::TakenInPart(taken) => return Some(taken),
            Offer::Taken(taken) => {
                queue.remove(at);
                return Some(taken);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: LaunchId = LaunchId(1);
    const B: LaunchId = LaunchId(2);

    /// The node that a worker is offered to; of those that one worker may take several of, the first.
    fn one(asked: Asked<'_>) -> u32 {
        match asked {
            Asked::Dispatch(dispatch) => dispatch,
            Asked::Nodes(nodes) => nodes.ready.pop_front().expect("lanes that are asked should have nodes"),
        }
    }

    /// Takes everything, a block at a time, and tells in which order.
    fn drain(ready: &mut Ready, blocks: &mut [u32]) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some(taken) = ready.offer(None, |asked| {
            let dispatch = one(asked);
            blocks[dispatch as usize] -= 1;
            match blocks[dispatch as usize] {
                0 => Offer::Taken(dispatch),
                _ => Offer::TakenInPart(dispatch),
            }
        }) {
            order.push(taken);
        }
        assert!(ready.is_empty());
        order
    }

    /// ISA-EM-03.
    #[test]
    fn kernels_of_a_lane_get_blocks_in_turns() {
        let mut ready = Ready::default();
        (0..3).for_each(|dispatch| ready.push(0, A, Class::Uniform(0), dispatch));
        assert_eq!(drain(&mut ready, &mut [2, 3, 1]), [0, 1, 2, 0, 1, 1]);
    }

    #[test]
    fn launches_and_core_types_take_turns() {
        let mut ready = Ready::default();
        (0..2).for_each(|dispatch| ready.push(0, A, Class::Uniform(0), dispatch));
        ready.push(0, B, Class::Uniform(0), 2);
        ready.push(0, A, Class::Uniform(1), 3);
        assert_eq!(drain(&mut ready, &mut [1; 4]), [0, 2, 3, 1]);
    }

    #[test]
    fn a_blocked_lane_does_not_block_others() {
        let mut ready = Ready::default();
        (0..3).for_each(|dispatch| ready.push(0, A, Class::Uniform(0), dispatch));
        ready.push(0, A, Class::Uniform(1), 3);
        let mut asked = Vec::new();
        let taken = ready.offer(None, |of| {
            let dispatch = one(of);
            asked.push(dispatch);
            if dispatch == 3 { Offer::Taken(()) } else { Offer::Blocked }
        });
        assert_eq!((taken, asked), (Some(()), vec![0, 3]), "of a uniform lane only the first is asked");
    }

    #[test]
    fn placed_kernels_do_not_wait_for_each_other() {
        let mut ready = Ready::default();
        (0..20).for_each(|dispatch| ready.push(0, A, Class::Placed, dispatch));
        let taken = ready.offer(None, |asked| match one(asked) {
            19 => Offer::Taken(19),
            _ => Offer::Blocked,
        });
        assert_eq!(taken, Some(19));
    }

    /// ISA-FE-03.
    #[test]
    fn higher_priorities_come_first_and_can_be_asked_for_alone() {
        let mut ready = Ready::default();
        ready.push(-3, A, Class::Item, 0);
        ready.push(5, A, Class::Item, 1);
        ready.push(0, A, Class::Item, 2);
        assert_eq!(ready.offer(Some(5), |asked| Offer::Taken(one(asked))), None);
        assert_eq!(ready.offer(Some(0), |asked| Offer::Taken(one(asked))), Some(1));
        assert_eq!(drain(&mut ready, &mut [1; 3]), [2, 0]);
    }

    #[test]
    fn a_launch_is_taken_out_whole() {
        let mut ready = Ready::default();
        (0..12).for_each(|dispatch| ready.push(0, A, Class::Uniform(0), dispatch));
        ready.push(1, A, Class::Item, 12);
        ready.push(0, B, Class::Uniform(0), 13);
        let removed = ready.remove(A).into_iter();
        let mut removed: Vec<u32> = removed.map(|(_, dispatch)| dispatch).collect();
        removed.sort_unstable();
        assert_eq!(removed, (0..13).collect::<Vec<_>>());
        assert_eq!(drain(&mut ready, &mut [1; 14]), [13]);
    }

    #[test]
    fn kernels_of_one_block_are_offered_together_and_keep_their_order() {
        let mut ready = Ready::default();
        (0..5).for_each(|node| ready.push(0, A, Class::Single(CoreType::Aiv), node));
        ready.push(0, B, Class::Item, 7);
        let three = |asked: Asked<'_>| match asked {
            Asked::Nodes(nodes) => {
                assert_eq!((nodes.launch, nodes.core_type), (A, CoreType::Aiv));
                Offer::Taken(nodes.ready.drain(..3.min(nodes.ready.len())).collect::<Vec<_>>())
            }
            Asked::Dispatch(dispatch) => Offer::Taken(vec![dispatch]),
        };
        let taken: Vec<_> = std::iter::from_fn(|| ready.offer(None, three)).collect();
        assert_eq!(taken, [vec![0, 1, 2], vec![7], vec![3, 4]], "lanes take turns");
        assert!(ready.is_empty());
    }
}
