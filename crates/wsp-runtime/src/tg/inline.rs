//! Running a graph on the calling thread: nothing is locked, nothing is allocated, nothing is built again.

use super::graph::Graph;
use super::hang::open_edges;
use super::pump::waits_for_others;
use crate::Failure;
use crate::report::{Party, Report, report};
use std::convert::Infallible;
use std::fmt;
use wsp_core::tg::image::{Image, NodeKind};
use wsp_core::tg::machine::{Fault, Machine, Scalars, StateFault, Step, Waiting};

/// The work of a graph on one thread.
///
/// [`Scalars::eval`] gives the values of conditions; its fault is that of everything else.
pub trait LocalBodies: Scalars {
    /// Runs all blocks of kernel `kernel`, one after the other. `iterations` are those of the graph's dynamic loops, by loop.
    ///
    /// # Errors
    /// The run ends.
    fn kernel(&mut self, kernel: u32, iterations: &[u32]) -> Result<(), Self::Fault>;

    /// Does copy `copy`.
    ///
    /// # Errors
    /// The run ends.
    fn copy(&mut self, copy: u32) -> Result<(), Self::Fault>;

    /// Does release `free`.
    ///
    /// # Errors
    /// The run ends.
    fn free(&mut self, free: u32) -> Result<(), Self::Fault>;

    /// Saves the state as checkpoint number `checkpoint` of the graph's list.
    ///
    /// # Errors
    /// The run ends.
    fn checkpoint(&mut self, checkpoint: u32, state: &[u32]) -> Result<(), Self::Fault>;
}

/// Why a graph cannot run on one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotInline {
    /// It has gangs: their blocks run at the same time.
    Gangs,
    /// It has events of other graphs, or notifications.
    Others,
}

impl fmt::Display for NotInline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotInline::Gangs => {
                "kernels that start together need a thread each; launch the graph on a runtime"
            }
            NotInline::Others => {
                "the graph waits for events or notifications of others; launch it on a runtime"
            }
        })
    }
}

impl std::error::Error for NotInline {}

/// Why a run on the calling thread did not complete: a body, a condition or a loop is the fault of its source; nodes that are left wait for each other.
pub type InlineFailure<F> = Failure<Infallible, Fault<F>>;

/// A graph that runs on the calling thread, again and again.
#[derive(Debug)]
pub struct InlineExecutor<'g> {
    graph: &'g Graph,
    image: Image<'g>,
    words: Vec<u32>,
}

impl<'g> InlineExecutor<'g> {
    /// Prepares for runs of a graph.
    ///
    /// # Errors
    /// It cannot run on one thread.
    pub fn new(graph: &'g Graph) -> Result<InlineExecutor<'g>, NotInline> {
        if graph.gangs() > 0 {
            return Err(NotInline::Gangs);
        }
        if waits_for_others(graph) {
            return Err(NotInline::Others);
        }
        let image = graph.image();
        Ok(InlineExecutor { graph, image, words: vec![0; image.state_words()] })
    }

    /// The graph.
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Runs the graph from the beginning.
    ///
    /// # Errors
    /// A body or a condition failed, or nodes wait for each other. The next run begins anew.
    pub fn run<L: LocalBodies>(&mut self, bodies: &mut L) -> Result<(), InlineFailure<L::Fault>> {
        Machine::start(&self.image, &mut self.words);
        drive(self.graph, &self.image, &mut self.words, bodies)
    }

    /// Runs the graph on from a saved state.
    ///
    /// # Errors
    /// As [`InlineExecutor::run`]; the outer error is that the state does not fit the graph.
    pub fn resume<L: LocalBodies>(
        &mut self,
        state: &[u32],
        bodies: &mut L,
    ) -> Result<Result<(), InlineFailure<L::Fault>>, StateFault> {
        self.graph.check_state(state)?;
        self.words.copy_from_slice(state);
        self.graph.resume(&mut self.words)?;
        Ok(drive(self.graph, &self.image, &mut self.words, bodies))
    }
}

/// Does what the machine says until everything is complete.
fn drive<L: LocalBodies>(
    graph: &Graph,
    image: &Image<'_>,
    words: &mut [u32],
    bodies: &mut L,
) -> Result<(), InlineFailure<L::Fault>> {
    loop {
        let Some(checkpoint) = drive_to_checkpoint(graph, image, words, bodies)? else { return Ok(()) };
        bodies.checkpoint(checkpoint, words).map_err(|fault| Failure::Source(Fault::Condition(fault)))?;
    }
}

/// Does what the machine says until everything is complete, or a checkpoint has been passed, which is returned.
fn drive_to_checkpoint<L: LocalBodies>(
    graph: &Graph,
    image: &Image<'_>,
    words: &mut [u32],
    bodies: &mut L,
) -> Result<Option<u32>, InlineFailure<L::Fault>> {
    let mut machine = Machine::attach(image, words).expect("the state of a graph should be one of its image");
    let failed = |fault| Failure::Source(Fault::Condition(fault));
    loop {
        match machine.next(bodies).map_err(Failure::Source)? {
            Step::Run(node) => {
                let record = &image.nodes[node as usize];
                if record.kind == NodeKind::Kernel as u32 {
                    bodies.kernel(record.item, machine.iterations()).map_err(failed)?;
                    machine.complete(node);
                    continue;
                }
                machine.complete(node);
                match NodeKind::ALL[record.kind as usize] {
                    NodeKind::Copy => bodies.copy(record.item).map_err(failed)?,
                    NodeKind::Free => bodies.free(record.item).map_err(failed)?,
                    NodeKind::Checkpoint => return Ok(Some(record.item)),
                    // A graph for one thread has nothing else to hand out.
                    _ => {}
                }
            }
            Step::Signal(_) => {}
            Step::Gang(_) | Step::Idle => {
                let waiting: Vec<Waiting> = machine.waiting().collect();
                return Err(Failure::Stuck(stuck(graph, &waiting)));
            }
            Step::Done => return Ok(None),
        }
    }
}

/// Which nodes wait for which.
#[cold]
fn stuck(graph: &Graph, waiting: &[Waiting]) -> Report {
    let name = |&node: &u32| Party::Named(graph.node_name(node));
    report(waiting.len() as u64, open_edges(graph, waiting), |_| true, name)
}
