//! The decode example: what its kernels touch and how its work is ordered.

use crate::support::machine::{Event, Machine};
use wsp_core::AccessKind;
use wsp_diag::SourceMap;
use wsp_ir::*;
use wsp_plan::{Bound, CompileOptions, LoweredPlan, TensorUse, lower, slot_layout};

const HEADS: u32 = 2;
const RATIO: u32 = 4;
const DIM: u32 = 16;

fn plan() -> LoweredPlan {
    let text = include_str!("../../../../examples/decode_attention.pto");
    let (module, found) = wsp_lang::compile("decode_attention.pto", text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:#?}"));
    lower(&module, &CompileOptions::default()).unwrap_or_else(|d| panic!("{d:#?}"))
}

/// The machine with the parameters of a small launch.
fn machine<'a>(plan: &'a LoweredPlan, lens: &[u32], chunk: u32) -> Machine<'a> {
    let mut machine = Machine::new(&plan.module);
    machine.lengths = lens.to_vec();
    for i in 0..plan.module.params.len() {
        let param = &plan.module.params[i];
        let derived = match &param.source {
            ParamSource::Derived(e) if param.ty == ScalarTy::U32 => machine.u32(e).ok(),
            _ => None,
        };
        machine.params[i] = match param.name.as_str() {
            "batch_size" => lens.len() as u32,
            "num_qo_heads" => HEADS * RATIO,
            "num_kv_heads" => HEADS,
            "HEAD_DIM" => DIM,
            "chunk" => chunk,
            _ => derived.unwrap_or(0),
        };
    }
    machine
}

/// The regions of a tensor for one descriptor; `None` for a dimension taken whole.
fn regions(
    plan: &LoweredPlan,
    kernel: &str,
    tensor: &str,
    mode: AccessKind,
    fields: &[u32],
) -> Vec<Vec<Option<(u32, u32)>>> {
    let mut machine = machine(plan, &[100, 100], 8);
    machine.fields = fields.to_vec();
    let func = plan.module.function_named(kernel).expect("the kernel should exist");
    let tensor = plan.module.tensor_named(tensor).expect("the tensor should exist");
    let of_tensor = plan.accesses[func.index()].iter().filter(|a| a.tensor == tensor && a.mode == mode);
    let mut out = Vec::new();
    for access in of_tensor {
        if access.guard.as_ref().is_some_and(|g| machine.eval(g) == Ok(0)) {
            continue;
        }
        let bounds = access.bounds.iter().map(|bound| match bound {
            Bound::All => None,
            Bound::Range { lo, hi } => Some((machine.u32(lo).expect("lo"), machine.u32(hi).expect("hi"))),
        });
        out.push(bounds.collect());
    }
    out
}

fn slot(plan: &LoweredPlan) -> u32 {
    machine(plan, &[1], 1).u32(&slot_layout(&plan.module).total).expect("the slot size should have a value")
}

/// tier, batch, chunk, head, start, end, chunks, workspace.
fn chunk_task(num_chunks: u32) -> [u32; 8] {
    [0, 1, 2, 1, 16, 24, num_chunks, 4096]
}

const TIERS: [&str; 4] = ["decode_kernel_2k", "decode_kernel_8k", "decode_kernel_64k", "decode_kernel_128k"];

#[test]
fn a_chunk_reads_its_own_query_heads_and_tokens() {
    let plan = plan();
    for kernel in TIERS {
        let task = chunk_task(5);
        let q = regions(&plan, kernel, "q", AccessKind::Read, &task);
        assert_eq!(q, [[Some((1, 2)), Some((RATIO, 2 * RATIO)), Some((0, 1)), Some((0, DIM))]]);
        for cache in ["k_cache", "v_cache"] {
            let tokens = regions(&plan, kernel, cache, AccessKind::Read, &task);
            assert_eq!(tokens, [[Some((1, 2)), Some((16, 24)), Some((1, 2)), Some((0, DIM))]]);
        }
        let mut empty = task;
        empty[5] = 16;
        assert!(regions(&plan, kernel, "k_cache", AccessKind::Read, &empty).is_empty());
    }
}

#[test]
fn a_chunk_of_several_writes_exactly_its_slot() {
    let plan = plan();
    for kernel in TIERS {
        let task = chunk_task(5);
        for partial in ["partial_o", "partial_m", "partial_d"] {
            let written = regions(&plan, kernel, partial, AccessKind::Write, &task);
            assert_eq!(written.len(), 1);
            assert_eq!(written[0][0], Some((4096, 4096 + slot(&plan))));
        }
        assert!(regions(&plan, kernel, "output", AccessKind::Write, &task).is_empty());
        assert!(regions(&plan, kernel, "lse", AccessKind::Write, &task).is_empty());
    }
}

#[test]
fn an_only_chunk_writes_the_output_of_its_heads() {
    let plan = plan();
    for kernel in TIERS {
        let task = chunk_task(1);
        let output = regions(&plan, kernel, "output", AccessKind::Write, &task);
        assert_eq!(output, [[Some((1, 2)), Some((RATIO, 2 * RATIO)), Some((0, 1)), Some((0, DIM))]]);
        let lse = regions(&plan, kernel, "lse", AccessKind::Write, &task);
        assert_eq!(lse, [[Some((1, 2)), Some((RATIO, 2 * RATIO))]]);
        assert!(regions(&plan, kernel, "partial_o", AccessKind::Write, &task).is_empty());
    }
}

#[test]
fn a_merge_reads_the_slots_of_its_chunks_and_no_others() {
    let plan = plan();
    let size = slot(&plan);
    assert_eq!(size % 64, 0);
    // batch, head, chunks, workspace.
    let read = regions(&plan, "merge_partial_outputs", "partial_o", AccessKind::Read, &[1, 0, 7, 4096]);
    assert_eq!(read, [[Some((4096, 4096 + 7 * size)), Some((0, RATIO)), Some((0, DIM))]]);
    let output = regions(&plan, "merge_partial_outputs", "output", AccessKind::Write, &[1, 0, 7, 4096]);
    assert_eq!(output, [[Some((1, 2)), Some((0, RATIO)), Some((0, 1)), Some((0, DIM))]]);
    assert!(
        regions(&plan, "merge_partial_outputs", "partial_o", AccessKind::Read, &[1, 0, 0, 4096]).is_empty()
    );
}

#[test]
fn tensors_are_inputs_outputs_or_both() {
    let plan = plan();
    let of =
        |name: &str| plan.tensors[plan.module.tensor_named(name).expect("the tensor should exist").index()];
    for input in ["q", "k_cache", "v_cache"] {
        assert_eq!(of(input), TensorUse { read: true, written: false }, "{input}");
    }
    for output in ["output", "lse"] {
        assert_eq!(of(output), TensorUse { read: false, written: true }, "{output}");
    }
    assert_eq!(of("partial_o"), TensorUse { read: true, written: true });
}

#[test]
fn batches_take_turns_chunk_by_chunk() {
    let plan = plan();
    let mut machine = machine(&plan, &[16, 0, 8, 20, 8], 8);
    machine.run(plan.stages[0].generator).expect("the generator should run");
    let mut items = Vec::new();
    for event in &machine.events {
        let Event::Emit { fields, affinity, prefetch, .. } = event else { continue };
        match fields.as_slice() {
            [_, batch, chunk, head, start, end, ..] => {
                items.push(format!("b{batch}c{chunk}h{head} {start}..{end}"));
                assert_eq!(affinity, &[(AffinityPolicy::CoreGroup, *batch)]);
                assert_eq!(prefetch, &[(*batch, 1, vec![*chunk, *head])]);
            }
            [batch, head, chunks, _] => items.push(format!("merge b{batch}h{head} of {chunks}")),
            other => panic!("{other:?}"),
        }
    }
    let expected = [
        "b0c0h0 0..8",
        "b0c0h1 0..8",
        "b1c0h0 0..0",
        "b1c0h1 0..0",
        "b2c0h0 0..8",
        "b2c0h1 0..8",
        "b3c0h0 0..8",
        "b3c0h1 0..8",
        "b0c1h0 8..16",
        "merge b0h0 of 2",
        "b0c1h1 8..16",
        "merge b0h1 of 2",
        "b3c1h0 8..16",
        "b3c1h1 8..16",
        "b3c2h0 16..20",
        "merge b3h0 of 3",
        "b3c2h1 16..20",
        "merge b3h1 of 3",
        "b4c0h0 0..8",
        "b4c0h1 0..8",
    ];
    assert_eq!(items, expected);
}

#[test]
fn workspace_is_reserved_for_all_chunks_of_a_head_at_once() {
    let plan = plan();
    let mut machine = machine(&plan, &[20], 8);
    machine.run(plan.stages[0].generator).expect("the generator should run");
    let allocs: Vec<(Vec<u32>, u32, u32)> = machine
        .events
        .iter()
        .filter_map(|e| match e {
            Event::Alloc { key, count, index } => Some((key.clone(), *count, *index)),
            _ => None,
        })
        .collect();
    // Three chunks and a merge for each of two heads.
    assert_eq!(allocs.len(), 8);
    assert!(allocs.iter().all(|(key, count, index)| key[0] == 0 && *count == 3 && index < count));
}
