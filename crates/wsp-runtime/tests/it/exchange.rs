//! Parts of the caller's in place of those of the runtime.

use crate::common::Scripted;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wsp_core::{Region, TaskId, TensorId};
use wsp_runtime::infer::{Accesses, Conflict, Hazard, MapError, TensorMap};
use wsp_runtime::{Deps, ReadyQueue, RunConfig, TaskGraph, TaskSpec};

/// Who last wrote each region, and who has read it since. Regions are equal or disjoint.
#[derive(Default)]
struct LastUses(BTreeMap<u32, (Option<TaskId>, Vec<TaskId>)>);

impl TensorMap<TaskId> for LastUses {
    fn infer(
        &mut self,
        task: TaskId,
        accesses: Accesses<'_>,
        live: impl Fn(TaskId) -> bool,
        mut found: impl FnMut(TaskId, Hazard),
    ) -> Result<(), MapError> {
        let mut before = BTreeMap::new();
        for region in accesses.reads {
            let (writer, readers) = self.0.entry(region.lo[0]).or_default();
            before.extend(writer.map(|writer| (writer, Hazard::Raw)));
            readers.push(task);
        }
        for region in accesses.writes {
            let (writer, readers) = self.0.entry(region.lo[0]).or_default();
            before.extend(readers.drain(..).map(|reader| (reader, Hazard::War)));
            before.extend(writer.replace(task).map(|writer| (writer, Hazard::Waw)));
        }
        before
            .into_iter()
            .filter(|(other, _)| *other != task && live(*other))
            .for_each(|(other, hazard)| found(other, hazard));
        Ok(())
    }

    fn writers_of(&mut self, region: &Region, found: impl FnMut(TaskId)) {
        self.find_producer(region).into_iter().for_each(found);
    }

    fn find_producer(&mut self, region: &Region) -> Option<TaskId> {
        self.0.get(&region.lo[0])?.0
    }

    fn retire(&mut self, _: impl Fn(TaskId) -> bool) {}

    fn gc_before(&mut self, _: u32, _: impl Fn(TaskId) -> bool) {}

    fn clear(&mut self) {
        self.0.clear();
    }

    fn conflicts(&self) -> &[Conflict<TaskId>] {
        &[]
    }
}

/// The largest id first.
#[derive(Default)]
struct Last(BTreeSet<TaskId>);

impl ReadyQueue for Last {
    fn push(&mut self, task: TaskId, _: i32) {
        self.0.insert(task);
    }

    fn pop(&mut self) -> Option<TaskId> {
        self.0.pop_last()
    }
}

fn cell(at: u32) -> Region {
    Region::new(TensorId(0), &[at], &[at + 1]).expect("it is not empty")
}

proptest! {
    #[test]
    fn a_map_and_a_queue_of_the_caller_take_the_place_of_ours(
        tasks in prop::collection::vec((0u32..6, 0u32..6), 1..40)
    ) {
        let (mut ours, mut theirs) = (TaskGraph::new(Deps::Overlap), TaskGraph::new(Deps::Explicit));
        let mut map = LastUses::default();
        for &(read, write) in &tasks {
            let (reads, writes) = ([cell(read)], [cell(write)]);
            let spec = TaskSpec { reads: &reads, writes: &writes, ..TaskSpec::default() };
            prop_assert_eq!(ours.submit(spec).expect("it fits"), theirs.submit_by(&mut map, spec).expect("it fits"));
        }
        let edges = |graph: &TaskGraph| graph.edges().collect::<BTreeSet<_>>();
        prop_assert_eq!(edges(&ours), edges(&theirs));
        let waiting: BTreeSet<TaskId> = edges(&ours).into_iter().map(|(_, after)| after).collect();
        let ready = (0..tasks.len() as u32).map(TaskId).filter(|task| !waiting.contains(task));
        prop_assert!(ours.roots().eq(ready));

        let runner = Scripted::new(|_| Ok(()));
        let stats = theirs.run_by(&mut Last::default(), None, &runner).expect("no task fails");
        prop_assert_eq!(stats.tasks, tasks.len() as u64);
        let (edges, mut left) = (edges(&theirs), (0..tasks.len() as u32).map(TaskId).collect::<BTreeSet<_>>());
        for task in runner.ran() {
            let ready = |task: &TaskId| !edges.iter().any(|(before, after)| after == task && left.contains(before));
            prop_assert_eq!(Some(TaskId(task)), left.iter().copied().rfind(ready));
            left.remove(&TaskId(task));
        }
        prop_assert!(left.is_empty());
    }
}

/// Gives a task twice, or none at all.
struct Wrong {
    gives: Option<TaskId>,
}

impl ReadyQueue for Wrong {
    fn push(&mut self, _: TaskId, _: i32) {}

    fn pop(&mut self) -> Option<TaskId> {
        self.gives
    }
}

#[test]
fn a_queue_that_gives_what_it_does_not_hold_is_found_and_the_graph_stays_usable() {
    let mut graph = TaskGraph::new(Deps::Explicit);
    let first = graph.submit(TaskSpec::default()).expect("it fits");
    graph.submit(TaskSpec { after: &[first], ..TaskSpec::default() }).expect("it fits");
    for (gives, says) in [
        (None, "gives no task, and holds 1"),
        (Some(TaskId(0)), "gives task 0, which it does not hold"),
        (Some(TaskId(1)), "gives task 1, which it does not hold"),
        (Some(TaskId(9)), "gives task 9, which it does not hold"),
    ] {
        let runner = Scripted::new(|_| Ok(()));
        let run = || graph.run_by(&mut Wrong { gives }, None, &runner);
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("the queue is wrong");
        let text = panic.downcast_ref::<String>().expect("it is text");
        assert!(text.contains(says), "{text}");
        let runner = Scripted::new(|_| Ok(()));
        graph.run(&RunConfig::default(), &runner).expect("no task fails");
        assert_eq!(runner.ran(), [0, 1]);
    }
}

#[test]
fn a_task_that_is_refused_leaves_no_trace_in_the_map() {
    let mut graph = TaskGraph::new(Deps::Explicit);
    let mut map = LastUses::default();
    let region = [Region::new(TensorId(0), &[0], &[4]).unwrap()];
    let uses = TaskSpec { reads: &region, writes: &region, ..TaskSpec::default() };
    graph.submit_by(&mut map, TaskSpec { writes: &region, ..TaskSpec::default() }).unwrap();
    graph.submit_by(&mut map, TaskSpec { after: &[TaskId(77)], ..uses }).unwrap_err();
    graph.submit_by(&mut map, uses).unwrap();
    assert_eq!(graph.edges().collect::<Vec<_>>(), [(TaskId(0), TaskId(1))]);
}
