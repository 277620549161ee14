//! The words of a state, and the queue in them.

use crate::tg::image::Image;

/// A count that says: complete, or in a level that does not run.
pub(super) const DONE: u32 = u32::MAX;

/// Words before the counts.
const HEADER: usize = 4;
/// The fingerprint of the image.
const FINGERPRINT: usize = 0;
/// How many nodes of running levels are not complete.
pub(super) const OPEN: usize = 1;
/// How many nodes were ever taken from the queue, modulo 2^32.
pub(super) const HEAD: usize = 2;
/// How many were ever put into it, modulo 2^32.
pub(super) const TAIL: usize = 3;

/// A loop that does not run.
pub(super) const RESTING: u32 = 0;
/// A loop that runs.
pub(super) const RUNNING: u32 = 1;
/// A loop that a `CF_BREAK` leaves at the end of this iteration.
pub(super) const LEAVING: u32 = 2;

/// Places of the queue: a power of two that holds every node.
fn queue_places(image: &Image<'_>) -> usize {
    image.nodes.len().next_power_of_two()
}

impl Image<'_> {
    /// How many words the state of a run has.
    pub fn state_words(&self) -> usize {
        HEADER
            + queue_places(self)
            + self.nodes.len()
            + self.guards.len()
            + 3 * self.loops.len()
            + self.gangs.len()
    }
}

/// The words of a state, by what they are.
#[derive(Debug)]
pub(super) struct Parts<'s> {
    /// See the names of its places.
    pub(super) head: &'s mut [u32; HEADER],
    /// Nodes that are ready, in the order in which they became so.
    queue: &'s mut [u32],
    /// Of each node, how many edges to it are open; or [`DONE`].
    pub(super) counts: &'s mut [u32],
    /// Of each guard, whether it is on.
    pub(super) guards: &'s mut [u32],
    /// Of each loop: [`RESTING`], [`RUNNING`] or [`LEAVING`].
    pub(super) phases: &'s mut [u32],
    /// Of each loop, the number of its iteration.
    pub(super) iterations: &'s mut [u32],
    /// Of each loop that counts, how many iterations it has.
    pub(super) limits: &'s mut [u32],
    /// Of each gang, how many members are not ready yet.
    pub(super) gangs: &'s mut [u32],
}

impl<'s> Parts<'s> {
    #[inline]
    pub(super) fn split(image: &Image<'_>, state: &'s mut [u32]) -> Option<Parts<'s>> {
        if state.len() != image.state_words() {
            return None;
        }
        let loops = image.loops.len();
        let (head, rest) = state.split_first_chunk_mut()?;
        let (queue, rest) = rest.split_at_mut_checked(queue_places(image))?;
        let (counts, rest) = rest.split_at_mut_checked(image.nodes.len())?;
        let (guards, rest) = rest.split_at_mut_checked(image.guards.len())?;
        let (phases, rest) = rest.split_at_mut_checked(loops)?;
        let (iterations, rest) = rest.split_at_mut_checked(loops)?;
        let (limits, gangs) = rest.split_at_mut_checked(loops)?;
        Some(Parts { head, queue, counts, guards, phases, iterations, limits, gangs })
    }

    /// Nothing has begun: no level runs, the queue is empty.
    pub(super) fn clear(&mut self, fingerprint: u32) {
        *self.head = [fingerprint, 0, 0, 0];
        self.queue.fill(0);
        self.counts.fill(DONE);
        for words in [&mut *self.guards, self.phases, self.iterations, self.limits, self.gangs] {
            words.fill(0);
        }
    }

    #[inline]
    pub(super) fn fingerprint(&self) -> u32 {
        self.head[FINGERPRINT]
    }

    /// Puts a node at the end of the queue, which has room: it holds every node, and each at most once.
    #[inline]
    pub(super) fn push(&mut self, node: u32) {
        let place = self.head[TAIL] as usize & (self.queue.len() - 1);
        self.queue[place] = node;
        self.head[TAIL] = self.head[TAIL].wrapping_add(1);
    }

    /// Takes the first node of the queue.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u32> {
        let head = self.head[HEAD];
        if head == self.head[TAIL] {
            return None;
        }
        self.head[HEAD] = head.wrapping_add(1);
        Some(self.queue[head as usize & (self.queue.len() - 1)])
    }

    /// Forgets what is queued.
    pub(super) fn empty_queue(&mut self) {
        self.head[HEAD] = 0;
        self.head[TAIL] = 0;
        self.queue.fill(0);
    }
}
