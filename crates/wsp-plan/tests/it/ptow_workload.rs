//! Programs of bytes as workloads: what a workload made becomes the same bytes again, and what is written by hand generates the same tasks.

use crate::choices::{Choices, bytes};
use crate::ptow_differential::{TOUR, example};
use crate::ptow_support::schedules::random_schedule;
use crate::random_programs::{Temper, launch, valid_program};
use crate::randomised::cases;
use crate::workload_support::pipelines::pipeline;
use crate::workload_support::random::{Rng, random_module, random_pipelines};
use crate::workload_support::{module, schedule};
use std::convert::Infallible;
use wsp_core::ptow::interp::{Host, Interpreter, Mode, Ordered, Progress, Task, workspace_words};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::{DispatchConfig, Launch, Program, Verified, marks_needed};
use wsp_core::{MAX_RANK, Region, SlotId};
use wsp_ir::workload::{Deps, DirectiveKind, WorkloadModule, text};
use wsp_isa::ptow::{AlignedBytes, workload};
use wsp_plan::ptow::{Lowered, lower};

fn lowered(module: &WorkloadModule) -> Option<Lowered> {
    lower(module, &schedule(module)).ok()
}

/// The workload of bytes that have one.
fn of_bytes(bytes: &[u8]) -> WorkloadModule {
    let text = workload("p.ptow", bytes, &[]).unwrap_or_else(|found| panic!("{found:?}"));
    module(&text)
}

/// Asserts that the program of a workload is that of its own bytes. False where it does not fit a program.
fn returns(module: &WorkloadModule, what: &str) -> bool {
    let Some(first) = lowered(module) else { return false };
    let again = of_bytes(first.program.as_bytes());
    let second = lowered(&again).unwrap_or_else(|| panic!("{what}: it fitted once"));
    let text = |lowered: &Lowered| wsp_isa::ptow::disassemble(lowered.program.as_bytes()).expect("a program");
    assert_eq!(text(&first), text(&second), "{what}: {}", text::print(&again));
    true
}

#[test]
fn the_program_of_a_workload_is_that_of_its_bytes() {
    for path in [
        &["graphs", "llama_table.wsp"][..],
        &["graphs", "llama_flat.wsp"],
        &["graphs", "bgemm_tree.wsp"],
        &["graphs", "bgemm_loops.wsp"],
        &["graphs", "softmax.wsp"],
        &["graphs", "pipeline.wsp"],
        &["generate", "llama_attention.wsp"],
        &["moe", "moe.wsp"],
        &["topk_indexer", "indexer.wsp"],
        &["ragged_prefill", "prefill.wsp"],
    ] {
        assert!(returns(&module(&example(path)), path[1]));
    }
    for policy in [
        "",
        "dispatch(hash(b + d)); streams(7);",
        "dispatch_threshold(b * 4 + d, [3, 9], [round_robin, affinity(d * 2), hash(h)]);",
        "dispatch_threshold(lens[b], [1, 3], [vector, hash(b), cube]); task_graph(pools = by_unit(1, 1));",
        "dispatch(hash(b)); dispatch_threshold(h, [2], [vector, any]); task_graph(pools = by_unit(1, 1));",
        "streams(7); stream_by(b * 3 - d); priority(h - b); task_graph(ready = priority, deps = hybrid);",
    ] {
        assert!(returns(&module(&format!("{TOUR} schedule {{ {policy} }}")), policy));
    }
}

#[test]
fn random_workloads_return_from_their_bytes() {
    let (mut fitted, count) = (0, cases(600));
    for seed in 0..count {
        let mut random = random_module(seed);
        random.schedules = vec![random_schedule(&mut Rng::new(seed ^ 0xD15), None)];
        random.schedules[0].directives.retain(|directive| !names_depth(&directive.kind));
        fitted += u64::from(returns(&module(&text::print(&random)), &format!("seed {seed}")));
    }
    println!("{count} workloads, of which {fitted} fit a program");
    assert!(fitted * 10 > count * 8, "{fitted} of {count} modules fitted a program");
}

#[test]
fn pipelines_return_from_their_bytes() {
    for seed in 0..cases(200) {
        let random = random_pipelines(seed);
        returns(&module(&text::print(&random)), &format!("seed {seed}"));
        assert!(returns(&module(&pipeline(seed)), &format!("seed {seed}")));
    }
}

/// Whether a directive may come to the depth of a loop, which is no axis where loops over several stand there.
fn names_depth(kind: &DirectiveKind) -> bool {
    matches!(kind, DirectiveKind::DispatchThreshold(_))
}

/// A task, as a program says it.
#[derive(PartialEq, Debug)]
struct Made {
    kernel: u16,
    params: Vec<i64>,
    regions: Vec<Region>,
    after: Vec<u64>,
    placed: (u8, Option<u16>, i32),
}

#[derive(Default)]
struct Making {
    tasks: Vec<Made>,
    scopes: Vec<(usize, Ordered)>,
}

impl Host for Making {
    type Stop = Infallible;

    fn task(&mut self, task: &Task<'_>) -> Result<(), Infallible> {
        self.tasks.push(Made {
            kernel: task.kernel.0,
            params: task.params.to_vec(),
            regions: task.regions.to_vec(),
            after: task.after.to_vec(),
            placed: (task.pool as u8, task.stream, task.priority),
        });
        Ok(())
    }

    fn ordered(&mut self, event: Ordered, _: u64) -> Result<(), Infallible> {
        self.scopes.push((self.tasks.len(), event));
        Ok(())
    }

    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Option<i64> {
        Some((u64::from(slot.0) + ordinal) as i64 % 3)
    }

    fn plan(&mut self, _: u16, _: u64) -> Result<Option<u64>, Infallible> {
        Ok(None)
    }
}

/// The tasks of a program on the only AICPU, and how it ends; at most some thousand steps.
fn run(program: Verified<'_>, launch: Launch<'_>) -> (Making, String) {
    let mut memory = vec![0; workspace_words(&program)];
    let config = DispatchConfig::round_robin(1, 0);
    let mut making = Making::default();
    let interpreter = Interpreter::new(program, launch, &config, Prefixes::none(), &mut memory, Mode::Naive);
    let end = match interpreter.map(|mut interpreter| interpreter.run(&mut making, 512, 4096)) {
        Ok(Ok(Progress::Fault(fault))) => format!("{:?}", std::mem::discriminant(&fault.kind)),
        Ok(Ok(end)) => format!("{end:?}"),
        Ok(Err(never)) => match never {},
        Err(_) => "refused".to_owned(),
    };
    (making, end)
}

#[test]
fn programs_that_are_no_workload_of_ours_generate_the_same_tasks_or_are_refused() {
    let (mut taken, mut tasks, count) = (0, 0, cases(1500));
    for seed in 0..count {
        let drawn = bytes(seed, 600);
        let mut choices = Choices::new(&drawn);
        let aligned = AlignedBytes::copy(&valid_program(&mut choices));
        let program = Program::read(aligned.as_bytes()).expect("it is valid");
        let Ok(text) = workload("p.ptow", aligned.as_bytes(), &[]) else { continue };
        let mut sources = wsp_diag::SourceMap::default();
        let (Some(module), _) = text::parse("p.ptow", &text, &mut sources) else { continue };
        let mut policy = schedule(&module);
        policy.policy.deps = Deps::Hybrid;
        let Ok(lowered) = lower(&module, &policy) else { continue };
        let mut marks = vec![0; marks_needed(&program)];
        let verified = Verified::new(program, &mut marks).expect("it is valid");
        let given = launch(&mut choices, &program, Temper::Friendly);
        let tables = given.tables();
        let first = given.launch(&tables);
        let values: Vec<i64> = lowered.values.iter().map(|param| first.values[param.index()]).collect();
        let tables: Vec<&[i64]> = lowered.tables.iter().map(|table| first.tables[table.index()]).collect();
        // A slot is one element, whatever extents it is given.
        let extents = first.extents.iter().zip(program.tensors);
        let extents: Vec<_> =
            extents.map(|(of, row)| if row.slot == 0 { *of } else { [1; MAX_RANK] }).collect();
        let first = Launch { extents: &extents, ..first };
        let second = Launch { values: &values, tables: &tables, ..first };
        let (expected, end) = run(verified, first);
        let (found, found_end) = run(lowered.program.verified(), second);
        let most = expected.tasks.len().min(found.tasks.len());
        assert_eq!(expected.tasks[..most], found.tasks[..most], "seed {seed}: {text}");
        if !end.starts_with("Yielded") && !found_end.starts_with("Yielded") {
            assert_eq!((expected.tasks.len(), &end), (found.tasks.len(), &found_end), "seed {seed}: {text}");
        }
        (taken, tasks) = (taken + 1, tasks + most);
    }
    println!("{count} programs, of which {taken} are workloads, with {tasks} tasks");
    assert!(taken > count / 50 && tasks > 0, "{taken} of {count} programs are workloads, {tasks} tasks");
}
