//! What tests of schedules measure: order, places, what is in flight. Nothing here depends on how fast anything is.

use super::places;
use crate::workloads::{program, report};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use wsp_backend::Absent;
use wsp_cpu::workload::{
    KernelCx, KernelRegistry, SimulatedWorkload, WorkloadInputs, WorkloadOptions, WorkloadOutcome,
};
use wsp_diag::Diagnostic;

/// Names of kernels that tests register.
const KERNELS: [&str; 4] = ["k", "v", "c", "r"];

/// Where a workload runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum On {
    Threads(u32),
    /// AICPUs, and threads that drive them.
    Aicpus(u16, u32),
}

impl On {
    pub(super) fn options(self) -> WorkloadOptions {
        match self {
            On::Threads(threads) => WorkloadOptions { threads, trace: true, ..WorkloadOptions::default() },
            On::Aicpus(aicpus, threads) => {
                WorkloadOptions { aicpus, threads, trace: true, ..WorkloadOptions::default() }
            }
        }
    }
}

fn inputs() -> WorkloadInputs {
    WorkloadInputs { absent: Absent::Zeros, ..WorkloadInputs::default() }
}

/// `n` tasks of kernel `k`, which nothing orders; each takes 10 cycles.
pub(super) fn free(n: u32, schedule: &str) -> String {
    tasks("parallel for", n, schedule)
}

/// `n` tasks, one after another.
pub(super) fn one_by_one(n: u32, schedule: &str) -> String {
    tasks("for", n, schedule)
}

fn tasks(loops: &str, n: u32, schedule: &str) -> String {
    format!(
        "axis b = dense({n}); tensor x: f32[{n}]; kernel k(inout a, number) cost 10;
         workload main {{ {loops} i in b {{ k(x[i], i); }} }} schedule {{ {schedule} }}"
    )
}

/// Three tasks of kernel `r`, then three of kernel `k`, each after one of the first three.
pub(super) fn pairs(schedule: &str) -> String {
    format!(
        "axis b = dense(3); axis c = dense(3); tensor x: f32[3]; kernel r(inout a, number) cost 10; kernel k(inout a, number) cost 10;
         workload main {{ parallel for i in b {{ r(x[i], i); }} parallel for i in c {{ k(x[i], 3 + i); }} }}
         schedule {{ {schedule} }}"
    )
}

/// Runs with kernels that call a function with their first scalar.
pub(super) fn run(
    text: &str,
    options: &WorkloadOptions,
    body: impl Fn(i64) -> Result<(), String> + Clone + Send + Sync + 'static,
) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
    places::at(if options.aicpus == 0 { places::Threads } else { places::Aicpus });
    let mut registry = KernelRegistry::new();
    for name in KERNELS.iter().filter(|name| text.contains(&format!("kernel {name}("))) {
        let body = body.clone();
        let kernel = move |cx: &mut KernelCx<'_>| {
            body(cx.scalars()[0])?;
            let values = cx.load::<f32>(0)?;
            cx.store(0, &values)
        };
        registry.register(*name, kernel).expect("a name of a kernel");
    }
    let program = program(text).with_kernels(registry).unwrap_or_else(|found| panic!("{}", report(&found)));
    program.execute(&inputs(), options)
}

/// What a run without anything in its tasks gives.
pub(super) fn ran(text: &str, on: On) -> WorkloadOutcome {
    run(text, &on.options(), |_| Ok(())).unwrap_or_else(|found| panic!("{}\n{text}", report(&found)))
}

/// The numbers of tasks in the order in which they start on one worker.
pub(super) fn order(text: &str, on: On) -> Vec<i64> {
    let started = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&started);
    let outcome = run(text, &on.options(), move |number| {
        notes.lock().map_err(|_| "poisoned")?.push(number);
        Ok(())
    });
    outcome.unwrap_or_else(|found| panic!("{}\n{text}", report(&found)));
    started.lock().expect("no task panics").clone()
}

/// The same on one thread, on one AICPU and in virtual time, which must agree.
pub(super) fn order_everywhere(text: &str) -> Vec<i64> {
    let on_a_thread = order(text, On::Threads(1));
    assert_eq!(order(text, On::Aicpus(1, 1)), on_a_thread, "on an AICPU: {text}");
    let simulated = simulated(text, 1);
    let tasks = simulated.simulation.tasks.iter().enumerate().filter(|(_, task)| task.worker.is_some());
    let mut starts: Vec<(u64, i64)> =
        tasks.zip(0..).map(|((_, task), number)| (task.start, number)).collect();
    starts.sort_unstable();
    let in_virtual_time: Vec<i64> = starts.into_iter().map(|(_, number)| number).collect();
    assert_eq!(in_virtual_time, on_a_thread, "in virtual time: {text}");
    on_a_thread
}

/// A run in virtual time.
pub(super) fn simulated(text: &str, threads: u32) -> SimulatedWorkload {
    try_simulated(text, threads).unwrap_or_else(|found| panic!("{}\n{text}", report(&found)))
}

/// On AICPUs, each of which has as many of the cores.
pub(super) fn simulated_on_aicpus(text: &str, cores: u32, aicpus: u16) -> SimulatedWorkload {
    let options = WorkloadOptions { threads: cores, aicpus, ..WorkloadOptions::default() };
    program(text).simulate(&inputs(), &options).unwrap_or_else(|found| panic!("{}\n{text}", report(&found)))
}

pub(super) fn try_simulated(text: &str, threads: u32) -> Result<SimulatedWorkload, Vec<Diagnostic>> {
    places::at(places::VirtualTime);
    program(text).simulate(&inputs(), &WorkloadOptions { threads, ..WorkloadOptions::default() })
}

/// When each task starts, in virtual time.
pub(super) fn starts(text: &str, threads: u32) -> Vec<u64> {
    let simulated = simulated(text, threads);
    let tasks = simulated.simulation.tasks.iter().filter(|task| task.worker.is_some());
    tasks.map(|task| task.start).collect()
}

/// The worker of each task, in virtual time.
pub(super) fn workers(text: &str, threads: u32) -> Vec<u32> {
    simulated(text, threads).simulation.tasks.iter().filter_map(|task| task.worker).collect()
}

/// The worker, on AICPUs the core, of each task.
pub(super) fn traced_workers(text: &str, on: On) -> Vec<u32> {
    ran(text, on).runtime.trace.iter().map(|task| task.worker).collect()
}

/// How many tasks of each of four groups were in flight at once at most. The number of a task is its group. Tasks of a group
/// stay until `meet` of the group have been there together; where that cannot be, they give up.
pub(super) fn most_in_flight(text: &str, on: On, meet: u32) -> [u32; 4] {
    #[derive(Default)]
    struct Crowd {
        running: [u32; 4],
        most: [u32; 4],
    }
    let crowd = Arc::new((Mutex::new(Crowd::default()), Condvar::new()));
    let inside = Arc::clone(&crowd);
    let outcome = run(text, &on.options(), move |group| {
        let (crowd, changed) = &*inside;
        let group = group as usize;
        let mut crowd = crowd.lock().map_err(|_| "poisoned")?;
        crowd.running[group] += 1;
        crowd.most[group] = crowd.most[group].max(crowd.running[group]);
        changed.notify_all();
        // Only what is wrong waits so long.
        let waited = changed.wait_timeout_while(crowd, Duration::from_secs(20), |now| now.most[group] < meet);
        let (mut crowd, waited) = waited.map_err(|_| "poisoned")?;
        crowd.running[group] -= 1;
        if waited.timed_out() {
            Err(format!("fewer than {meet} tasks of group {group} meet"))
        } else {
            Ok(())
        }
    });
    outcome.unwrap_or_else(|found| panic!("{}\n{text}", report(&found)));
    crowd.0.lock().expect("no task panics").most
}

/// The codes of what is wrong with a run.
pub(super) fn refused(text: &str, on: On) -> Vec<u16> {
    match run(text, &on.options(), |_| Ok(())) {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().map(|fault| fault.code.0).collect(),
    }
}

/// No codes.
pub(super) const NONE: [u16; 0] = [];
