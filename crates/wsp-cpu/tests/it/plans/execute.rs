//! Running a plan gives what running the program gives.

use super::data::{DECODE, arrays, bits, options, program, report};
use proptest::prelude::*;
use wsp_cpu::Capacity;

/// Two stages of which the second reads what the first wrote, with fences and hints.
const STAGES: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SHAPE(z, n)
PTO_PARAM(uint32_t, rounds, 3)
PTO_SPACE(First) { PTO_AXIS(i, 0, n) PTO_TILE(i, 8) }
PTO_SPACE(Second) { PTO_AXIS(j, 0, n) PTO_TILE(j, 4) }
struct Part { uint32_t first; };
struct Copy { uint32_t first; };
PTO_SCHEDULE(Near) { PTO_AFFINITY(i, PTO_CORE_GROUP) PTO_PREFETCH(i, 1) }
PTO_SCHEDULE(InTurn) { PTO_ORDER(j, PTO_SEQUENTIAL_STRICT) }
PTO_DESCRIPTOR_GEN(First) {
    PTO_APPLY_SCHEDULE(Near);
    PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(Part{ .first = tile * 8 }); }
}
PTO_DESCRIPTOR_GEN(Second) {
    PTO_APPLY_SCHEDULE(InTurn);
    PTO_SCHEDULED_FOR(tile) {
        for (uint32_t r = 0; r < rounds; ++r) {
            PTO_EMIT_DESCRIPTOR(Copy{ .first = tile * 4 });
        }
    }
}
PTO_KERNEL_IMPL(twice) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 8, 1> t;
    TLOAD(t, x, {part.first});
    TMULS(t, t, 2.0f);
    TSTORE(y, t, {part.first});
}
PTO_KERNEL_IMPL(add) {
    auto copy = PTO_GET_DESCRIPTOR<Copy>();
    VecTile<float, 4, 1> t;
    VecTile<float, 4, 1> u;
    TLOAD(t, y, {copy.first});
    TLOAD(u, z, {copy.first});
    TADD(u, u, t);
    TSTORE(z, u, {copy.first});
}
PTO_GRAPH(Both) { PTO_STAGE(a, First) PTO_STAGE(b, Second) PTO_DEPENDENCY(b.y, a.y) }
void run(Tensor<float> x, Tensor<float> y, Tensor<float> z) {
    PTO_LAUNCH(Both, { .x = x, .y = y, .z = z });
}
";

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_gives_the_bits_of_the_program(
        lengths in prop::collection::vec(0u32..700, 0..6),
        chunk in prop::sample::select(vec![0u32, 64, 100, 256, 4096]),
        cores in 1u32..40,
    ) {
        let (program, options) = (program(DECODE, cores), options(chunk));
        let given = arrays(&lengths, 1);
        let plan = program.plan(&given, &options, Capacity::Exact).unwrap_or_else(|f| panic!("{}", report(&f)));
        let report_of_program = program.explain(&given, &options).unwrap();
        prop_assert_eq!(plan.workspace_bytes(), report_of_program.workspace_bytes);
        let want: Vec<_> = report_of_program.list.iter().map(|d| (d.stage, d.descriptor, d.words.clone())).collect();
        let have: Vec<_> = plan.descriptors().map(|d| (d.stage, d.descriptor, d.words.to_vec())).collect();
        prop_assert_eq!(have, want);
        // As for layers: other data, the same lengths.
        for seed in [1, 2] {
            let given = arrays(&lengths, seed);
            let want = program.execute(&given, &options).unwrap();
            let have = program.execute_plan(&plan, &given, &options).unwrap_or_else(|f| panic!("{}", report(&f)));
            prop_assert_eq!(bits(&have.outputs), bits(&want.outputs));
            prop_assert_eq!(have.stats.descriptors, want.stats.descriptors);
            prop_assert_eq!(have.stats.workspace_bytes, want.stats.workspace_bytes);
            prop_assert_eq!(have.stats.workspace_slots, want.stats.workspace_slots);
        }
    }
}

#[test]
fn stages_run_in_their_order() {
    let program = program(STAGES, 8);
    let mut x = wsp_plan::Array::zeros(wsp_core::DType::F32, &[40]).unwrap();
    let values = x.as_slice_mut::<f32>().unwrap();
    values.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32);
    let mut z = x.clone();
    z.as_slice_mut::<f32>().unwrap().fill(0.5);
    let given = wsp_plan::Arrays::from([("x".to_owned(), x), ("z".to_owned(), z)]);
    let options = wsp_cpu::LaunchOptions { threads: 3, ..wsp_cpu::LaunchOptions::default() };
    let plan = program.plan(&given, &options, Capacity::Exact).unwrap_or_else(|f| panic!("{}", report(&f)));
    assert_eq!(plan.need().descriptors, 5 + 3 * 10);
    assert_eq!(plan.descriptors().map(|d| d.stage).collect::<Vec<_>>(), [vec![0; 5], vec![1; 30]].concat());
    for _ in 0..3 {
        let outcome = program.execute_plan(&plan, &given, &options).unwrap();
        let want: Vec<f32> = (0..40).map(|i| 0.5 + 6.0 * i as f32).collect();
        assert_eq!(outcome.outputs["z"].as_slice::<f32>().unwrap(), want);
    }
}
