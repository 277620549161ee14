//! AICPUs that generate their own tasks give together what the host's expansion gives: the same tasks, each once and by its
//! owner, in order, behind the same tasks of ordered scopes, and a fault at the same place.

use crate::ptow_support::schedules::random_schedule;
use crate::ptow_support::{Expected, Given, Way, compare, fault_after, is_of_task, on_aicpus, on_host};
use crate::randomised::cases;
use crate::workload_support::copies::Copies;
use crate::workload_support::pipelines::pipeline;
use crate::workload_support::random::{Rng, random_module, random_pipelines};
use crate::workload_support::{self, Record, bound, module, schedule, try_bind};
use proptest::prelude::*;
use std::path::PathBuf;
use wsp_core::ptow::interp::{FaultKind, Mode};
use wsp_diag::Code;
use wsp_ir::workload::verify::verify;
use wsp_ir::workload::{Block, DirectiveKind, Dispatch, NodeKind, Schedule, WorkloadModule, text};
use wsp_ordered::OrderedMap;
use wsp_plan::ptow::{DispatchPlan, LaunchData, Lowered, lower};
use wsp_plan::workload::{Bindings, LoweredSchedule, bind, expand};

/// Compares all expansions of a module on `aicpus` AICPUs. False when the module does not fit a program.
fn agree(
    module: &WorkloadModule,
    bindings: &Bindings,
    schedule: &LoweredSchedule,
    aicpus: u16,
    seed: u64,
) -> bool {
    let lowered = match lower(module, schedule) {
        Ok(lowered) => lowered,
        Err(found) => {
            let fits = |code| matches!(code, Code(890..=892));
            assert!(found.iter().all(|diagnostic| fits(diagnostic.code)), "seed {seed}: {found:?}");
            return false;
        }
    };
    let aicpus = match &lowered.dispatch {
        DispatchPlan::StaticPartition(ranges) => aicpus.max(ranges.len() as u16),
        DispatchPlan::RoundRobin | DispatchPlan::Affinity { .. } => aicpus,
    };
    let data = LaunchData::new(&lowered, module, bindings);
    let expected = on_host(module, bindings, schedule, lowered.keeps_after, seed);
    let budgets = [(u32::MAX, u32::MAX), (1, u32::MAX), (u32::MAX, 1), (3, 5)];
    let mut of_task = false;
    for (mode, sums) in [(Mode::Naive, false), (Mode::Skip, false), (Mode::Skip, true)] {
        let budget = budgets[(seed % 4) as usize];
        let way = Way { aicpus, mode, sums, budget };
        let given = on_aicpus(&lowered, &data, way, seed);
        compare(&expected, &given, &format!("seed {seed}, {way:?}"));
        if expected.end.is_none() {
            let fault = fault_after(expected.tasks.len(), &given);
            // Whoever skips a loop without tasks does not see that it cannot be entered.
            assert!(
                fault.is_some() || mode == Mode::Skip && !of_task,
                "seed {seed}, {way:?}: no fault is found"
            );
            of_task |= fault.is_some_and(|fault| is_of_task(&lowered, &fault));
            if expected.is_deadlock() {
                let ends =
                    given.iter().all(|one| one.fault.is_some_and(|fault| fault.kind == FaultKind::Deadlock));
                assert!(ends, "seed {seed}, {way:?}: every AICPU finds that no process can go on");
                told_alike((module, bindings, schedule), &lowered, &expected, &given, seed);
            }
            if mode == Mode::Naive && !names_keys(schedule) {
                told_alike((module, bindings, schedule), &lowered, &expected, &given, seed);
            }
        }
    }
    true
}

/// Whether the owner of a task depends on a key, which is evaluated before its arguments here and after them on the host.
fn names_keys(schedule: &LoweredSchedule) -> bool {
    let policy = &schedule.policy;
    policy.threshold.is_some() || matches!(policy.dispatch, Some(Dispatch::Affinity(_) | Dispatch::Hash(_)))
}

/// Asserts that AICPUs that leave out nothing tell of the first fault in the words of the host.
fn told_alike(
    source: (&WorkloadModule, &Bindings, &LoweredSchedule),
    lowered: &Lowered,
    expected: &Expected,
    given: &[Given],
    seed: u64,
) {
    for one in given {
        let found = one.found.as_ref();
        if let Some(found) = found.filter(|found| found.fault.ordinal == expected.tasks.len() as u64) {
            let told = lowered.fault(source, found);
            assert_eq!(Some(&told), expected.fault.as_ref(), "seed {seed}");
        }
    }
}

/// What came of random modules.
#[derive(Default, Debug)]
struct Tally {
    agreed: u32,
    too_large: u32,
    partitions: u32,
    pipelines: u32,
}

/// Tasks of a module that is not at fault without a schedule.
fn tasks(module: &WorkloadModule, bindings: &Bindings) -> Option<u64> {
    let mut record = Record::default();
    expand(module, bindings, &LoweredSchedule::default(), &mut record).ok().map(|stats| stats.tasks)
}

fn random(seed: u64, mut module: WorkloadModule, tally: &mut Tally) {
    module.workloads.iter_mut().for_each(|workload| short_rounds(&mut workload.body));
    let bindings = bind(&module, &[], &OrderedMap::new()).expect("everything has a default");
    let mut rng = Rng::new(seed ^ 0xD15);
    // Slots would change the number of tasks.
    let total = if module.slots.is_empty() { None } else { tasks(&module, &bindings) };
    let drawn = random_schedule(&mut rng, total);
    let partition = |d: &wsp_ir::workload::Directive| {
        matches!(d.kind, DirectiveKind::Dispatch(Dispatch::StaticPartition(_)))
    };
    let partitioned = drawn.directives.iter().any(partition);
    module.schedules = vec![drawn];
    let errors: Vec<_> = verify(&module).into_iter().filter(|d| d.is_error()).collect();
    assert!(errors.is_empty(), "seed {seed}: {errors:?}");
    // Read from text, every expression has its own place.
    let module = workload_support::module(&text::print(&module));
    let aicpus = rng.below(16) as u16 + 1;
    if partitioned && names_slots(&module) {
        return;
    }
    if agree(&module, &bindings, &schedule(&module), aicpus, seed) {
        tally.agreed += 1;
        tally.pipelines += u32::from(module.workloads.iter().any(|workload| !workload.channels.is_empty()));
        tally.partitions += u32::from(partitioned);
    } else {
        tally.too_large += 1;
    }
}

/// Gives every `while` a small maximum: with slots that stay as they are, most would go on to the limit.
fn short_rounds(block: &mut Block) {
    for node in block {
        if let NodeKind::While { max, .. } = &mut node.kind {
            max.get_or_insert_with(|| 6.into());
        }
        node.kind.bodies_mut().into_iter().for_each(short_rounds);
    }
}

/// Whether the number of tasks may differ from run to run.
fn names_slots(module: &WorkloadModule) -> bool {
    format!("{:?}", module.workloads).contains("Slot(")
}

#[test]
fn a_fixed_range_of_modules_agrees() {
    let mut tally = Tally::default();
    (0..1500).for_each(|seed| random(seed, random_module(seed), &mut tally));
    assert!(tally.agreed > 1000 && tally.partitions > 20, "{tally:?}");
    assert!(tally.too_large < 150, "{tally:?}");
}

/// Pipelines that go on and pipelines that cannot, on so many AICPUs and in every way.
#[test]
fn made_up_pipelines_agree_on_one_to_eight_aicpus() {
    let mut stuck = 0;
    for seed in 0..cases(600) {
        let module = module(&pipeline(seed));
        let bindings = bound(&module, &[]);
        let (schedule, aicpus) = (schedule(&module), [1, 2, 4, 8][(seed / 4 % 4) as usize]);
        assert!(agree(&module, &bindings, &schedule, aicpus, seed), "seed {seed} fits a program");
        stuck += u64::from(on_host(&module, &bindings, &schedule, false, seed).is_deadlock());
    }
    println!("{} made-up pipelines, {stuck} of them cannot go on", cases(600));
    assert!((cases(600) / 5..cases(600) * 4 / 5).contains(&stuck), "{stuck} cannot go on");
}

/// Copies of processes and what they are written out, on the host and on so many AICPUs.
#[test]
fn copies_of_processes_are_those_that_are_written_out() {
    let (mut rng, mut stuck) = (Rng::new(0xC0B1), 0);
    for seed in 0..cases(300) {
        let copies = Copies::random(&mut rng);
        let [short, long] = [false, true].map(|is_written_out| module(&copies.text(is_written_out)));
        let bindings = [&short, &long].map(|module| bound(module, &[]));
        let of = |module, bindings| on_host(module, bindings, &LoweredSchedule::default(), false, seed);
        let (ours, theirs) = (of(&short, &bindings[0]), of(&long, &bindings[1]));
        assert_eq!(ours.tasks, theirs.tasks, "{}", copies.text(false));
        let said = |expected: &Expected| {
            expected.fault.as_ref().map(|found| {
                let labels = found.labels.iter().map(|label| label.text.replace('[', "_").replace(']', ""));
                (found.code, labels.collect::<Vec<_>>())
            })
        };
        assert_eq!(said(&ours), said(&theirs), "{}", copies.text(false));
        let aicpus = [1, 2, 3, 5, 8][(seed % 5) as usize];
        assert!(
            agree(&short, &bindings[0], &LoweredSchedule::default(), aicpus, seed),
            "seed {seed} fits a program"
        );
        stuck += u64::from(ours.is_deadlock());
    }
    println!("{} pipelines of copies, {stuck} of them cannot go on", cases(300));
    assert!((cases(300) / 8..cases(300) * 7 / 8).contains(&stuck), "{stuck} cannot go on");
}

#[test]
fn a_fixed_range_of_pipelines_agrees() {
    let mut tally = Tally::default();
    (0..700).for_each(|seed| random(seed, random_pipelines(seed), &mut tally));
    println!("{tally:?}");
    assert!(tally.pipelines > 200 && tally.partitions > 20, "{tally:?}");
}

proptest! {
    #[test]
    fn random_modules_agree(seed in any::<u64>()) {
        random(seed, random_module(seed), &mut Tally::default());
        random(seed, random_pipelines(seed), &mut Tally::default());
    }
}

#[expect(clippy::disallowed_methods, reason = "a test reads the examples")]
pub(crate) fn example(path: &[&str]) -> String {
    let root = [env!("CARGO_MANIFEST_DIR"), "../..", "examples"];
    let file: PathBuf = root.iter().chain(path).collect();
    std::fs::read_to_string(file).expect("the example is there")
}

/// Applies a policy in place of the module's schedule.
fn with_policy(module: &WorkloadModule, directives: &[DirectiveKind]) -> LoweredSchedule {
    let span = wsp_diag::Span::default();
    let directives = directives.iter().cloned().map(|kind| wsp_ir::workload::Directive { kind, span });
    let chosen = Schedule { name: String::new(), directives: directives.collect(), span };
    schedule(&WorkloadModule { schedules: vec![chosen], ..module.clone() })
}

#[test]
fn the_examples_agree_on_one_to_sixteen_aicpus() {
    for (name, set) in [
        ("llama_table", vec![("seq", 512)]),
        ("llama_flat", vec![("seq", 256)]),
        ("bgemm_tree", vec![]),
        ("bgemm_loops", vec![]),
        ("softmax", vec![("tiles", 9)]),
        ("pipeline", vec![("tiles", 7)]),
    ] {
        let module = module(&example(&["graphs", &format!("{name}.wsp")]));
        let bindings = bound(&module, &set);
        let (own, turns) =
            (schedule(&module), with_policy(&module, &[DirectiveKind::Dispatch(Dispatch::RoundRobin)]));
        for aicpus in 1..=16 {
            assert!(agree(&module, &bindings, &own, aicpus, u64::from(aicpus)), "{name}");
            assert!(agree(&module, &bindings, &turns, aicpus, u64::from(aicpus)), "{name}");
        }
    }
}

/// The workloads over kernels of a used file, with small tables.
#[test]
fn workloads_of_used_kernels_agree() {
    let indptr: &[i64] = &[0, 3, 3, 9000, 9007];
    for (path, set, tables) in [
        (
            ["moe", "moe.wsp"],
            vec![("tokens", 4), ("hidden", 8), ("ffn", 8), ("experts", 4)],
            vec![("indptr", &[0, 2, 2, 4, 5][..]), ("indices", &[0, 2, 1, 2, 0][..])],
        ),
        (["topk_indexer", "indexer.wsp"], vec![], vec![("indptr", indptr)]),
        (
            ["ragged_prefill", "prefill.wsp"],
            vec![("PROMPTS", 4), ("num_qo_heads", 3)],
            vec![("indptr", &[0, 3, 3, 400, 407][..])],
        ),
    ] {
        let module = module(&example(&path));
        let bindings = try_bind(&module, &set, &tables).unwrap_or_else(|found| panic!("{path:?}: {found:?}"));
        for aicpus in 1..=16 {
            assert!(agree(&module, &bindings, &schedule(&module), aicpus, u64::from(aicpus)), "{path:?}");
        }
    }
}

/// Every form of statement and axis, under every policy.
pub(crate) const TOUR: &str = "
    param n = 5; param m = 3; let deep = n * 2 - m;
    table lens = [3, 0, 1, 4, 2]; table ptr = [0, 2, 2, 5, 6, 9]; table cols = [4, 1, 0, 2, 4, 3, 1, 2, 0];
    axis b = dense(n); axis h = dense(1, m + 1); axis d = dense_dyn(m); axis e = dense(2, n); axis r = ragged(b, lens); axis s = sparse(b, ptr, cols);
    tensor x: f32[16, 16]; tensor y: f32[64];
    kernel v(i, j, in a, inout c) on vector; kernel c(i, out a) on cube; kernel k(i);
    workload leaf(i, j) { let first = c(i * 2 + j, y[i +: 4]); v(i, j, y[j], x[i, j..j + 2]); c(j, y[0..0]) after first; }
    workload middle(i, lo) {
        parallel for j in d { call leaf(i, j); }
        if i % 2 == 0 && lo > 0 || i == 3 { call leaf(lo, lo + i); } else { k(i > 2 ? lo : -lo); }
    }
    workload main {
        parallel for i in b {
            for j in r[i] { v(i, j, y[i], x[i, j]); for l in h { k(i * 100 + l); } }
            select j @ at in s[i] { k(at); k(j * 10); call middle(j, at - i); }
        }
        combine { { parallel for i in h { call middle(i, i); } } { c(7, y); k(5000000000); parallel for i in e { k(-i); } } }
        sequential { { for i in 0..deep step 2 { k(i); } } { } { parallel for i in b { parallel for j in i..n { k(j); } } } }
        for i in h { while i > 9 max 4 { k(i); } for j in h { for l in d { k(j - l); } } }
    }";

#[test]
fn every_policy_agrees_on_one_to_sixteen_aicpus() {
    let total = {
        let module = module(TOUR);
        tasks(&module, &bound(&module, &[])).expect("no fault")
    };
    let policies = [
        "".to_owned(),
        "dispatch(round_robin);".to_owned(),
        "dispatch(work_steal);".to_owned(),
        "dispatch(affinity(b));".to_owned(),
        "dispatch(affinity(h));".to_owned(),
        "dispatch(affinity(d * 3 - h));".to_owned(),
        "dispatch(affinity(0 - s - 7));".to_owned(),
        "dispatch(affinity(b * h));".to_owned(),
        "dispatch(hash(b + d));".to_owned(),
        format!("dispatch(static_partition([0..7, 7..7, 7..40, 40..{total}]));"),
        "dispatch_threshold(b * 4 + d, [3, 9], [round_robin, affinity(d), hash(h)]);".to_owned(),
        "dispatch_threshold(lens[b], [1, 3], [vector, affinity(b), cube]); task_graph(pools = by_unit(1, 1));".to_owned(),
        "dispatch(affinity(d)); dispatch_threshold(b, [2, 4], [any, hash(h), cube]); task_graph(pools = by_unit(1, 1));".to_owned(),
        "dispatch(hash(b)); dispatch_threshold(h, [2], [vector, affinity(r)]); task_graph(pools = by_unit(1, 1));".to_owned(),
        "streams(7); dispatch(affinity(b));".to_owned(),
        "streams(7); stream_by(b * 3 - d); priority(h - b); task_graph(ready = priority, deps = explicit);"
            .to_owned(),
    ];
    for policy in policies {
        let module = module(&format!("{TOUR} schedule {{ {policy} }}"));
        let bindings = bound(&module, &[]);
        for aicpus in 1..=16 {
            assert!(agree(&module, &bindings, &schedule(&module), aicpus, 0), "{policy}");
        }
    }
}

#[test]
fn one_program_serves_every_size() {
    let module = module(TOUR);
    let schedule = with_policy(&module, &[DirectiveKind::Dispatch(Dispatch::RoundRobin)]);
    for m in [0, 1, 4] {
        assert!(agree(&module, &bound(&module, &[("m", m)]), &schedule, 3, 1), "m = {m}");
    }
    let lens: &[i64] = &[1, 0, 0];
    let ptr: &[i64] = &[0, 0, 1, 1];
    let bindings = try_bind(&module, &[("n", 3)], &[("lens", lens), ("ptr", ptr), ("cols", &[2])]);
    assert!(agree(&module, &bindings.expect("three rows"), &schedule, 3, 1));
}

#[test]
fn two_aicpus_share_a_batch_as_the_document_draws_it() {
    let module = module(
        "kernel attn(b, h); axis batch = dense(4); axis head = dense(2);
         workload main { parallel for b in batch { parallel for h in head { attn(b, h); } } }
         schedule { dispatch(affinity(batch)); }",
    );
    let (bindings, schedule) = (bound(&module, &[]), schedule(&module));
    assert!(agree(&module, &bindings, &schedule, 2, 0));
    let lowered = lower(&module, &schedule).expect("it fits");
    let way = Way { aicpus: 2, mode: Mode::Skip, sums: false, budget: (u32::MAX, u32::MAX) };
    let given = on_aicpus(&lowered, &LaunchData::new(&lowered, &module, &bindings), way, 0);
    let batches = |id: usize| given[id].tasks.iter().map(|task| task.scalars[0]).collect::<Vec<_>>();
    assert_eq!((batches(0), batches(1)), (vec![0, 0, 2, 2], vec![1, 1, 3, 3]));
}

/// Faults are found where the host finds them.
#[test]
fn faults_agree() {
    for source in [
        "kernel k(i); workload main { parallel for i in 0..9 { k(12 / (5 - i)); } }",
        "tensor x: f32[8]; kernel k(in a); workload main { parallel for i in 0..9 { k(x[i..i + 3]); } }",
        "table t = [1, 2]; kernel k(i); workload main { parallel for i in 0..3 { parallel for j in 0..t[i] { k(i); } } }",
        "kernel k(); workload main { k(); for j in 0..2 { parallel for i in 0..4 step j { k(); } } }",
        "kernel k(); workload main { k(); while 1 max 5 { k(); } }",
        "kernel k(i); workload w(i) { k(1); } workload main { parallel for i in 0..4 { call w(1 / (2 - i)); } }",
        "kernel k(); axis b = dense(4); workload main { parallel for i in b { k(); } }
         schedule { priority(b * 2000000000); task_graph(ready = priority); }",
        "kernel k(i); axis b = dense(4); workload main { parallel for i in b { k(i); } } schedule { dispatch(hash(6 / (2 - b))); }",
    ] {
        let module = module(source);
        let bindings = bound(&module, &[]);
        for aicpus in 1..=5 {
            assert!(agree(&module, &bindings, &schedule(&module), aicpus, 0), "{source}");
        }
    }
}
