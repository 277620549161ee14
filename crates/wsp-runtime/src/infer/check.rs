//! Which hazards a set of edges leaves unordered: a check of programs that give their dependences themselves, or have
//! them inferred by equality of regions.

use super::{Accesses, Hazard, MapError, Matching, RegionMap, TensorMap};
use wsp_ordered::Arrange;

/// Two tasks that conflict, and of which no path of edges orders the first before the second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Unordered {
    /// The task submitted later.
    pub task: u32,
    /// The task submitted earlier.
    pub other: u32,
    /// Why their order matters.
    pub hazard: Hazard,
}

/// The hazards of [`Matching::Overlap`] that `edges` (from, to) do not order, by task and then by the earlier task. Task `i` has the
/// accesses `tasks[i]`. A pair of tasks is left out where a write between them covers what they conflict on: it is
/// ordered if that write is ordered with both.
///
/// For each task with a hazard that is not an edge the edges before it are searched, so the time may grow with tasks
/// times edges.
///
/// # Errors
///
/// [`MapError::Full`] with more than 2³⁰ regions.
pub fn unordered_hazards(tasks: &[Accesses<'_>], edges: &[(u32, u32)]) -> Result<Vec<Unordered>, MapError> {
    let before = Predecessors::new(tasks.len(), edges);
    let mut map = RegionMap::<u32>::growing(Matching::Overlap);
    let mut search = Search { seen: vec![0; tasks.len()], round: 0, stack: Vec::new() };
    let (mut hazards, mut unordered) = (Vec::new(), Vec::new());
    for (task, accesses) in (0..).zip(tasks) {
        hazards.clear();
        map.infer(task, *accesses, |_| true, |other, hazard| hazards.push((other, hazard)))?;
        let direct = before.of(task);
        hazards.retain(|(other, _)| direct.binary_search(other).is_err());
        if hazards.is_empty() {
            continue;
        }
        search.backwards(&before, task, hazards[0].0);
        let missing = hazards.iter().filter(|(other, _)| search.seen[*other as usize] != search.round);
        unordered.extend(missing.map(|&(other, hazard)| Unordered { task, other, hazard }));
    }
    Ok(unordered)
}

/// Predecessors of every task, ascending.
struct Predecessors {
    starts: Vec<usize>,
    tasks: Vec<u32>,
    /// Every edge goes from a smaller number to a larger.
    ascending: bool,
}

impl Predecessors {
    /// Edges of tasks that there are not count for nothing.
    fn new(tasks: usize, edges: &[(u32, u32)]) -> Predecessors {
        let exists = |&&(from, to): &&(u32, u32)| (from as usize) < tasks && (to as usize) < tasks;
        let mut sorted: Vec<(u32, u32)> = edges.iter().filter(exists).map(|&(from, to)| (to, from)).collect();
        sorted.arrange();
        sorted.dedup();
        let mut starts = vec![0; tasks + 1];
        for &(to, _) in &sorted {
            starts[to as usize + 1] += 1;
        }
        for i in 0..tasks {
            starts[i + 1] += starts[i];
        }
        let ascending = sorted.iter().all(|(to, from)| from < to);
        Predecessors { starts, tasks: sorted.into_iter().map(|(_, from)| from).collect(), ascending }
    }

    fn of(&self, task: u32) -> &[u32] {
        &self.tasks[self.starts[task as usize]..self.starts[task as usize + 1]]
    }
}

struct Search {
    /// The round in which a task was last reached.
    seen: Vec<u32>,
    round: u32,
    stack: Vec<u32>,
}

impl Search {
    /// Reaches every task before `task`, down to number `least` if edges ascend.
    fn backwards(&mut self, before: &Predecessors, task: u32, least: u32) {
        self.round += 1;
        self.stack.push(task);
        while let Some(at) = self.stack.pop() {
            for &from in before.of(at) {
                let wanted = !before.ascending || from >= least;
                if wanted && self.seen[from as usize] != self.round {
                    self.seen[from as usize] = self.round;
                    self.stack.push(from);
                }
            }
        }
    }
}
