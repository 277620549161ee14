//! What a trace takes: bytes of records and files, time to write them, and time of a run that records.

use super::{Plan, in_virtual_time, layer};
use crate::runtime::bodies::Count;
use crate::runtime::measure::{Moment, Span, median};
use crate::runtime::table::Target;
use crate::runtime::{Row, text};
use wsp_core::KernelId;
use wsp_report::{Edges, Form, write_trace};
use wsp_runtime::timeline::{Heading, TaskRecord, Timeline};
use wsp_runtime::{Deps, RunConfig, TaskGraph, TaskSpec, TracePolicy};

/// Bytes that are asked of a task in memory, without its edges and indices.
const RECORD_BYTES: f64 = 48.0;
/// Bytes that are asked of a task in a file.
const FILE_BYTES: f64 = 80.0;
/// Nanoseconds that are asked of a traced task more than of one that is not.
const TRACE_NS: f64 = 30.0;
/// Nanoseconds that are asked of a task of a report: 2 s for 10^6.
const REPORT_NS: f64 = 2000.0;
/// Tasks for each pass of the outer loop of the layer, to have indices.
const PER_PASS: u32 = 3;

/// Measures files of a simulated layer, and runs of empty tasks.
///
/// # Errors
/// A run failed.
pub(super) fn rows(plan: &Plan, emit: &mut dyn FnMut(Row)) -> Result<(), String> {
    let record = size_of::<TaskRecord>() as f64;
    let bytes = |name, ours, most| Row {
        ours,
        target: Some(Target::AtMost(most)),
        ..Row::plain(name, 1, "bytes/task")
    };
    emit(bytes("record", record, RECORD_BYTES));
    for (name, is_table) in [("llama_table", true), ("llama_flat", false)] {
        let graph = layer(plan.seq, is_table)?;
        let simulation = in_virtual_time(&graph)?;
        let kernels = (0..16).map(|kernel| format!("kernel_{kernel}")).collect();
        let heading = Heading { program: name.to_owned(), workers: simulation.workers.len() as u32, kernels };
        let mut timeline = Timeline::of_simulation(heading, &graph, &simulation);
        for task in 0..timeline.tasks.len() as u32 {
            timeline.indices.push([task / PER_PASS / 256, task / PER_PASS % 256]);
        }
        let tasks = timeline.tasks.len() as f64;
        let (mut spans, mut file) = (Vec::new(), Vec::new());
        for _ in 0..=plan.rounds {
            file.clear();
            let start = Moment::now();
            write_trace(&timeline, Form::Perfetto, Edges::Last, &mut file).map_err(text)?;
            spans.push(start.to(Moment::now()).over(tasks));
        }
        emit(bytes(name, file.len() as f64 / tasks, FILE_BYTES));
        let Span { wall, cpu } = Span::median(&spans[1..]);
        emit(Row { ours: wall, cpu: Some(cpu), ..Row::plain(name, 1, "write ns/task") });
        let mut pages = Vec::new();
        for _ in 0..=plan.rounds {
            file.clear();
            let start = Moment::now();
            wsp_report::write(&[(name, &timeline)], &mut file).map_err(text)?;
            pages.push(start.to(Moment::now()).over(tasks));
        }
        let Span { wall, cpu } = Span::median(&pages[1..]);
        let target = Some(Target::AtMost(REPORT_NS));
        emit(Row { ours: wall, cpu: Some(cpu), target, ..Row::plain(name, 1, "report ns/task") });
    }
    for workers in [1, 2] {
        traced(workers, plan)?.into_iter().for_each(&mut *emit);
    }
    Ok(())
}

/// What a task of a run costs more when it is traced, while the run lasts and with what is gathered after it: two runs in turn, so that both see the
/// same machine. One worker runs tasks without queues where nothing is traced, which is part of the difference.
fn traced(workers: u32, plan: &Plan) -> Result<[Row; 2], String> {
    let mut graph = TaskGraph::new(Deps::Explicit);
    for _ in 0..plan.tasks {
        graph.submit(TaskSpec { kernel: KernelId(0), ..TaskSpec::default() }).map_err(text)?;
    }
    let count = Count::new(workers);
    let mut run = |trace| {
        let config = RunConfig { threads: workers, deps: Deps::Explicit, trace, ..RunConfig::default() };
        let start = Moment::now();
        let stats = graph.run(&config, &count).map_err(text)?;
        let span = start.to(Moment::now());
        count.expect(plan.tasks, 1)?;
        Ok::<[f64; 2], String>([stats.wall_ns as f64, span.wall].map(|ns| ns / f64::from(plan.tasks)))
    };
    let mut more = [Vec::new(), Vec::new()];
    for round in 0..=plan.rounds {
        let (plain, traced) = (run(TracePolicy::None)?, run(TracePolicy::Measured)?);
        if round > 0 {
            (0..2).for_each(|at| more[at].push(traced[at] - plain[at]));
        }
    }
    let [ours, gathered] = more.map(median);
    let row = |measure| Row::plain("independent", workers, measure);
    let target = Some(Target::AtMost(TRACE_NS));
    Ok([Row { ours, target, ..row("trace ns/task") }, Row { ours: gathered, ..row("and gather ns/task") }])
}
