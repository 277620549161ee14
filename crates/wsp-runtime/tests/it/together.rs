//! Tasks that a worker takes together because its runner gains from it.

use crate::common::{Body, POLICIES, cells, config};
use std::sync::Mutex;
use wsp_core::{KernelId, TaskId};
use wsp_runtime::{
    Affinity, Failure, Gate, GateScope, Outcome, Ready, RunConfig, Start, Stopped, TaskRunner, TaskSpec,
    TracePolicy, run,
};

/// Tasks of kernel 0 are mates where the second word of the payload counts up; each call takes at most `most` of them.
struct Crowd<'b> {
    most: usize,
    body: Body<'b>,
    calls: Mutex<Vec<Vec<u32>>>,
}

impl<'b> Crowd<'b> {
    fn new(most: usize, body: impl Fn(u32) -> Result<(), String> + Sync + 'b) -> Crowd<'b> {
        Crowd { most, body: Box::new(body), calls: Mutex::default() }
    }

    fn note(&self, tasks: Vec<u32>) {
        self.calls.lock().expect("no task panics while recording").push(tasks);
    }

    /// Ids of the tasks of each call, in the order of the calls.
    fn calls(self) -> Vec<Vec<u32>> {
        self.calls.into_inner().expect("no task panics while recording")
    }
}

impl TaskRunner for Crowd<'_> {
    type Failure = String;

    fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), String> {
        self.note(vec![task.0]);
        (self.body)(task.0)
    }

    fn takes_together(&self, kernel: KernelId) -> usize {
        if kernel == KernelId(0) { self.most } else { 1 }
    }

    fn are_mates(&self, _: KernelId, before: &[u32], payload: &[u32]) -> bool {
        before[0] == payload[0] && before[1] + 1 == payload[1]
    }

    fn run_together(
        &self,
        _: usize,
        _: KernelId,
        tasks: &[(TaskId, &[u32])],
        outcome: &mut dyn FnMut(Result<(), String>),
    ) {
        self.note(tasks.iter().map(|(task, _)| task.0).collect());
        tasks.iter().for_each(|(task, _)| outcome((self.body)(task.0)));
    }
}

/// Two requests of eight heads, then one of another kernel, which start when all of them are there.
fn submit(config: &RunConfig, runner: &Crowd<'_>) -> Outcome<String, Stopped> {
    run(&RunConfig { start: Start::AfterOrchestration, ..config.clone() }, runner, |submitter| {
        for n in 0..17u32 {
            let kernel = KernelId(u16::from(n == 16));
            submitter.submit(TaskSpec { kernel, payload: &[n / 8, n % 8], ..TaskSpec::default() })?;
        }
        Ok::<(), Stopped>(())
    })
}

#[test]
fn mates_go_together_in_order_as_far_as_they_are_mates() {
    for ready in POLICIES {
        let runner = Crowd::new(16, |_| Ok(()));
        submit(&config(1, 64, ready), &runner).unwrap();
        let calls: [Vec<u32>; 3] = [(0..8).collect(), (8..16).collect(), vec![16]];
        assert_eq!(runner.calls(), calls, "{ready:?}");
        let runner = Crowd::new(3, |_| Ok(()));
        submit(&config(1, 64, ready), &runner).unwrap();
        let sizes: Vec<usize> = runner.calls().iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 3, 2, 3, 3, 2, 1], "{ready:?}");
    }
}

#[test]
fn a_worker_leaves_the_others_as_much_as_it_takes() {
    for ready in POLICIES {
        for _ in 0..50 {
            let runner = Crowd::new(16, |_| Ok(()));
            submit(&config(4, 64, ready), &runner).unwrap();
            let calls = runner.calls();
            // 17 tasks, of which three others are to have as many each.
            assert!(calls.iter().all(|call| call.len() <= 4), "{calls:?}");
            let mut all: Vec<u32> = calls.into_iter().flatten().collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..17));
        }
    }
}

#[test]
fn workers_that_take_several_do_not_take_each_others_neighbours() {
    for _ in 0..20 {
        let runner = Crowd::new(16, |_| Ok(()));
        let config = RunConfig { start: Start::AfterOrchestration, ..config(2, 512, POLICIES[0]) };
        let outcome = run(&config, &runner, |submitter| {
            for n in 0..400u32 {
                let payload = &[n / 8, n % 8];
                submitter.submit(TaskSpec { kernel: KernelId(0), payload, ..TaskSpec::default() })?;
            }
            Ok::<(), Stopped>(())
        });
        outcome.unwrap();
        // Fifty requests, of which the first can be cut before turns are taken and the last are shared out. Taken in turn, task by
        // task, there would be no two neighbours.
        let calls = runner.calls();
        assert!(calls.len() <= 65, "{} calls: {calls:?}", calls.len());
    }
}

#[test]
fn every_task_runs_once_wherever_it_is_meant_to_run() {
    let affinities =
        [Affinity::Any, Affinity::Group(0), Affinity::Group(1), Affinity::Local(3), Affinity::Spread];
    for (round, ready) in (0..60).zip(POLICIES.into_iter().cycle()) {
        let runner = Crowd::new(16, |_| Ok(()));
        let start = if round % 2 == 0 { Start::AfterOrchestration } else { Start::default() };
        let config = RunConfig { cores_per_group: 2, start, ..config(4, 512, ready) };
        let outcome = run(&config, &runner, |submitter| {
            for n in 0..400u32 {
                // Requests are of different length, so that groups end everywhere.
                let (payload, affinity) = ([n / 3, n % 3], affinities[(n / 5 % 5) as usize]);
                let spec =
                    TaskSpec { kernel: KernelId(0), payload: &payload, affinity, ..TaskSpec::default() };
                submitter.submit(spec)?;
            }
            Ok::<(), Stopped>(())
        });
        outcome.unwrap();
        let mut all: Vec<u32> = runner.calls().into_iter().flatten().collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..400), "{ready:?}");
    }
}

#[test]
fn with_gates_and_by_priority_every_task_goes_by_itself() {
    let gates = vec![Gate { scope: GateScope::Global, capacity: 4 }];
    let gated = RunConfig { gates, ..config(1, 64, POLICIES[0]) };
    for config in [gated, config(1, 64, Ready::Priority)] {
        let runner = Crowd::new(16, |_| Ok(()));
        submit(&config, &runner).unwrap();
        assert!(runner.calls().iter().all(|call| call.len() == 1));
    }
}

#[test]
fn each_task_has_its_own_part_of_the_time_and_is_counted() {
    let runner = Crowd::new(16, |_| Ok(()));
    let config = RunConfig { trace: TracePolicy::Measured, ..config(1, 64, POLICIES[0]) };
    let stats = submit(&config, &runner).unwrap();
    assert_eq!(stats.workers[0].tasks, 17);
    let mut trace = stats.trace;
    trace.sort_by_key(|task| task.task);
    assert!(trace.iter().map(|task| task.task.0).eq(0..17));
    assert!(trace.iter().all(|task| task.ready_ns <= task.started_ns && task.started_ns <= task.finished_ns));
    assert!(trace.windows(2).all(|pair| pair[0].finished_ns <= pair[1].started_ns));
    let busy: u64 = trace.iter().map(|task| task.finished_ns - task.started_ns).sum();
    assert_eq!(stats.workers[0].busy_ns, Some(busy));
    assert_eq!(stats.kernels[0].tasks, 16);
}

#[test]
fn the_first_failing_task_of_several_taken_together_is_the_one_reported() {
    let runner = Crowd::new(16, |id| if id >= 3 && id % 2 == 1 { Err(id.to_string()) } else { Ok(()) });
    let outcome = submit(&config(1, 64, POLICIES[0]), &runner);
    let Err(Failure::Task { task, failure }) = outcome else { panic!("{outcome:?}") };
    assert_eq!((task.id, &task.payload[..], &failure[..]), (TaskId(3), &[0, 3][..], "3"));
    // The other request and the task of another kernel.
    assert_eq!(task.cancelled, 9);
}

#[test]
fn a_panic_of_tasks_taken_together_ends_the_run_and_not_the_worker() {
    for threads in [1, 2] {
        let runner = Crowd::new(16, |id| if id == 2 { panic!("out of range at {id}") } else { Ok(()) });
        let outcome = submit(&config(threads, 64, POLICIES[0]), &runner);
        let Err(Failure::Panic { task, message }) = outcome else { panic!("{outcome:?}") };
        assert!(task.id <= TaskId(2), "{task:?}");
        assert_eq!(message, "out of range at 2");
    }
}

#[test]
fn what_waits_for_tasks_taken_together_starts_when_all_of_them_are_done() {
    for threads in [1, 3] {
        let runner = Crowd::new(16, |_| Ok(()));
        let outcome = run(&config(threads, 16, POLICIES[0]), &runner, |submitter| {
            for n in 0..300u32 {
                // Nine in ten write a cell of their own, the tenth reads all of them.
                let (own, all) = ([cells(0, n % 10, n % 10 + 1)], [cells(0, 0, 10)]);
                let reads: &[_] = if n % 10 == 9 { &all } else { &[] };
                let kernel = KernelId(u16::from(n % 10 == 9));
                submitter.submit(TaskSpec {
                    kernel,
                    payload: &[n / 10, n % 10],
                    reads,
                    writes: &own,
                    ..TaskSpec::default()
                })?;
            }
            Ok::<(), Stopped>(())
        });
        outcome.unwrap();
        let order: Vec<u32> = runner.calls().into_iter().flatten().collect();
        assert_eq!(order.len(), 300);
        for (at, id) in order.iter().enumerate().filter(|(_, id)| *id % 10 == 9) {
            let before = order[..at].iter().filter(|other| *other / 10 == id / 10).count();
            assert_eq!(before, 9, "{order:?}");
        }
    }
}
