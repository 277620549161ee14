//! Random programs of boxes against a sequential run and a scan of all pairs.

mod common;

use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wsp_core::{KernelId, Region, TaskId, TensorId};
use wsp_runtime::{Affinity, ReadyPolicy, RunConfig, Stopped, TaskRunner, TaskSpec, run};

const SIDE: u32 = 6;
const TENSORS: u32 = 3;

#[derive(Clone, Debug)]
struct Step {
    reads: Vec<Region>,
    writes: Vec<Region>,
    affinity: Affinity,
    fence_before: bool,
    /// Prefetch this task when the task so many before it starts.
    prefetch: Option<u32>,
}

/// Memory of all tensors, and when each task started and finished.
struct Machine<'p> {
    program: &'p [Step],
    memory: Vec<AtomicU64>,
    clock: AtomicU32,
    started: Vec<AtomicU32>,
    finished: Vec<AtomicU32>,
}

fn mix(a: u64, b: u64) -> u64 {
    (a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15)).rotate_left(23).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

fn points(region: &Region) -> impl Iterator<Item = usize> {
    let base = region.tensor.0 * SIDE * SIDE;
    let (rows, columns) = (region.lo[0]..region.hi[0], region.lo[1]..region.hi[1]);
    rows.flat_map(move |row| columns.clone().map(move |column| (base + row * SIDE + column) as usize))
}

impl<'p> Machine<'p> {
    fn new(program: &'p [Step]) -> Machine<'p> {
        Machine {
            program,
            memory: (0..TENSORS * SIDE * SIDE).map(|_| AtomicU64::new(0)).collect(),
            clock: AtomicU32::new(1),
            started: program.iter().map(|_| AtomicU32::new(0)).collect(),
            finished: program.iter().map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Relaxed: what makes the values right is the runtime's order alone.
    fn step(&self, index: usize) {
        let step = &self.program[index];
        let cells = step.reads.iter().flat_map(points);
        let seen =
            cells.fold(index as u64 + 1, |hash, at| mix(hash, self.memory[at].load(Ordering::Relaxed)));
        for at in step.writes.iter().flat_map(points) {
            self.memory[at].store(mix(seen, at as u64), Ordering::Relaxed);
        }
    }

    fn memory(self) -> Vec<u64> {
        self.memory.into_iter().map(AtomicU64::into_inner).collect()
    }
}

impl TaskRunner for Machine<'_> {
    type Failure = ();

    fn run(&self, _: usize, task: TaskId, kernel: KernelId, payload: &[u32]) -> Result<(), ()> {
        assert_eq!((payload, kernel.0), (&[task.0, !task.0][..], (task.0 % 5) as u16));
        self.started[task.index()].store(self.clock.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        self.step(task.index());
        self.finished[task.index()].store(self.clock.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        Ok(())
    }

    fn prefetch(&self, _: usize, kernel: KernelId, payload: &[u32]) {
        assert_eq!((payload[1], u32::from(kernel.0)), (!payload[0], payload[0] % 5));
    }
}

fn conflict(a: &Step, b: &Step) -> bool {
    let overlap = |x: &[Region], y: &[Region]| x.iter().any(|x| y.iter().any(|y| x.overlaps(y)));
    overlap(&a.writes, &b.reads) || overlap(&a.writes, &b.writes) || overlap(&a.reads, &b.writes)
}

fn region() -> impl Strategy<Value = Region> {
    let tiles =
        (0..TENSORS, 0..SIDE, 0..SIDE, 0..3u32, 0..3u32).prop_map(|(tensor, row, column, height, width)| {
            let hi = [(row + height).min(SIDE), (column + width).min(SIDE)];
            Region::new(TensorId(tensor), &[row, column], &hi).expect("ranks agree")
        });
    let keys = (0..SIDE, 1..=SIDE).prop_map(|(key, len)| {
        Region::new(TensorId(0), &[key, 0], &[(key + len).min(SIDE), SIDE]).expect("ranks agree")
    });
    prop_oneof![3 => tiles, 1 => keys]
}

fn affinity() -> impl Strategy<Value = Affinity> {
    prop_oneof![
        3 => Just(Affinity::Any),
        1 => (0..9u64).prop_map(Affinity::Group),
        1 => (0..9u64).prop_map(Affinity::Local),
        1 => Just(Affinity::Spread),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let regions = || proptest::collection::vec(region(), 0..3);
    (regions(), regions(), affinity(), prop::bool::weighted(0.05), prop::option::weighted(0.3, 1..6u32))
        .prop_map(|(reads, writes, affinity, fence_before, prefetch)| Step {
            reads,
            writes,
            affinity,
            fence_before,
            prefetch,
        })
}

fn config() -> impl Strategy<Value = RunConfig> {
    let ready = prop_oneof![Just(ReadyPolicy::Fifo), Just(ReadyPolicy::WorkSteal)];
    (1..=8u32, prop_oneof![1..5u32, 1..=64u32], ready, 1..=4u32, any::<bool>()).prop_map(
        |(threads, window, ready, cores_per_group, trace)| RunConfig {
            threads,
            window,
            ready,
            cores_per_group,
            trace,
            cancel: None,
        },
    )
}

fn execute(config: &RunConfig, machine: &Machine<'_>) -> wsp_runtime::Stats {
    let outcome = run(config, machine, |submitter| {
        for (i, step) in (0..).zip(machine.program) {
            if step.fence_before {
                submitter.fence();
            }
            let task = submitter.submit(TaskSpec {
                kernel: KernelId((i % 5) as u16),
                payload: &[i, !i],
                reads: &step.reads,
                writes: &step.writes,
                affinity: step.affinity,
            })?;
            assert_eq!(task, TaskId(i));
            if let Some(starting) = step.prefetch.and_then(|distance| i.checked_sub(distance)) {
                submitter.prefetch_when_starts(TaskId(starting), task);
            }
        }
        Ok::<(), Stopped>(())
    });
    outcome.expect("no task fails")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn conflicting_tasks_run_in_order_and_memory_is_that_of_a_sequential_run(
        program in proptest::collection::vec(step(), 1..120),
        config in config(),
    ) {
        let sequential = Machine::new(&program);
        (0..program.len()).for_each(|i| sequential.step(i));
        let machine = Machine::new(&program);
        let stats = execute(&config, &machine);

        let stamp = |list: &[AtomicU32], i: usize| list[i].load(Ordering::SeqCst);
        let mut fenced = 0;
        for j in 0..program.len() {
            fenced = if program[j].fence_before { j } else { fenced };
            let started = stamp(&machine.started, j);
            prop_assert!(started > 0, "task {} did not run", j);
            for i in (0..j).filter(|&i| i < fenced || conflict(&program[i], &program[j])) {
                prop_assert!(stamp(&machine.finished, i) < started, "{} started before {} was complete", j, i);
            }
        }
        prop_assert_eq!(stats.tasks, program.len() as u64);
        prop_assert_eq!(stats.workers.iter().map(|worker| worker.tasks).sum::<u64>(), stats.tasks);
        prop_assert_eq!(stats.kernels.iter().map(|kernel| kernel.tasks).sum::<u64>(), stats.tasks);
        prop_assert!(stats.max_in_flight <= config.window);
        let asked = (0u32..).zip(&program).filter(|(i, step)| step.prefetch.is_some_and(|d| d <= *i)).count();
        prop_assert_eq!(stats.prefetch.issued + stats.prefetch.missed, asked as u64);
        let placed = program.iter().filter(|step| step.affinity != Affinity::Any).count();
        prop_assert_eq!(stats.affinity.hits + stats.affinity.misses, placed as u64);
        check_trace(&config, &program, &stats)?;
        prop_assert_eq!(machine.memory(), sequential.memory());
    }
}

fn check_trace(
    config: &RunConfig,
    program: &[Step],
    stats: &wsp_runtime::Stats,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(stats.trace.len(), if config.trace { program.len() } else { 0 });
    for (i, entry) in stats.trace.iter().enumerate() {
        prop_assert_eq!(entry.task.index(), i);
        prop_assert!(entry.worker < config.threads);
        prop_assert!(entry.submitted_ns <= entry.ready_ns, "{:?}", entry);
        prop_assert!(entry.ready_ns <= entry.started_ns, "{:?}", entry);
        prop_assert!(entry.started_ns <= entry.finished_ns, "{:?}", entry);
        prop_assert_eq!(entry.fences as usize, program[..=i].iter().filter(|step| step.fence_before).count());
        for pred in &entry.preds {
            prop_assert!(pred.index() < i && conflict(&program[pred.index()], &program[i]));
            prop_assert!(stats.trace[pred.index()].finished_ns <= entry.started_ns);
        }
    }
    Ok(())
}
