//! Nanoseconds per task that elaboration takes: `cargo run --release -p wsp-plan --example expand_speed [FILE NAME=N …]`.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::time::Instant;
use wsp_core::SlotId;
use wsp_diag::SourceMap;
use wsp_ir::workload::text;
use wsp_ordered::OrderedMap;
use wsp_plan::ParamValue;
use wsp_plan::target::CPU_SIM;
use wsp_plan::workload::{TaskRecord, TaskSink, bind, count, expand, lower_schedule};

/// Looks at every region, so that none can be left out.
struct Fold(u64);

impl TaskSink for Fold {
    type Error = ();

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), ()> {
        for region in task.reads.iter().chain(task.writes) {
            self.0 = self.0.wrapping_mul(31).wrapping_add(u64::from(region.lo[0] ^ region.hi[1]));
        }
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, ()> {
        Ok(0)
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| "examples/graphs/llama_table.wsp".to_owned());
    let pairs = args.filter_map(|arg| {
        let (name, value) = arg.split_once('=')?;
        Some((name.to_owned(), ParamValue::Int(value.parse().ok()?)))
    });
    let mut set: Vec<_> = pairs.collect();
    if set.is_empty() {
        set.push(("seq".to_owned(), ParamValue::Int(16384)));
    }
    let source = std::fs::read_to_string(&file).expect("the file should be readable");
    let (module, _) = text::parse(&file, &source, &mut SourceMap::default());
    let module = module.expect("the file should have no errors");
    let bindings = bind(&module, &set, &OrderedMap::new()).expect("values should be given");
    let schedule = lower_schedule(&module, None, CPU_SIM).expect("the schedule should be supported");
    println!("{file}: {:?} tasks counted", count(&module, &bindings));
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        let mut sink = Fold(0);
        let stats = expand(&module, &bindings, &schedule, &mut sink).expect("no fault");
        let nanos = start.elapsed().as_nanos() as f64 / stats.tasks.max(1) as f64;
        best = best.min(nanos);
        std::hint::black_box(sink.0);
    }
    println!("{best:.2} ns per task, the best of 20 runs");
}
