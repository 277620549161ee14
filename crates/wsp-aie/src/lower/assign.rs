//! Which core runs which task.

use super::trace::{Piece, Touch, Trace};
use wsp_ordered::OrderedMap;

/// Tasks on cores.
#[derive(Clone, Debug)]
pub(crate) struct Assigned {
    /// The core of each task.
    pub(crate) core_of: Vec<usize>,
    /// What messages call each core.
    pub(crate) names: Vec<String>,
    /// The tile of the schedule's grid that each core is, where it has one.
    pub(crate) tiles: Vec<Option<u32>>,
}

impl Assigned {
    /// Whether the cores are the same.
    pub(crate) fn is_like(&self, other: &Assigned) -> bool {
        self.names == other.names && self.tiles == other.tiles
    }
}

/// Ways to deal the tasks to cores, the one with the most cores first.
pub(crate) fn ways(trace: &Trace, cores: usize) -> Vec<Assigned> {
    if trace.grid.is_some() {
        return vec![by_tile(trace)];
    }
    if trace.tasks.iter().any(|task| task.process.is_some()) {
        return vec![by_process(trace)];
    }
    let groups = groups(trace);
    let cores = trace.workers.map_or(cores, |most| cores.min(most as usize));
    let count = groups.iter().max().map_or(0, |last| last + 1);
    // Each core takes as many groups as another: what goes through one fifo goes round by round.
    let fits = |cores: &usize| count.is_multiple_of(*cores);
    (1..=cores.min(count)).rev().filter(fits).map(|cores| dealt(&groups, cores)).collect()
}

fn by_tile(trace: &Trace) -> Assigned {
    let mut seen: OrderedMap<u32, usize> = OrderedMap::new();
    trace.tasks.iter().for_each(|task| {
        let next = seen.len();
        seen.entry(task.tile.unwrap_or(0)).or_insert(next);
    });
    let core_of = trace.tasks.iter().map(|task| seen[&task.tile.unwrap_or(0)]).collect();
    let mut tiles = vec![None; seen.len()];
    seen.iter().for_each(|(tile, core)| tiles[*core] = Some(*tile));
    let grid = trace.grid.unwrap_or(1).max(1);
    let name = |tile: &Option<u32>| {
        let tile = tile.unwrap_or(0);
        format!("tile_{}_{}", tile % grid, tile / grid)
    };
    let names = tiles.iter().map(name).collect();
    Assigned { core_of, names, tiles }
}

/// A core for each process; one more for what is around a pipeline.
fn by_process(trace: &Trace) -> Assigned {
    let mut seen: OrderedMap<Option<u32>, usize> = OrderedMap::new();
    let mut names = Vec::new();
    let mut core_of = Vec::new();
    for task in &trace.tasks {
        let next = names.len();
        let core = *seen.entry(task.process).or_insert(next);
        if core == next {
            let name = task.process.map_or("around", |at| &trace.processes[at as usize]);
            names.push(name.to_owned());
        }
        core_of.push(core);
    }
    let tiles = vec![None; names.len()];
    Assigned { core_of, names, tiles }
}

/// Tasks that pass data to each other are of one group; groups are numbered by their first tasks.
fn groups(trace: &Trace) -> Vec<usize> {
    let mut written: OrderedMap<usize, ()> = OrderedMap::new();
    let writes = trace.tasks.iter().flat_map(|task| &task.touches).filter(|touch| touch.write);
    writes.for_each(|touch| {
        written.insert(touch.tensor, ());
    });
    let mut leader: Vec<usize> = (0..trace.tasks.len()).collect();
    let mut last: OrderedMap<(usize, &Piece), usize> = OrderedMap::new();
    for (at, task) in trace.tasks.iter().enumerate() {
        let used = |touch: &&Touch| (touch.read || touch.write) && written.contains_key(&touch.tensor);
        for touch in task.touches.iter().filter(used) {
            if let Some(before) = last.insert((touch.tensor, &touch.region), at) {
                let (a, b) = (find(&mut leader, before), find(&mut leader, at));
                leader[a.max(b)] = a.min(b);
            }
        }
    }
    let mut numbers: OrderedMap<usize, usize> = OrderedMap::new();
    let mut group = |at: usize| {
        let next = numbers.len();
        *numbers.entry(find(&mut leader, at)).or_insert(next)
    };
    (0..trace.tasks.len()).map(&mut group).collect()
}

fn find(leader: &mut [usize], mut at: usize) -> usize {
    while leader[at] != at {
        leader[at] = leader[leader[at]];
        at = leader[at];
    }
    at
}

/// Groups one after the other to cores in turn: what cores do at the same time lies side by side.
fn dealt(groups: &[usize], cores: usize) -> Assigned {
    Assigned {
        core_of: groups.iter().map(|group| group % cores).collect(),
        names: (0..cores).map(|core| format!("core_{core}")).collect(),
        tiles: vec![None; cores],
    }
}
