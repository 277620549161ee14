//! How tasks of one domain wait for tasks of another.
//!
//! # Protocol
//! With [`CrossOrder::Edges`] every edge between domains has a *token*, a word that the domain of its first task writes once in a round and the
//! domain of its second task reads: no read-modify-write is needed, which some devices do not have between domains. The token holds the number
//! of the round, is stored with release after the first task, and loaded with acquire before the second, which thereby sees what the first wrote.
//! Rounds have rising numbers, so that no token is cleared between them.
//!
//! With [`CrossOrder::Phases`] each domain counts its complete tasks, and a task starts when as many tasks of every other domain are complete as
//! stand before it. Later tasks of those domains wait for it, so that they are not among them. Counts are added to with release and loaded with
//! acquire.
//!
//! Both keep every edge. Edges point to larger numbers, so that the unfinished task with the smallest number waits for none.

use crate::sync::{AtomicU32, Fault, Ordering, weakened};
use std::fmt;
use wsp_core::domain::CrossOrder;
use wsp_core::{ExecDomain, TaskId};
use wsp_ordered::Arrange;

/// How many kinds of domains there are.
const DOMAINS: usize = 3;

/// What tasks wait for of tasks of other domains. Edges inside a domain are the domain's.
///
/// ```
/// use wsp_core::{ExecDomain::{AscendAiCore, HostCpu}, TaskId};
/// use wsp_runtime::domain::{CrossEdges, CrossOrder};
///
/// let domains = [HostCpu, AscendAiCore, HostCpu];
/// let edges = [(TaskId(0), TaskId(1)), (TaskId(1), TaskId(2))];
/// let cross = CrossEdges::new(&domains, &edges, CrossOrder::Edges)?;
/// assert!(cross.may_start(TaskId(0)) && !cross.may_start(TaskId(1)));
/// cross.complete(TaskId(0));
/// assert!(cross.may_start(TaskId(1)) && !cross.may_start(TaskId(2)));
/// # Ok::<(), wsp_runtime::domain::CrossEdgeError>(())
/// ```
#[derive(Debug)]
pub struct CrossEdges {
    domains: Box<[ExecDomain]>,
    round: u32,
    keeps: Keeps,
}

#[derive(Debug)]
enum Keeps {
    Edges(Tokens),
    Phases(Phases),
}

/// Tokens lie by their second task. Those of its first task are listed.
#[derive(Debug)]
struct Tokens {
    tokens: Box<[AtomicU32]>,
    first: Box<[TaskId]>,
    /// Of each task, where its tokens begin, and one more.
    waits: Box<[u32]>,
    /// Of each task, where its part of `raised` begins, and one more.
    raises: Box<[u32]>,
    raised: Box<[u32]>,
}

#[derive(Debug)]
struct Phases {
    complete: [AtomicU32; DOMAINS],
    /// Of each task: how many of each domain stand before it.
    before: Box<[[u32; DOMAINS]]>,
}

/// Edges that no run can keep.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CrossEdgeError {
    /// A task waits for itself or a later one.
    Backward {
        /// The task that is waited for.
        from: TaskId,
        /// The task that waits.
        to: TaskId,
    },
    /// There is no such task.
    Unknown {
        /// The task that waits.
        to: TaskId,
        /// How many tasks there are.
        tasks: usize,
    },
    /// More tasks or edges than 32 bits count.
    TooMany,
}

impl fmt::Display for CrossEdgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CrossEdgeError::Backward { from, to } => {
                write!(f, "task {} waits for task {}, which does not stand before it", to.0, from.0)
            }
            CrossEdgeError::Unknown { to, tasks } => {
                write!(f, "an edge leads to task {}, and there are {tasks}", to.0)
            }
            CrossEdgeError::TooMany => {
                write!(f, "there are more tasks or edges between domains than {}", u32::MAX)
            }
        }
    }
}

impl std::error::Error for CrossEdgeError {}

impl CrossEdges {
    /// The edges between tasks of different domains among these, which may be there twice; the domain of each task is given.
    ///
    /// # Errors
    /// As [`CrossEdgeError`] says.
    pub fn new(
        domains: &[ExecDomain],
        edges: &[(TaskId, TaskId)],
        order: CrossOrder,
    ) -> Result<CrossEdges, CrossEdgeError> {
        if u32::try_from(domains.len()).is_err() || u32::try_from(edges.len()).is_err() {
            return Err(CrossEdgeError::TooMany);
        }
        for &(from, to) in edges {
            if to.index() >= domains.len() {
                return Err(CrossEdgeError::Unknown { to, tasks: domains.len() });
            }
            if from >= to {
                return Err(CrossEdgeError::Backward { from, to });
            }
        }
        let keeps = match order {
            CrossOrder::Edges => Keeps::Edges(Tokens::new(domains, edges)),
            CrossOrder::Phases => Keeps::Phases(Phases::new(domains)),
        };
        Ok(CrossEdges { domains: domains.into(), round: 1, keeps })
    }

    /// How many edges have tokens.
    pub fn tokens(&self) -> usize {
        match &self.keeps {
            Keeps::Edges(edges) => edges.tokens.len(),
            Keeps::Phases(_) => 0,
        }
    }

    /// A task is complete: what waits for it may see what it wrote. Its domain says this once in a round.
    pub fn complete(&self, task: TaskId) {
        let release = weakened(Fault::UnpublishedToken, Ordering::Release);
        match &self.keeps {
            Keeps::Edges(edges) => {
                for token in &edges.raised[range(&edges.raises, task)] {
                    edges.tokens[*token as usize].store(self.round, release);
                }
            }
            Keeps::Phases(phases) => {
                phases.complete[self.domains[task.index()] as usize].fetch_add(1, release);
            }
        }
    }

    /// Whether everything of other domains that the task waits for is complete; its domain sees then what was written there.
    pub fn may_start(&self, task: TaskId) -> bool {
        match &self.keeps {
            Keeps::Edges(_) => self.open_edge(task).is_none(),
            Keeps::Phases(phases) => {
                let others = (0..DOMAINS).filter(|domain| *domain != self.domains[task.index()] as usize);
                let before = &phases.before[task.index()];
                others
                    .into_iter()
                    .all(|other| phases.complete[other].load(Ordering::Acquire) >= before[other])
            }
        }
    }

    /// A task of another domain that the task still waits for; none too where domains take turns.
    pub fn open_edge(&self, task: TaskId) -> Option<TaskId> {
        let Keeps::Edges(edges) = &self.keeps else { return None };
        let is_open = |at: &usize| edges.tokens[*at].load(Ordering::Acquire) != self.round;
        range(&edges.waits, task).find(is_open).map(|at| edges.first[at])
    }

    /// Begins the next round, in which no task is complete.
    pub fn next_round(&mut self) {
        self.round = self.round.wrapping_add(1);
        match &mut self.keeps {
            // Once in 2^32 rounds a number comes again.
            Keeps::Edges(edges) if self.round == 0 => {
                self.round = 1;
                edges.tokens = zeros(edges.tokens.len());
            }
            Keeps::Edges(_) => {}
            Keeps::Phases(phases) => phases.complete = Default::default(),
        }
    }
}

impl Tokens {
    fn new(domains: &[ExecDomain], edges: &[(TaskId, TaskId)]) -> Tokens {
        let crosses = |&&(from, to): &&(TaskId, TaskId)| domains[from.index()] != domains[to.index()];
        let mut crossing: Vec<(TaskId, TaskId)> = edges.iter().filter(crosses).copied().collect();
        crossing.arrange_by_key(|&(from, to)| (to, from));
        crossing.dedup();
        let mut by_first: Vec<u32> = (0..crossing.len() as u32).collect();
        by_first.arrange_by_key(|&token| crossing[token as usize].0);
        let firsts = by_first.iter().map(|&token| crossing[token as usize].0);
        Tokens {
            tokens: zeros(crossing.len()),
            first: crossing.iter().map(|edge| edge.0).collect(),
            waits: begins(domains.len(), crossing.iter().map(|edge| edge.1)),
            raises: begins(domains.len(), firsts),
            raised: by_first.into(),
        }
    }
}

impl Phases {
    fn new(domains: &[ExecDomain]) -> Phases {
        let mut counts = [0; DOMAINS];
        let before = domains.iter().map(|&domain| {
            let before = counts;
            counts[domain as usize] += 1;
            before
        });
        Phases { before: before.collect(), complete: Default::default() }
    }
}

fn zeros(count: usize) -> Box<[AtomicU32]> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

/// Where the part of each task begins in a list that is sorted by tasks, and where the last ends.
fn begins(tasks: usize, sorted: impl Iterator<Item = TaskId>) -> Box<[u32]> {
    let mut begins = vec![0; tasks + 1];
    sorted.for_each(|task| begins[task.index() + 1] += 1);
    for task in 0..tasks {
        begins[task + 1] += begins[task];
    }
    begins.into()
}

fn range(begins: &[u32], task: TaskId) -> std::ops::Range<usize> {
    begins[task.index()] as usize..begins[task.index() + 1] as usize
}

#[cfg(all(test, not(loom)))]
mod tests;
