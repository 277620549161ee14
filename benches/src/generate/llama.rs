//! The attention of LLaMA-7B: 33,554,432 tasks as a program, and as a list.

use super::super::runtime::measure::{Moment, median, resident_bytes};
use super::super::runtime::table::{Row, Target};
use super::Plan;
use super::aicpu::{Until, run};
use super::nest::Nest;
use std::convert::Infallible;
use std::hint::black_box;
use wsp_core::SlotId;
use wsp_core::pod::{TaskIo, TaskNodePod};
use wsp_core::ptow::interp::Mode;
use wsp_plan::ptow::{HostList, LaunchData, transfer};
use wsp_plan::workload::{TaskRecord, TaskSink, expand};
use zerocopy::IntoBytes;

/// The program that is measured.
const SOURCE: &str = include_str!("../../../examples/generate/llama_attention.wsp");
/// AICPUs of a 910B.
const AICPUS: u16 = 8;
/// Threads that drive them.
const THREADS: u32 = 2;
/// Tiles of a sequence are so many tokens.
const TILE: u32 = 32;
/// Bytes asked for: of the program, and with one configuration.
const PROGRAM_BYTES: f64 = 512.0;
const CONFIGURED_BYTES: f64 = 1024.0;
/// Microseconds asked for from the launch to the first task.
const FIRST_TASK_US: f64 = 100.0;
/// Bytes that a list is written through: all of it would not fit into the memory of most machines.
const BUFFER: usize = 64 << 20;

/// Measures sizes, times and memory.
pub(super) fn rows(plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let nest = Nest::new(SOURCE, &[("seq", plan.seq.into())])?;
    let tiles = u64::from(plan.seq / TILE);
    let tasks = 4 * 32 * tiles * tiles;
    let launch = LaunchData::new(&nest.lowered, &nest.module, &nest.bindings);
    let bytes = transfer(&nest.lowered.program, &launch, AICPUS);
    let list = HostList::new(tasks, 2 * tasks, 4 * tasks);
    let list_bytes = |ours: u64, measure, target| Row {
        ours: ours as f64,
        target,
        peers: vec![None, None, Some(list.rows as f64)],
        ..Row::plain("llama", AICPUS.into(), measure)
    };
    row(list_bytes(bytes.program, "program bytes", Some(Target::AtMost(PROGRAM_BYTES))));
    row(list_bytes(bytes.program_and_config(), "+ config bytes", Some(Target::AtMost(CONFIGURED_BYTES))));
    row(list_bytes(bytes.total(), "launch bytes", None));
    row(share(&nest, plan, tasks)?);
    row(first_task(&nest, plan)?);
    row(memory(plan, list.rows)?);
    Ok(())
}

/// What one AICPU needs for its own tasks, beside what the host needs for the list of all.
fn share(nest: &Nest, plan: &Plan, tasks: u64) -> Result<Row, String> {
    let config = nest.config(AICPUS, AICPUS / 2)?;
    let (mut ours, mut host) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let took = nest.generate(&config, Mode::Skip)?;
        ours.push(took.ns / 1e6);
        let start = Moment::now();
        let listed = write_list(nest)?;
        host.push(start.to(Moment::now()).wall / 1e6);
        if listed != tasks {
            return Err(format!("the list has {listed} tasks, not {tasks}"));
        }
    }
    Ok(Row {
        ours: median(ours),
        peers: vec![None, None, Some(median(host))],
        ..Row::plain("llama", AICPUS.into(), "generate ms")
    })
}

/// From the launch to the first task, beside the time that the host needs before there is a list.
fn first_task(nest: &Nest, plan: &Plan) -> Result<Row, String> {
    let (mut ours, mut host) = (Vec::new(), Vec::new());
    for round in 0..=plan.rounds {
        let ns = run(nest, AICPUS, THREADS, Until::FirstTask)?;
        if round > 0 {
            ours.push(ns as f64 / 1e3);
        }
    }
    let start = Moment::now();
    write_list(nest)?;
    host.push(start.to(Moment::now()).wall / 1e3);
    Ok(Row {
        ours: median(ours),
        target: Some(Target::AtMost(FIRST_TASK_US)),
        peers: vec![None, None, Some(median(host))],
        ..Row::plain("llama", AICPUS.into(), "first task us")
    })
}

/// Memory that a run of four times as many tasks adds.
fn memory(plan: &Plan, list: u64) -> Result<Row, String> {
    let small = Nest::new(SOURCE, &[("seq", (plan.seq / 16).max(TILE).into())])?;
    let large = Nest::new(SOURCE, &[("seq", (plan.seq / 8).max(TILE).into())])?;
    run(&small, AICPUS, THREADS, Until::End)?;
    let before = resident_bytes();
    run(&large, AICPUS, THREADS, Until::End)?;
    let grown = (resident_bytes() - before).max(0.0);
    Ok(Row {
        ours: grown / f64::from(1 << 20),
        target: Some(Target::AtMost(1.0)),
        peers: vec![None, None, Some(list as f64 / f64::from(1 << 20))],
        ..Row::plain("llama", AICPUS.into(), "memory growth MiB")
    })
}

/// Writes every task as rows of a task graph, through a buffer that is used again; how many there were.
fn write_list(nest: &Nest) -> Result<u64, String> {
    let mut list = Writing { buffer: Vec::with_capacity(BUFFER), tasks: 0 };
    let expanded = expand(&nest.module, &nest.bindings, &nest.schedule, &mut list);
    expanded.map_err(|_| "expansion failed".to_owned())?;
    Ok(list.tasks)
}

/// A list under way.
struct Writing {
    buffer: Vec<u8>,
    tasks: u64,
}

impl Writing {
    fn write(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > BUFFER {
            black_box(&self.buffer);
            self.buffer.clear();
        }
        self.buffer.extend_from_slice(bytes);
    }
}

impl TaskSink for Writing {
    type Error = Infallible;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Infallible> {
        let node = TaskNodePod { id: task.ordinal as u32, kernel: task.kernel.0, ..TaskNodePod::default() };
        self.write(node.as_bytes());
        self.write(task.scalars.as_bytes());
        for region in task.regions {
            let mut io = TaskIo::default();
            io.region.base = region.tensor.0.into();
            (io.region.row_off, io.region.rows) = (region.lo[2] as i32, (region.hi[2] - region.lo[2]) as i32);
            self.write(io.as_bytes());
        }
        self.tasks += 1;
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, Infallible> {
        Ok(0)
    }
}
