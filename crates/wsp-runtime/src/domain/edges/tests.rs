//! Tasks of several domains run in any order that their edges allow, one domain beside the other.

use super::*;
use crate::random::next;
use std::thread;

const KINDS: [ExecDomain; 3] = [ExecDomain::HostCpu, ExecDomain::AscendAiCore, ExecDomain::AmdAieTile];

/// A number below `end`.
fn below(seed: &mut u64, end: u32) -> u32 {
    (next(seed) % u64::from(end)) as u32
}

/// Domains of tasks, and edges.
fn drawn(seed: &mut u64, tasks: u32) -> (Vec<ExecDomain>, Vec<(TaskId, TaskId)>) {
    let kinds = 2 + below(seed, 2);
    let domains = (0..tasks).map(|_| KINDS[below(seed, kinds) as usize]).collect();
    let mut edges = Vec::new();
    for to in 1..tasks {
        for _ in 0..below(seed, 4) {
            edges.push((TaskId(below(seed, to)), TaskId(to)));
        }
    }
    (domains, edges)
}

/// What each task computes from those that it waits for.
fn values(tasks: u32, edges: &[(TaskId, TaskId)]) -> Vec<u32> {
    let mut values = vec![0; tasks as usize];
    for task in 0..tasks {
        let read = edges.iter().filter(|edge| edge.1.0 == task).map(|edge| values[edge.0.index()]);
        values[task as usize] = read.fold(task + 1, |sum, value| sum.wrapping_mul(31).wrapping_add(value));
    }
    values
}

/// A thread per domain runs its tasks in the order of their numbers; what was computed.
fn run(cross: &CrossEdges, domains: &[ExecDomain], edges: &[(TaskId, TaskId)]) -> Vec<u32> {
    let cells: Vec<AtomicU32> = domains.iter().map(|_| AtomicU32::new(0)).collect();
    let run_domain = |kind: ExecDomain| {
        for task in (0..domains.len() as u32).filter(|task| domains[*task as usize] == kind) {
            while !cross.may_start(TaskId(task)) {
                thread::yield_now();
            }
            // Relaxed: what crosses is ordered by the edges alone.
            let read = edges.iter().filter(|edge| edge.1.0 == task);
            let read = read.map(|edge| cells[edge.0.index()].load(Ordering::Relaxed));
            let value = read.fold(task + 1, |sum, value| sum.wrapping_mul(31).wrapping_add(value));
            cells[task as usize].store(value, Ordering::Relaxed);
            cross.complete(TaskId(task));
        }
    };
    thread::scope(|scope| KINDS.iter().for_each(|kind| drop(scope.spawn(|| run_domain(*kind)))));
    cells.into_iter().map(AtomicU32::into_inner).collect()
}

#[test]
fn both_orders_compute_what_one_domain_computes() {
    let mut seed = 7;
    for _ in 0..60 {
        let tasks = 1 + below(&mut seed, 40);
        let (domains, edges) = drawn(&mut seed, tasks);
        let expected = values(tasks, &edges);
        for order in [CrossOrder::Edges, CrossOrder::Phases] {
            let mut cross = CrossEdges::new(&domains, &edges, order).unwrap();
            for _ in 0..3 {
                assert_eq!(run(&cross, &domains, &edges), expected, "{order:?}");
                cross.next_round();
            }
        }
    }
}

/// Of random graphs: a task may start exactly when the tasks of other domains that it waits for are complete.
#[test]
fn a_task_starts_after_its_edges_or_after_all_before_it() {
    let mut seed = 8;
    let (mut sooner, mut starts) = (0, 0);
    for _ in 0..200 {
        let tasks = 2 + below(&mut seed, 12);
        let (domains, edges) = drawn(&mut seed, tasks);
        let [fine, coarse] = [CrossOrder::Edges, CrossOrder::Phases]
            .map(|order| CrossEdges::new(&domains, &edges, order).unwrap());
        let mut complete = vec![false; tasks as usize];
        while complete.iter().any(|complete| !complete) {
            let can = |task: u32, all: bool| {
                (0..task).all(|before| {
                    let other = domains[before as usize] != domains[task as usize];
                    let named = all || edges.contains(&(TaskId(before), TaskId(task)));
                    !other || !named || complete[before as usize]
                })
            };
            for task in (0..tasks).filter(|task| !complete[*task as usize]) {
                assert_eq!(
                    fine.may_start(TaskId(task)),
                    can(task, false),
                    "task {task}, {edges:?}, {domains:?}"
                );
                assert_eq!(coarse.may_start(TaskId(task)), can(task, true), "task {task}, {domains:?}");
                sooner += u32::from(can(task, false) && !can(task, true));
                starts += 1;
                match fine.open_edge(TaskId(task)) {
                    Some(open) => assert!(edges.contains(&(open, TaskId(task))) && !complete[open.index()]),
                    None => assert!(can(task, false)),
                }
            }
            // In an order that the coarse rule allows too, which counts on it.
            let ready: Vec<u32> =
                (0..tasks).filter(|task| !complete[*task as usize] && can(*task, true)).collect();
            let task = ready[below(&mut seed, ready.len() as u32) as usize];
            complete[task as usize] = true;
            fine.complete(TaskId(task));
            coarse.complete(TaskId(task));
        }
    }
    assert!(sooner * 10 > starts, "{sooner} of {starts}");
}

#[test]
fn edges_that_no_run_keeps_are_refused() {
    let domains = [ExecDomain::HostCpu, ExecDomain::AscendAiCore];
    let refused = |edges: &[(TaskId, TaskId)]| {
        CrossEdges::new(&domains, edges, CrossOrder::Edges).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refused(&[(TaskId(1), TaskId(0))]), "task 0 waits for task 1, which does not stand before it");
    assert_eq!(refused(&[(TaskId(1), TaskId(1))]), "task 1 waits for task 1, which does not stand before it");
    assert_eq!(refused(&[(TaskId(0), TaskId(2))]), "an edge leads to task 2, and there are 2");
    let twice = [(TaskId(0), TaskId(1)); 2];
    assert_eq!(CrossEdges::new(&domains, &twice, CrossOrder::Edges).unwrap().tokens(), 1);
}
