//! Generated expanders on N AICPUs hand over, together, what the host's expansion of a workload generates: the same tasks,
//! each once and by its owner, and a fault at the same place.

#[path = "../../wsp-plan/tests/it/ptow_support/schedules.rs"]
mod schedules;
mod support;
#[path = "../../wsp-plan/tests/it/workload_support/mod.rs"]
mod workload_support;

use std::path::PathBuf;
use support::{Code, Event, Harness, Run, Seen};
use workload_support::pipelines::pipeline;
use workload_support::random::{Rng, random_module, random_pipelines};
use workload_support::{bound, module, schedule};
use wsp_core::ptow::Op;
use wsp_core::{Region, SlotId};
use wsp_ir::workload::WorkloadModule;
use wsp_ordered::OrderedMap;
use wsp_plan::ptow::{LaunchData, Lowered, dispatch_configs, lower};
use wsp_plan::workload::{Bindings, ExpandError, TaskRecord, TaskSink, bind, expand};

/// Most tasks and boundaries of a workload.
const MOST: usize = 4000;

/// A task as both expansions have it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Made {
    ordinal: u64,
    kernel: u64,
    pool: u64,
    stream: i64,
    priority: i64,
    params: Vec<i64>,
    regions: Vec<(u64, String)>,
    after: Vec<i64>,
    indices: Vec<i64>,
}

/// What the host's expansion gives.
#[derive(Default)]
struct OnHost {
    keeps_after: bool,
    tasks: Vec<Made>,
    /// The worker among so many that the schedule names; the task's turn where it names none.
    owners: Vec<Box<dyn Fn(u32) -> u32>>,
    boundaries: usize,
}

/// It is too long for a test.
#[derive(Debug)]
struct TooLong;

fn bounds(region: &Region) -> String {
    region.lo.iter().zip(&region.hi).map(|(lo, hi)| format!(" {lo}:{hi}")).collect()
}

impl OnHost {
    fn boundary(&mut self) -> Result<(), TooLong> {
        self.boundaries += 1;
        if self.boundaries > MOST { Err(TooLong) } else { Ok(()) }
    }
}

impl TaskSink for OnHost {
    type Error = TooLong;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), TooLong> {
        self.tasks.push(Made {
            ordinal: task.ordinal,
            kernel: u64::from(task.kernel.0),
            pool: task.place.pool as u64,
            stream: task.place.stream.map_or(-1, i64::from),
            priority: i64::from(task.place.priority),
            params: task.scalars.to_vec(),
            regions: task.regions.iter().map(|region| (u64::from(region.tensor.0), bounds(region))).collect(),
            after: if self.keeps_after { task.after.iter().map(|o| *o as i64).collect() } else { Vec::new() },
            indices: task.indices.to_vec(),
        });
        let (dispatch, turn) = (task.place.dispatch, task.ordinal);
        let owner = move |n: u32| {
            dispatch.and_then(|dispatch| dispatch.worker(n)).unwrap_or((turn % u64::from(n)) as u32)
        };
        self.owners.push(Box::new(owner));
        if self.tasks.len() > MOST { Err(TooLong) } else { Ok(()) }
    }

    fn ordered_begin(&mut self) -> Result<(), TooLong> {
        self.boundary()
    }

    fn ordered_step(&mut self) -> Result<(), TooLong> {
        self.boundary()
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, TooLong> {
        Ok(((u64::from(slot.0) + self.tasks.len() as u64) % 3) as i64)
    }
}

/// The task of a line that the harness prints.
fn made(line: &str) -> Made {
    let tokens: Vec<&str> = line.split(' ').collect();
    let number = |at: usize| tokens[at].parse::<i64>().expect("a number");
    let mut made = Made {
        ordinal: number(1) as u64,
        kernel: number(3) as u64,
        pool: number(4) as u64,
        stream: number(5),
        priority: number(6),
        params: Vec::new(),
        regions: Vec::new(),
        after: Vec::new(),
        indices: Vec::new(),
    };
    let mut section = "";
    for (at, token) in tokens.iter().enumerate().skip(7) {
        match (*token, section) {
            ("p" | "a" | "v" | "i", _) => section = token,
            ("b", _) => {
                section = token;
                made.regions.push((number(at + 1) as u64, String::new()));
            }
            (token, "b") if token.contains(':') => {
                made.regions.last_mut().expect("a box").1 += &format!(" {token}");
            }
            (_, "p") => made.params.push(number(at)),
            (_, "a") => made.after.push(number(at)),
            (_, "i") => made.indices.push(number(at)),
            _ => {}
        }
    }
    made
}

/// A workload, its program, and what the host makes of it.
struct Case {
    name: String,
    module: WorkloadModule,
    bindings: Bindings,
    lowered: Lowered,
    host: OnHost,
    faults: bool,
}

/// A workload to compare; none when it is too long, or does not fit a program.
fn case(name: String, module: WorkloadModule, bindings: Bindings) -> Option<Case> {
    let schedule = schedule(&module);
    let lowered = lower(&module, &schedule).ok()?;
    let mut host = OnHost { keeps_after: lowered.keeps_after, ..OnHost::default() };
    let faults = match expand(&module, &bindings, &schedule, &mut host) {
        Ok(_) => false,
        Err(ExpandError::Fault(_)) => true,
        Err(ExpandError::Sink(TooLong) | ExpandError::Cancelled) => return None,
    };
    Some(Case { name, module, bindings, lowered, host, faults })
}

/// Compares expanders of workloads with the host's expansion; how many tasks were compared.
fn differential(name: &str, cases: &[Case], aicpus: &[u16]) -> usize {
    let codes: Vec<Code> = cases.iter().map(|case| Code::new(case.lowered.program.as_bytes())).collect();
    let programs: Vec<_> = codes.iter().map(Code::verified).collect();
    let harness = Harness::build(name, &programs);
    let mut compared = 0;
    for (program, case) in cases.iter().enumerate() {
        let data = LaunchData::new(&case.lowered, &case.module, &case.bindings);
        for n in aicpus {
            // A partition of more ranges than AICPUs is refused.
            let Ok(configs) = dispatch_configs(&case.lowered, *n) else { continue };
            let launch = data.as_launch();
            let runs: Vec<Run<'_>> =
                configs.iter().map(|config| Run { program, launch, config: *config }).collect();
            compared += together(case, *n, &harness.run(&runs));
        }
    }
    compared
}

/// Holds what AICPUs have seen together against the host's expansion.
fn together(case: &Case, n: u16, seen: &[Seen]) -> usize {
    let what = format!("{} on {n} AICPUs", case.name);
    let fault = seen.iter().filter(|seen| seen.status == 1).map(|seen| seen.fault.1).min();
    let expected = case.faults.then_some(case.host.tasks.len() as u64);
    assert_eq!(fault, expected, "{what}: the ordinal of the first fault");
    let mut tasks: Vec<(u64, u32, Made)> = Vec::new();
    for (me, seen) in (0u32..).zip(seen) {
        assert!(seen.status <= 1, "{what}: status {}", seen.status);
        for event in &seen.events {
            if let Event::Task(ordinal, line) = event {
                tasks.push((*ordinal, me, made(line)));
            }
        }
    }
    tasks.retain(|(ordinal, _, _)| fault.is_none_or(|fault| *ordinal < fault));
    tasks.sort_by_key(|(ordinal, me, _)| (*ordinal, *me));
    for (at, ((_, me, made), expected)) in tasks.iter().zip(&case.host.tasks).enumerate() {
        assert_eq!(made, expected, "{what}: task {at}");
        assert_eq!(*me, case.host.owners[at](u32::from(n)), "{what}: owner of task {at}");
    }
    assert_eq!(tasks.len(), case.host.tasks.len(), "{what}: number of tasks");
    tasks.len()
}

#[expect(clippy::disallowed_methods, reason = "a test reads the examples")]
fn example(name: &str) -> String {
    let root = [env!("CARGO_MANIFEST_DIR"), "../..", "examples", "graphs"];
    let file: PathBuf = root.iter().copied().chain([name]).collect();
    std::fs::read_to_string(file).expect("the example is there")
}

/// Loops over every kind of axis, and every statement.
const EVERYTHING: &str = "
    param n = 3;
    param rows = 40;
    table lens = [2, 0, 5];
    table indptr = [0, 2, 2, 5];
    table columns = [4, 1, 0, 3, 4];
    axis b = dense(n);
    axis from_two = dense(2, n + 2);
    axis dyn = dense_dyn(n);
    axis tok = ragged(b, lens);
    axis route = sparse(b, indptr, columns);
    slot again = 1;
    tensor x: f32[rows, 8];
    kernel k(inout a, i) on vector;
    kernel m(in a, inout c) on cube;
    workload inner(i, j) {
        parallel for t in 0..i + 1 step 2 { k(x[t], i * 10 + j); }
        m(x[i +: 2, 0..4], x[j]);
    }
    workload main {
        parallel for i in b, t in tok[i] { k(x[i * 10 + t], t); m(x[i], x[t, 1 +: 3]); }
        for i in from_two { parallel for j in dyn { k(x[i * 5 + j], i); } }
        parallel for i in b { select e @ p in route[i] { m(x[e], x[p]); k(x[p], e > 2 ? p : -e); } }
        sequential {
            { parallel for i in b { if i % 2 == 0 { k(x[i], 0); } else { k(x[i], 1); k(x[i], 2); } } }
            { parallel for i in 0..20 { k(x[i], i); } }
            { combine { { call inner(1, 2); } { parallel for i in b, j in 0..i { call inner(i, j); } } } }
        }
        while again max 4 { k(x[again], 7); k(x[3], again); }
        parallel for i in b { for j in b { parallel for l in dyn { m(x[i + j], x[l]); } } }
    }";

/// Schedules of it.
const POLICIES: [&str; 12] = [
    "dispatch(round_robin);",
    "dispatch(affinity(b));",
    "dispatch(affinity(2 * b + 3 * dyn - 7));",
    "dispatch(affinity(tok)); streams(3); stream_by(b + tok);",
    "dispatch(affinity(route * route)); priority(b - 2); task_graph(ready = priority);",
    "dispatch(affinity(lens[b] % 2 + from_two));",
    "dispatch(hash(b * 17 + tok));",
    "dispatch(work_steal); streams(2);",
    "dispatch(round_robin); dispatch_threshold(lens[b], [1, 3], [cube, affinity(b), vector]); task_graph(pools = by_unit(1, 1));",
    "dispatch(affinity(b)); dispatch_threshold(b * 2 + dyn, [1, 2, 5], [any, round_robin, cube, hash(dyn)]); task_graph(pools = by_unit(1, 1));",
    "dispatch_threshold(tok, [2], [affinity(tok), vector]); task_graph(pools = by_unit(1, 1));",
    "dispatch(hash(dyn)); priority(b * 1000); task_graph(ready = priority);",
];

#[test]
fn every_axis_and_every_policy_on_1_to_16_aicpus() {
    let mut cases = Vec::new();
    for policy in POLICIES {
        let module = module(&format!("{EVERYTHING} schedule {{ {policy} }}"));
        let bindings = bound(&module, &[]);
        cases.push(case(policy.to_owned(), module, bindings).expect("it fits a program"));
    }
    // The number of tasks is that of the other schedules.
    let total = cases[0].host.tasks.len();
    let policy = format!("dispatch(static_partition([0..7, 7..7, 7..30, 30..{total}]));");
    let module = module(&format!("{EVERYTHING} schedule {{ {policy} }}"));
    let bindings = bound(&module, &[]);
    cases.push(case(policy, module, bindings).expect("it fits a program"));
    let aicpus: Vec<u16> = (1..=16).collect();
    let compared = differential("policies", &cases, &aicpus);
    assert!(compared > 15_000, "{compared} tasks were compared");
}

#[test]
fn the_examples_on_1_to_16_aicpus() {
    let examples = [
        ("bgemm_loops.wsp", ("n", 3)),
        ("bgemm_tree.wsp", ("tiles", 8)),
        ("llama_flat.wsp", ("seq", 256)),
        ("llama_table.wsp", ("seq", 1024)),
        ("softmax.wsp", ("tiles", 8)),
    ];
    let cases = examples.map(|(name, set)| {
        let module = module(&example(name));
        let bindings = bound(&module, &[set]);
        case(name.to_owned(), module, bindings).unwrap_or_else(|| panic!("{name} fits a program"))
    });
    let aicpus: Vec<u16> = (1..=16).collect();
    differential("examples", &cases, &aicpus);
}

#[test]
fn an_aicpu_steps_in_proportion_to_its_own_tasks() {
    const NEST: &str = "
        param own;
        axis b = dense(4);
        axis h = dense(16);
        axis q = dense(own);
        axis k = dense(16);
        tensor x: f32[65536];
        kernel t(inout a, i, j);
        workload main { parallel for i in b, j in h, l in q, m in k { t(x[l * 16 + m], i, j); } }";
    let policies = [
        "dispatch(round_robin);",
        "dispatch(affinity(b));",
        "dispatch(affinity(h));",
        "dispatch(affinity(k));",
        "dispatch(affinity(b * 16 + h));",
        "dispatch(affinity(5 * q + 3 * k));",
    ];
    let cases = policies.map(|policy| {
        let module = module(&format!("{NEST} schedule {{ {policy} }}"));
        let bindings = bound(&module, &[("own", 1)]);
        case(policy.to_owned(), module, bindings).expect("it fits a program")
    });
    let codes: Vec<Code> = cases.iter().map(|case| Code::new(case.lowered.program.as_bytes())).collect();
    let programs: Vec<_> = codes.iter().map(Code::verified).collect();
    let harness = Harness::build("steps", &programs);
    for (program, case) in cases.iter().enumerate() {
        for n in [2u16, 4, 16] {
            // Tasks in all grow with the number of AICPUs.
            let bindings = bound(&case.module, &[("own", 2 * i64::from(n))]);
            let data = LaunchData::new(&case.lowered, &case.module, &bindings);
            let configs = dispatch_configs(&case.lowered, n).expect("configurations");
            let launch = data.as_launch();
            let runs: Vec<Run<'_>> =
                configs.iter().map(|config| Run { program, launch, config: *config }).collect();
            for seen in harness.run(&runs) {
                let own = seen.events.len() as u64;
                // A loop node is an iteration of the three outer loops that holds an own task, or the key needs.
                let most = 3 * own + 4 + 4 * 16 + 4 * 16 * u64::from(n) * 2 / 16;
                assert!(seen.steps <= most, "{} on {n}: {} steps, {own} own tasks", case.name, seen.steps);
            }
        }
    }
}

/// Pipelines that deadlock, that send to what is closed and that end: of texts, and of modules with random schedules.
#[test]
#[expect(clippy::disallowed_methods, reason = "the environment says how many cases a deep run has")]
fn random_pipelines_take_the_turns_of_the_host() {
    let wanted = std::env::var("WSP_CASES").map_or(12, |cases| cases.parse::<usize>().unwrap());
    println!("{wanted} pipelines");
    let mut cases = Vec::new();
    let mut faults = 0;
    for seed in 0.. {
        if cases.len() == wanted {
            break;
        }
        let mut module = if seed % 2 == 0 { module(&pipeline(seed)) } else { random_pipelines(seed) };
        let bindings = bind(&module, &[], &OrderedMap::new()).expect("everything has a default");
        if seed % 2 == 1 {
            module.schedules = vec![schedules::random_schedule(&mut Rng::new(seed ^ 0xA5C), None)];
        }
        let has_processes = |case: &Case| {
            let program = case.lowered.program.verified();
            program.program().words.iter().any(|word| word.opcode == Op::Process.code())
        };
        let case = case(format!("seed {seed}"), module, bindings);
        if let Some(case) = case.filter(|case| case.host.tasks.len() >= 6 && has_processes(case)) {
            faults += usize::from(case.faults);
            cases.push(case);
        }
    }
    let compared = differential("pipelines", &cases, &[1, 2, 5]);
    assert!(compared > 20 * wanted && (1..wanted).contains(&faults), "{compared} tasks, {faults} faults");
}

#[test]
fn random_workloads_with_random_schedules() {
    let mut cases = Vec::new();
    let mut faults = 0;
    for seed in 0.. {
        if cases.len() == 20 {
            break;
        }
        let mut module = random_module(seed);
        let bindings = bind(&module, &[], &OrderedMap::new()).expect("everything has a default");
        module.schedules = vec![schedules::random_schedule(&mut Rng::new(seed ^ 0xA5C), None)];
        let case = case(format!("seed {seed}"), module, bindings);
        if let Some(case) = case.filter(|case| case.host.tasks.len() >= 12) {
            faults += usize::from(case.faults);
            cases.push(case);
        }
    }
    let compared = differential("workloads", &cases, &[1, 2, 5, 16]);
    assert!(compared > 2000 && faults < 12, "{compared} tasks, {faults} faults");
}
