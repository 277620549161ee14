//! Nanoseconds per descriptor that splits take: `cargo run --release -p wsp-cpu --example split_speed`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use wsp_core::DType;
use wsp_cpu::{Capacity, LaunchOptions, Program};
use wsp_diag::SourceMap;
use wsp_kernel::Engine;
use wsp_plan::{Array, Arrays, CompileOptions, lower};

const SOURCE: &str = "
PTO_SHAPE(lens, batch_size)
PTO_PARAM(uint32_t, heads, 8)
PTO_SPACE(Chunks) {
    PTO_AXIS(batch, 0, batch_size)
    PTO_AXIS(head, 0, heads)
    PTO_AXIS(chunk, 0, PTO_DYNAMIC)
    PTO_TILE(chunk, PTO_AUTO)
}
PTO_SCHEDULE(Balanced) { PTO_SPLIT(chunk, PTO_BALANCED) }
PTO_SCHEDULE(LongestFirst) { PTO_SPLIT(chunk, PTO_BALANCED) PTO_ORDER(batch, PTO_LONGEST_FIRST) }
PTO_SCHEDULE(Fixed) { PTO_SPLIT(chunk, PTO_FIXED(2048)) }
PTO_SCHEDULE(Whole) { PTO_SPLIT(chunk, PTO_WHOLE) }
struct Chunk { uint32_t b, h, index, begin, end, count, len, zero; };
PTO_DESCRIPTOR_GEN(Chunks) {
    PTO_SET_EXTENT(chunk, lens);
    PTO_APPLY_SCHEDULE(Balanced);
    PTO_SCHEDULED_FOR(b, h, c) {
        PTO_EMIT_DESCRIPTOR(Chunk{
            .b = b, .h = h, .index = c, .begin = PTO_ITEM_BEGIN(chunk), .end = PTO_ITEM_END(chunk),
            .count = PTO_ITEM_COUNT(chunk), .len = lens[b], .zero = 0,
        });
    }
}
PTO_KERNEL_IMPL(work) { auto desc = PTO_GET_DESCRIPTOR<Chunk>(); }
void run(uint32_t* lens) { PTO_LAUNCH(Chunks, { .lens = lens }); }
";

fn main() {
    let batches =
        [256u32, 4096].map(|n| (n, (0..n).map(|i| 1 + i.wrapping_mul(2_654_435_761) % 8000).collect()));
    for (requests, lengths) in batches {
        let lengths: Vec<u32> = lengths;
        let mut array = Array::zeros(DType::U32, &[u64::from(requests)]).unwrap();
        array.as_slice_mut::<u32>().unwrap().copy_from_slice(&lengths);
        let arrays = Arrays::from([("lens".to_owned(), array)]);
        for schedule in ["Balanced", "LongestFirst", "Fixed", "Whole"] {
            for engine in [Engine::Interpreter, Engine::Auto] {
                let (module, findings) = wsp_lang::compile("speed.pto", SOURCE, &mut SourceMap::default());
                let compile =
                    CompileOptions { schedule: Some(schedule.to_owned()), ..CompileOptions::default() };
                let program =
                    Program::new(lower(&module.unwrap_or_else(|| panic!("{findings:?}")), &compile).unwrap());
                let options = LaunchOptions { engine, ..LaunchOptions::default() };
                let mut plan = program.plan(&arrays, &options, Capacity::Exact).unwrap();
                let mut best = u64::MAX;
                for _ in 0..200 {
                    plan.regenerate().unwrap();
                    best = best.min(plan.generated_ns());
                }
                let descriptors = plan.need().descriptors;
                println!(
                    "{requests:5} requests, {schedule:12}, {engine:?}: {descriptors} descriptors, {:.1} us, {:.1} ns each",
                    best as f64 / 1e3,
                    best as f64 / descriptors as f64,
                );
            }
        }
    }
}
