//! What must hold of the order of tasks, told from a workload's tasks, its edges and its schedule alone.

use super::{program, report};
use std::collections::BTreeMap;
use wsp_backend::{Detail, GraphListing};
use wsp_core::SlotId;
use wsp_cpu::workload::{WorkloadInputs, WorkloadOptions};
use wsp_diag::SourceMap;
use wsp_ir::workload::text::parse;
use wsp_ir::workload::{ExecPool, GateScope, PoolSizes, Ready, SchedulePolicy, Start};
use wsp_ordered::OrderedMap;
use wsp_plan::workload::{LoweredSchedule, Placement, TaskRecord, TaskSink, bind, expand, lower_schedule};

/// When a task started and ended, in any unit of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// A workload's tasks, in elaboration order, and what orders them.
pub(crate) struct Order {
    schedule: LoweredSchedule,
    places: Vec<Placement>,
    listing: GraphListing,
    /// The number of each node of the listing among tasks; none for a barrier node.
    numbers: Vec<Option<usize>>,
}

struct Places(Vec<Placement>);

impl TaskSink for Places {
    type Error = ();

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), ()> {
        self.0.push(task.place);
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, ()> {
        Err(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

impl Order {
    pub(crate) fn of(text: &str) -> Order {
        let (module, _) = parse("test.wsp", text, &mut SourceMap::default());
        let module = module.expect("it is well formed");
        let schedule = lower_schedule(&module, None, wsp_plan::target::CPU_SIM).expect("it is supported");
        let bindings = bind(&module, &[], &OrderedMap::new()).expect("nothing is missing");
        let mut places = Places(Vec::new());
        expand(&module, &bindings, &schedule, &mut places).map(|_| ()).expect("it expands");
        let listing = program(text)
            .graph(&WorkloadInputs::all_made_up(0), None, Detail::default(), &WorkloadOptions::default())
            .unwrap_or_else(|found| panic!("{}", report(&found)));
        // Ids of a listing count barrier nodes too.
        let point = listing.kernels.len() as u32 - 1;
        let mut tasks = 0..;
        let numbers = listing.tasks.iter().map(|&kernel| if kernel == point { None } else { tasks.next() });
        Order { schedule, places: places.0, numbers: numbers.collect(), listing }
    }

    pub(crate) fn tasks(&self) -> usize {
        self.places.len()
    }

    /// Tasks of one stream that may be in flight.
    fn depth(&self) -> usize {
        let per_stream = self.schedule.policy.gates.iter().filter(|gate| gate.scope == GateScope::PerStream);
        per_stream.map(|gate| gate.capacity as usize).min().unwrap_or(1)
    }

    /// What is wrong with a run: edges, streams, gates.
    pub(crate) fn check(&self, lives: &[Life]) -> Result<(), String> {
        if lives.len() != self.tasks() {
            return Err(format!("{} tasks of {} ran", lives.len(), self.tasks()));
        }
        for &(before, after) in &self.listing.edges {
            let (Some(a), Some(b)) = (self.numbers[before as usize], self.numbers[after as usize]) else {
                continue;
            };
            if lives[a].end > lives[b].start {
                return Err(format!("task {b} started before task {a} was complete"));
            }
        }
        self.check_streams(lives)?;
        self.schedule
            .policy
            .gates
            .iter()
            .try_for_each(|gate| self.check_gate(lives, gate.scope, gate.capacity))
    }

    fn check_streams(&self, lives: &[Life]) -> Result<(), String> {
        let mut last: BTreeMap<u16, usize> = BTreeMap::new();
        for (task, place) in self.places.iter().enumerate() {
            let Some(stream) = place.stream else { continue };
            let Some(before) = last.insert(stream, task) else { continue };
            let (due, what) = match self.depth() {
                1 => (lives[before].end, "was complete"),
                _ => (lives[before].start, "had started"),
            };
            if due > lives[task].start {
                return Err(format!("stream {stream} started task {task} before task {before} {what}"));
            }
        }
        Ok(())
    }

    fn check_gate(&self, lives: &[Life], scope: GateScope, capacity: u32) -> Result<(), String> {
        let group = |task: usize| match scope {
            GateScope::Global => Some(0),
            GateScope::PerStream => self.places[task].stream.map(u32::from),
            GateScope::PerPool => Some(match self.places[task].pool {
                ExecPool::Any => 0,
                ExecPool::Vector => 1,
                ExecPool::Cube => 2,
            }),
        };
        for (task, life) in lives.iter().enumerate() {
            let Some(own) = group(task) else { continue };
            let beside = lives.iter().enumerate().filter(|(other, other_life)| {
                let runs = other_life.start <= life.start && life.start < other_life.end;
                (runs || *other == task) && group(*other) == Some(own)
            });
            let beside = beside.count();
            if beside > capacity as usize {
                return Err(format!(
                    "{beside} tasks ran at once when task {task} started, under {scope:?} {capacity}"
                ));
            }
        }
        Ok(())
    }

    /// The order in which one worker takes the tasks, where the schedule settles it: all are generated before the first
    /// starts, and what is ready goes by turn or by priority.
    pub(crate) fn of_one_worker(&self) -> Option<Vec<usize>> {
        let SchedulePolicy { window, pools, ready, start, batch, .. } = &self.schedule.policy;
        let settled = *start == Start::AfterOrchestration
            && window.is_none_or(|window| window.capacity as usize > self.tasks())
            && matches!(pools, PoolSizes::Shared)
            && *ready != Ready::WorkSteal
            && batch.is_none_or(|batch| batch == 1);
        settled.then(|| self.walk(*ready == Ready::Priority))
    }

    fn walk(&self, by_priority: bool) -> Vec<usize> {
        let nodes = self.numbers.len();
        let mut open = vec![0; nodes];
        self.listing.edges.iter().for_each(|(_, after)| open[*after as usize] += 1);
        let mut turns: BTreeMap<usize, u64> = BTreeMap::new();
        let mut turn = 0;
        let mut become_ready = |mut ready: Vec<usize>, turns: &mut BTreeMap<usize, u64>| {
            ready.sort_unstable();
            for node in ready {
                turns.insert(node, turn);
                turn += 1;
            }
        };
        let roots: Vec<usize> = (0..nodes).filter(|&node| open[node] == 0).collect();
        let mut found = Vec::new();
        roots.into_iter().for_each(|node| self.pass(node, &mut open, &mut found, false));
        become_ready(std::mem::take(&mut found), &mut turns);
        let mut started: Vec<usize> = Vec::new();
        while let Some(node) = self.next(&turns, &started, by_priority) {
            turns.remove(&node);
            started.extend(self.numbers[node]);
            self.pass(node, &mut open, &mut found, true);
            become_ready(std::mem::take(&mut found), &mut turns);
        }
        started
    }

    /// A node without open edges: a task is ready, a barrier node, or a task that is complete, closes the edges from it.
    fn pass(&self, node: usize, open: &mut [u32], ready: &mut Vec<usize>, complete: bool) {
        if self.numbers[node].is_some() && !complete {
            return ready.push(node);
        }
        for &(_, after) in self.listing.edges.iter().filter(|(before, _)| *before as usize == node) {
            open[after as usize] -= 1;
            if open[after as usize] == 0 {
                self.pass(after as usize, open, ready, false);
            }
        }
    }

    /// The ready task to start: by priority or not, then by turn. Of a stream with a depth only its next.
    fn next(&self, turns: &BTreeMap<usize, u64>, started: &[usize], by_priority: bool) -> Option<usize> {
        let has_turn = |task: usize| {
            let stream = self.places[task].stream;
            let before = (0..task).filter(|&other| self.places[other].stream == stream);
            stream.is_none() || self.depth() == 1 || before.into_iter().all(|other| started.contains(&other))
        };
        let startable = turns.iter().filter(|(node, _)| self.numbers[**node].is_some_and(has_turn));
        let key = |(node, turn): &(&usize, &u64)| {
            let priority = self.numbers[**node].map_or(0, |task| self.places[task].priority);
            (if by_priority { -i64::from(priority) } else { 0 }, **turn)
        };
        startable.min_by_key(key).map(|(node, _)| *node)
    }
}

/// Tasks by start.
pub(crate) fn started(lives: &[Life]) -> Vec<usize> {
    let mut tasks: Vec<usize> = (0..lives.len()).collect();
    tasks.sort_by_key(|&task| lives[task].start);
    tasks
}
