//! The state machine that runs a graph: ready counts, control flow, gangs. It knows nothing of threads, memory or kernels.
//!
//! A [`Machine`] says what can start now, and is told what is complete. All that it knows lies in words of the caller, so a copy of
//! these words is a checkpoint, and a `Machine` is made anew over them whenever it is needed.
//!
//! * A node is queued once: when the last of the edges that lead to it is resolved.
//! * A node whose guard is off is *skipped* at that moment: it does nothing, and its successors see it as complete. So an arm that is not
//!   taken never holds up what comes after it.
//! * A loop's body is armed for each iteration; the next begins when the last is complete.
//! * Members of a gang are handed out together when the last of them is ready; skipped ones are not waited for.

mod control;
mod resume;
mod state;

pub use resume::StateFault;

use super::image::{GangRecord, Image, LevelRecord, NONE, NodeKind};
use state::{DONE, HEAD, OPEN, Parts, TAIL};

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A node can start: one of the kinds for which [`NodeKind::is_handed_out`]. It is over with [`Machine::complete`].
    Run(u32),
    /// The members of this gang start together; see [`Machine::gang`]. Each is over with [`Machine::complete`].
    Gang(u32),
    /// The event of this [`NodeKind::Signal`] node has fired. There is nothing to complete.
    Signal(u32),
    /// Nothing can start before something is complete.
    Idle,
    /// Everything is complete.
    Done,
}

/// Why a run cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault<F> {
    /// A condition could not be evaluated.
    Condition(F),
    /// A loop would begin an iteration more than its maximum.
    Endless {
        /// The loop.
        in_loop: u32,
        /// Its maximum.
        most: u32,
        /// The last value of its condition.
        value: i64,
    },
    /// The count of a loop is negative, or above its maximum.
    Count {
        /// The loop.
        in_loop: u32,
        /// Its maximum.
        most: u32,
        /// The count.
        value: i64,
    },
}

/// Whoever knows the values of conditions.
pub trait Scalars {
    /// Why a condition cannot be evaluated; also how a caller that wants to stop says so.
    type Fault;

    /// The value of a condition or count of the plan; `iterations` has the number of the running iteration of each loop of the graph.
    ///
    /// # Errors
    ///
    /// The fault then comes out of [`Machine::next`].
    fn eval(&mut self, condition: u32, iterations: &[u32]) -> Result<i64, Self::Fault>;

    /// Another round of a loop that counts is about to begin. Such a loop asks for no value and may have 2^32 rounds in which nothing is
    /// handed out, so a caller that wants to stop says so here.
    ///
    /// # Errors
    ///
    /// The fault then comes out of [`Machine::next`].
    fn round(&mut self) -> Result<(), Self::Fault> {
        Ok(())
    }
}

/// A node that is not complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The node.
    pub node: u32,
    /// How many edges to it are open. With none it is queued, handed out, waiting for the rest of its gang, or a running loop.
    pub open: u32,
}

/// A run of a graph: its image, and the words of its state.
#[derive(Debug)]
pub struct Machine<'i> {
    image: &'i Image<'i>,
    parts: Parts<'i>,
}

impl<'i> Machine<'i> {
    /// Begins a run: whatever the words held is lost. `None` if there are not [`Image::state_words`] of them.
    pub fn start(image: &'i Image<'i>, state: &'i mut [u32]) -> Option<Machine<'i>> {
        let mut machine = Machine { image, parts: Parts::split(image, state)? };
        machine.parts.clear(image.fingerprint);
        machine.arm(image.top);
        Some(machine)
    }

    /// Goes on with the words of a run that `start` or `resume` began; they are not checked. `None` if they are not a state of this image.
    #[inline]
    pub fn attach(image: &'i Image<'i>, state: &'i mut [u32]) -> Option<Machine<'i>> {
        let parts = Parts::split(image, state)?;
        (parts.fingerprint() == image.fingerprint).then_some(Machine { image, parts })
    }

    /// What happens next. Decides, leaves and repeats loops, and passes on the completion of what does nothing.
    ///
    /// # Errors
    ///
    /// See [`Fault`]. The run cannot go on then, but its words can still be looked at.
    #[inline]
    pub fn next<H: Scalars>(&mut self, host: &mut H) -> Result<Step, Fault<H::Fault>> {
        while let Some(node) = self.parts.pop() {
            let record = &self.image.nodes[node as usize];
            let runs = record.guard == NONE || self.parts.guards[record.guard as usize] != 0;
            if runs && record.gang == NONE && record.kind <= NodeKind::Checkpoint as u32 {
                return Ok(Step::Run(node));
            }
            if let Some(step) = self.resolve(node, runs, host)? {
                return Ok(step);
            }
        }
        Ok(if self.is_done() { Step::Done } else { Step::Idle })
    }

    /// A node that was handed out is complete: its successors may become ready.
    #[inline]
    pub fn complete(&mut self, node: u32) {
        debug_assert!(
            self.parts.counts[node as usize] == 0,
            "a node completes once, after it was handed out"
        );
        self.parts.counts[node as usize] = DONE;
        self.parts.head[OPEN] -= 1;
        let record = &self.image.nodes[node as usize];
        for &to in &self.image.succs[record.first as usize..record.end as usize] {
            let count = &mut self.parts.counts[to as usize];
            *count = count.wrapping_sub(1);
            if *count == 0 {
                self.parts.push(to);
            }
        }
    }

    /// Whether everything is complete.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.parts.head[OPEN] == 0
    }

    /// Whether something is queued: [`next`](Machine::next) would look at it.
    #[inline]
    pub fn has_queued(&self) -> bool {
        self.parts.head[HEAD] != self.parts.head[TAIL]
    }

    /// The number of the running iteration of each loop, from 0.
    #[inline]
    pub fn iterations(&self) -> &[u32] {
        self.parts.iterations
    }

    /// The members of a gang that start: those that are not skipped.
    pub fn gang(&self, gang: u32) -> impl Iterator<Item = u32> + '_ {
        self.members(gang).iter().copied().filter(|&member| self.parts.counts[member as usize] != DONE)
    }

    /// Whether a node of the running iteration is complete or was skipped.
    pub fn is_complete(&self, node: u32) -> bool {
        self.parts.counts[node as usize] == DONE
    }

    /// Every node that is not complete, in levels that run: what a run that cannot go on waits for.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting> + '_ {
        let open = |&(_, &count): &(usize, &u32)| count != DONE;
        let counts = self.parts.counts.iter().enumerate().filter(open);
        counts.map(|(node, &open)| Waiting { node: node as u32, open })
    }

    fn members(&self, gang: u32) -> &'i [u32] {
        let GangRecord { first, len } = self.image.gangs[gang as usize];
        &self.image.members[first as usize..(first + len) as usize]
    }

    /// Arms a level: every node waits for its edges, and those without are queued.
    fn arm(&mut self, level: LevelRecord) {
        let nodes = level.first as usize..(level.first + level.len) as usize;
        self.parts.counts[nodes.clone()].copy_from_slice(&self.image.needs[nodes.clone()]);
        self.parts.head[OPEN] += level.len;
        for node in nodes {
            if self.image.needs[node] == 0 {
                self.parts.push(node as u32);
            }
        }
        for gang in level.first_gang..level.first_gang + level.gangs {
            self.parts.gangs[gang as usize] = self.image.gangs[gang as usize].len;
        }
    }
}
