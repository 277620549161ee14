//! What a task costs on AICPUs that generate their own tasks, in nanoseconds, by the kind of dependence and the number
//! of AICPUs.
//!
//! `cargo run --release -p wsp-runtime --example aicpu_speed [TASKS]`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use wsp_core::{AccessKind, KernelId, Region, TaskId, TensorId};
use wsp_runtime::TaskRunner;
use wsp_runtime::aicpu::{
    AfterEdges, AicpuConfig, AicpuTask, Aicpus, Emit, Generator, Need, NoSlots, Progress,
};

/// Cells that the tasks go round.
const CELLS: u64 = 1 << 12;

#[derive(Clone, Copy, Debug)]
enum Order {
    /// None.
    Free,
    /// Each task updates the cell of the task [`CELLS`] before it.
    Regions,
    /// The same, by counts.
    Counts,
    /// Each task reads what the task before it wrote.
    Chain,
}

/// Generates every n-th task.
struct Strided {
    next: u64,
    stride: u64,
    tasks: u64,
    order: Order,
}

fn cell(at: u64) -> Region {
    let at = (at % CELLS) as u32;
    Region::new(TensorId(0), &[at], &[at + 1]).expect("one dimension")
}

impl Generator for Strided {
    type Fault = ();

    fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<()> {
        for _ in 0..free {
            let ordinal = self.next;
            if ordinal >= self.tasks {
                return Progress::Finished;
            }
            let task = AicpuTask { ordinal, payload: &[1, 2], ..AicpuTask::default() };
            let own = [cell(ordinal)];
            let before = [cell(ordinal.wrapping_sub(1))];
            let need = [Need {
                counter: (ordinal % CELLS) as u32,
                access: AccessKind::Write,
                reached: ordinal / CELLS,
            }];
            let taken = match self.order {
                Order::Free => out.task(&task),
                Order::Regions => out.task(&AicpuTask { writes: &own, ..task }),
                Order::Counts => out.task(&AicpuTask { needs: &need, ..task }),
                Order::Chain => out.task(&AicpuTask { reads: &before, writes: &own, ..task }),
            };
            if taken.is_err() {
                return Progress::More;
            }
            self.next += self.stride;
        }
        Progress::More
    }

    fn watermark(&self) -> u64 {
        if self.next >= self.tasks { u64::MAX } else { self.next }
    }
}

struct Nothing;

impl TaskRunner for Nothing {
    type Failure = ();

    fn run(&self, _: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
        Ok(())
    }
}

fn main() {
    let tasks = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    for order in [Order::Free, Order::Regions, Order::Counts, Order::Chain] {
        for (aicpus, threads) in [(1, 1), (4, 1), (2, 2), (16, 2)] {
            let generator = |next| Strided { next, stride: aicpus, tasks, order };
            let config = AicpuConfig {
                threads,
                counters: CELLS as u32,
                after: AfterEdges::Absent,
                ..AicpuConfig::default()
            };
            let mut run = match Aicpus::new(&config, aicpus as u32) {
                Ok(aicpus) => aicpus,
                Err(fault) => return println!("{fault}"),
            };
            match run.run((0..aicpus).map(generator).collect(), &Nothing, &NoSlots) {
                Ok(stats) => println!(
                    "{order:?}, {aicpus} AICPUs, {threads} threads: {} ns per task, {} cross edges",
                    stats.wall_ns / tasks.max(1),
                    stats.total(|aicpu| aicpu.cross_edges),
                ),
                Err(failure) => println!("{order:?}: {failure:?}"),
            }
        }
    }
}
