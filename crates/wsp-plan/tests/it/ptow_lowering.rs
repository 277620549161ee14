//! What lowering makes of workloads and schedules: sizes, layouts, and what does not fit.

use crate::workload_support::{bound, module, schedule, try_bind};
use wsp_core::ptow::{AxisForm, DispatchConfig, Op, PolicyType, XOp};
use wsp_core::{AxisId, KernelId, ParamId, TableId, TensorId};
use wsp_diag::Code;
use wsp_ir::workload::ExecPool;
use wsp_plan::ptow::{
    DispatchPlan, HostList, LaunchData, Lowered, ProgramBuf, VarKind, dispatch_configs, lower, statements,
    transfer,
};

/// Attention of LLaMA-7B: 4 x 32 x 512 x 512 tasks with the values of [`LLAMA`].
const ATTENTION: &str = "
    param batch = 4; param heads = 32; param q_tiles = 512; param kv_tiles = 512; param T = 32;
    axis b = dense_dyn(batch); axis h = dense_dyn(heads); axis q = dense_dyn(q_tiles); axis kv = dense_dyn(kv_tiles);
    tensor Q: bf16[batch, heads, q_tiles * T, 128]; tensor K: bf16[batch, heads, kv_tiles * T, 128];
    tensor V: bf16[batch, heads, kv_tiles * T, 128]; tensor O: bf16[batch, heads, q_tiles * T, 128];
    kernel attn(bi, hi, qi, ki, in q, in k, in v, inout o) on cube;
    workload main {
        parallel for i in b { parallel for j in h { parallel for m in q { parallel for n in kv {
            attn(i, j, m, n, Q[i, j, m * T +: T, ..], K[i, j, n * T +: T, ..], V[i, j, n * T +: T, ..],
                 O[i, j, m * T +: T, ..]);
        } } } }
    }";

fn lowered(source: &str) -> Lowered {
    let module = module(source);
    lower(&module, &schedule(&module)).unwrap_or_else(|found| panic!("{found:?}"))
}

/// Instructions without extension words.
fn ops(lowered: &Lowered) -> Vec<Op> {
    let verified = lowered.program.verified();
    let words = verified.program().words.iter();
    words.filter_map(|word| Op::from_code(word.opcode)).filter(|op| *op != Op::ExtWord).collect()
}

/// The words of the expressions of a program.
fn xops(lowered: &Lowered) -> Vec<(XOp, u32)> {
    let verified = lowered.program.verified();
    let words = verified.program().exprs.iter();
    words.map(|word| (XOp::from_code(word.opcode).expect("verified"), word.operand2)).collect()
}

#[test]
fn attention_of_llama_7b_is_half_a_kilobyte() {
    let lowered = lowered(ATTENTION);
    let stripped = lowered.program.strip_names();
    assert!(stripped.as_bytes().len() <= 512, "{} bytes", stripped.as_bytes().len());
    assert!(stripped.as_bytes().len() + size_of::<DispatchConfig>() <= 1024);
    assert!(lowered.program.as_bytes().len() <= 4096);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads the examples")]
fn the_example_of_attention_is_as_small() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/generate/llama_attention.wsp");
    let lowered = lowered(&std::fs::read_to_string(file).expect("the example is there"));
    let bytes = lowered.program.strip_names().as_bytes().len();
    assert!(bytes <= 512, "{bytes} bytes");
}

#[test]
fn a_nest_of_two_loops_and_a_task_is_at_most_160_bytes_of_instructions() {
    let lowered = lowered(
        "kernel k(b, h); axis b = dense(4); axis h = dense(8);
         workload main { parallel for i in b { parallel for j in h { k(i, j); } } }",
    );
    let verified = lowered.program.verified();
    assert!(size_of_val(verified.program().words) <= 160);
    let expected = [
        Op::ParallelFor,
        Op::Halt,
        Op::ParallelFor,
        Op::End,
        Op::Task,
        Op::ParamLoopvar,
        Op::ParamLoopvar,
        Op::End,
    ];
    assert_eq!(ops(&lowered), expected);
}

#[test]
fn the_bytes_are_the_same_for_every_size() {
    let module = module(ATTENTION);
    let lowered = lower(&module, &schedule(&module)).expect("it fits");
    let again = lower(&module, &schedule(&module)).expect("it fits");
    assert_eq!(lowered.program, again.program);
    let (small, large) =
        (bound(&module, &[("heads", 1), ("q_tiles", 5), ("kv_tiles", 5)]), bound(&module, &[]));
    let launches = [&small, &large].map(|bindings| LaunchData::new(&lowered, &module, bindings));
    let tasks = [&small, &large].map(|bindings| wsp_plan::workload::count(&module, bindings));
    assert_eq!(tasks, [Some(100), Some(33_554_432)]);
    let bytes = launches.each_ref().map(|launch| transfer(&lowered.program, launch, 3));
    assert_eq!(bytes[0], bytes[1]);
    let batch = lowered.values.iter().position(|param| *param == ParamId(0)).expect("it is used");
    assert_eq!(launches.each_ref().map(|launch| launch.as_launch().values[batch]), [4, 4]);
    assert_eq!(launches[1].as_launch().extents[0], [4, 32, 16384, 128, 1, 1]);
}

#[test]
fn a_launch_transfers_what_it_says() {
    let module = module(
        "param n = 3; table lens = [1, 2, 3]; tensor x: f32[n, 8]; axis b = dense(n); axis t = ragged(b, lens);
         kernel k(inout x); workload main { parallel for i in b { parallel for j in t[i] { k(x[i, j]); } } }",
    );
    let lowered = lower(&module, &schedule(&module)).expect("it fits");
    let bindings = bound(&module, &[]);
    let bytes = transfer(&lowered.program, &LaunchData::new(&lowered, &module, &bindings), 4);
    assert_eq!((bytes.configs, bytes.values, bytes.extents), (4 * 52, 8, 24));
    assert_eq!((bytes.table_rows, bytes.tables), (16, 24));
    assert_eq!(bytes.program + bytes.names, lowered.program.as_bytes().len() as u64);
    assert!(bytes.names > 0);
    assert_eq!(bytes.total(), bytes.program + 4 * 52 + 8 + 24 + 16 + 24);
}

#[test]
fn records_of_the_document_are_two_and_a_half_kilobytes() {
    assert_eq!(HostList::PENDING_TASK, 8 + 16 + 16 * 32 + 4 + 2048 + 4);
    let list = HostList::new(200_704, 0, 200_704 * 3);
    assert_eq!(list.pending_tasks, 200_704 * HostList::PENDING_TASK);
    assert_eq!(list.rows, 200_704 * (40 + 3 * 32));
}

#[test]
fn a_program_without_names_is_the_same_otherwise() {
    let lowered = lowered(ATTENTION);
    let stripped = lowered.program.strip_names();
    let (ours, theirs) = (lowered.program.verified(), stripped.verified());
    let (ours, theirs) = (ours.program(), theirs.program());
    assert_eq!((ours.value_name(0), theirs.value_name(0)), (Some("batch"), None));
    assert_eq!([0, 3, 4].map(|axis| ours.axis_name(axis)), [Some("b"), Some("kv"), None]);
    assert_eq!((ours.kernel_name(KernelId(0)), theirs.kernel_name(KernelId(0))), (Some("attn"), None));
    assert_eq!(ours.tensor_name(TensorId(3)), Some("O"));
    assert_eq!((ours.words, ours.exprs), (theirs.words, theirs.exprs));
    assert_eq!(stripped.strip_names(), stripped);
    assert_eq!(ProgramBuf::from_bytes(lowered.program.as_bytes()), Ok(lowered.program));
}

#[test]
fn bytes_that_are_no_program_are_refused() {
    let program = lowered(ATTENTION).program;
    let bytes = program.as_bytes();
    assert!(ProgramBuf::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    assert!(ProgramBuf::from_bytes(&[]).is_err());
    let mut wrong = bytes.to_vec();
    wrong[24] = 0xEE;
    let error = ProgramBuf::from_bytes(&wrong).expect_err("no instruction has this code");
    let diagnostic = error.diagnostic("`x.ptow`");
    assert_eq!((diagnostic.code, diagnostic.message.as_str()), (Code(897), "`x.ptow` is no valid program"));
    assert_eq!(diagnostic.notes, [error.to_string()]);
}

#[test]
fn equal_expressions_and_ranges_are_one() {
    let lowered = lowered(
        "tensor x: f32[64]; kernel k(in a, inout b);
         workload main {
             parallel for i in 0..4 { k(x[i * 8 +: 8], x[i * 8 +: 8]); }
             parallel for j in 0..4 { k(x[j * 8 +: 8], x[j * 8 +: 8]); }
         }",
    );
    let expected = [(XOp::XConst, 0), (XOp::XConst, 4), (XOp::XVar, 0), (XOp::XConst, 8), (XOp::XMul, 0)];
    assert_eq!(xops(&lowered), expected);
    assert_eq!(lowered.axes, [None]);
}

#[test]
fn arguments_that_are_plain_need_no_variable() {
    let lowered = lowered(
        "param n = 3; table t = [1, 2]; kernel k(a, b, c, d, e);
         workload inner(a, b, c, d, e) { k(a, b, c, d, e); }
         workload outer(a, b) { parallel for i in 0..2 { call inner(a, b, len(t), 5000000000, i); } }
         workload main { call outer(7, n); call inner(n + 1, 2, 3, 4, 5); }",
    );
    let of = |op| ops(&lowered).iter().filter(|other| **other == op).count();
    assert_eq!((of(Op::Let), of(Op::Task)), (1, 2));
    let of_site = |site: usize| lowered.vars(lowered.sites[site].word);
    let vars: Vec<(&str, VarKind)> = of_site(0).iter().map(|var| (var.name.as_str(), var.kind)).collect();
    assert_eq!(vars, [("i", VarKind::Range)]);
    assert_eq!(of_site(1)[0].kind, VarKind::Argument);
    assert!(of_site(0)[0].kind.is_index() && !of_site(1)[0].kind.is_index());
}

#[test]
fn sites_name_their_statements_and_words_their_places() {
    let source = "kernel a(); kernel b(); workload inner() { a(); if 1 { b(); } }
        workload main { call inner(); for i in 0..2 { a(); call inner(); } }";
    let module = module(source);
    let lowered = lower(&module, &schedule(&module)).expect("it fits");
    let statements = statements(&module);
    let verified = lowered.program.verified();
    let mut seen = Vec::new();
    for site in &lowered.sites {
        let word = verified.program().words[site.word as usize];
        let statement = &statements[site.statement as usize];
        assert_eq!(word.opcode, Op::Task.code());
        assert_eq!(word.operand1, statement.task.kernel.0);
        assert_eq!(lowered.spans[site.word as usize], statement.span);
        assert_eq!(lowered.site(site.word), Some(site));
        seen.push(site.statement);
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 0, 1, 1, 2]);
    assert_eq!(lowered.spans.len(), verified.program().words.len());
    assert!(lowered.site(u32::MAX).is_none());
}

#[test]
fn axes_have_the_forms_of_their_declarations() {
    let lowered = lowered(
        "param n = 4; table lens = [1, 2, 3, 4]; table ptr = [0, 1, 2, 2, 3]; table cols = [5, 6, 7];
         axis unused = dense(9); axis d = dense(n); axis s = dense(2, n * 2); axis v = dense_dyn(n);
         axis r = ragged(d, lens); axis p = sparse(d, ptr, cols); kernel k();
         workload main { parallel for i in d {
             parallel for j in r[i] { k(); } parallel for j in s { parallel for l in r[i] { k(); } }
             select j @ at in p[i] { k(); } for l in v { k(); } for l in i..n step 2 { k(); }
         } }",
    );
    assert_eq!(
        lowered.axes,
        [Some(AxisId(1)), Some(AxisId(4)), Some(AxisId(2)), Some(AxisId(5)), Some(AxisId(3)), None]
    );
    assert_eq!(lowered.tables, [TableId(0), TableId(1), TableId(2)]);
    let verified = lowered.program.verified();
    let axes = verified.program().axes;
    let forms: Vec<Option<AxisForm>> = axes.iter().map(|row| AxisForm::from_code(row.form)).collect();
    use AxisForm::{Dense, DenseDyn, Ragged, Range, Sparse};
    assert_eq!(forms, [DenseDyn, Ragged, Dense, Sparse, DenseDyn, Range].map(Some));
    assert_eq!((axes[1].a, axes[1].b), (0, 0), "under the row of `d`, with the first table");
    assert_eq!((axes[3].a, axes[3].b), (0, 1 | 2 << 16));
    // A row is left out where it is the innermost index.
    let flags: Vec<u8> = verified
        .program()
        .words
        .iter()
        .filter(|word| word.opcode == Op::ParallelFor.code() && word.operand1 == 1)
        .map(|word| word.flags)
        .collect();
    assert_eq!(flags, [0, 1]);
    // There it has no words with places.
    assert!(lowered.places().all(|(_, word, _)| word != Some(u32::MAX)));
}

#[test]
fn labels_are_kept_where_dependences_use_them() {
    let text = |schedule: &str| {
        format!(
            "kernel k(); workload inner() {{ let a = k(); k() after a; }}
             workload main {{ let b = k(); call inner(); call inner(); k() after b; }} {schedule}"
        )
    };
    let without = lowered(&text(""));
    assert!(!without.keeps_after && !ops(&without).contains(&Op::After));
    assert_eq!(without.program.verified().program().counts.labels, 0);
    let with = lowered(&text("schedule { task_graph(deps = hybrid); }"));
    let of = |op| ops(&with).iter().filter(|other| **other == op).count();
    assert_eq!((of(Op::After), of(Op::Reset)), (3, 2));
    assert_eq!(with.program.verified().program().counts.labels, 3);
}

/// The plan and the policies of all filters of a schedule over two axes.
fn dispatch(directives: &str) -> (DispatchPlan, Vec<u16>) {
    let lowered = lowered(&format!(
        "kernel k(); axis b = dense(4); axis h = dense(8); axis other = dense(2);
         workload main {{ k(); parallel for i in b {{ parallel for j in h {{ k(); }} k(); }} }}
         schedule {{ {directives} }}"
    ));
    let verified = lowered.program.verified();
    let words = verified.program().words.iter();
    let filters = words.filter(|word| word.opcode == Op::DispatchFilter.code()).map(|word| word.operand1);
    (lowered.dispatch, filters.collect())
}

#[test]
fn affinity_to_the_outermost_loop_is_a_configuration_of_depth_0() {
    assert_eq!(dispatch("dispatch(affinity(b));"), (DispatchPlan::Affinity { depth: 0 }, vec![]));
    let lowered = lowered(
        "kernel k(); axis batch = dense(4); workload main { parallel for t in batch { k(); } }
         schedule { dispatch(affinity(batch)); }",
    );
    let configs = dispatch_configs(&lowered, 2).expect("two are enough");
    assert_eq!(configs.len(), 2);
    for (config, id) in configs.iter().zip(0..) {
        assert_eq!((config.num_aicpus, config.my_aicpu_id), (2, id));
        assert_eq!((config.policy_type, config.params), (PolicyType::Affinity as u8, [0; 44]));
    }
}

#[test]
fn policies_are_configurations_where_they_can_be_and_filters_elsewhere() {
    let key = PolicyType::Key as u16;
    assert_eq!(dispatch(""), (DispatchPlan::RoundRobin, vec![]));
    assert_eq!(dispatch("dispatch(round_robin);"), (DispatchPlan::RoundRobin, vec![]));
    // `k()` beside the loop over `h` has no variable at its depth.
    assert_eq!(dispatch("dispatch(affinity(h));"), (DispatchPlan::Affinity { depth: 1 }, vec![]));
    assert_eq!(dispatch("dispatch(affinity(b + h));"), (DispatchPlan::RoundRobin, vec![key]));
    assert_eq!(dispatch("dispatch(affinity(other));"), (DispatchPlan::RoundRobin, vec![key]));
    assert_eq!(dispatch("dispatch(hash(b));"), (DispatchPlan::RoundRobin, vec![PolicyType::Hash as u16]));
    let partition = DispatchPlan::StaticPartition(vec![(0, 10), (10, 37)]);
    assert_eq!(dispatch("dispatch(static_partition([0..10, 10..37]));"), (partition, vec![]));
    let threshold = PolicyType::Threshold as u16;
    let levels = "dispatch_threshold(b, [2], [vector, affinity(h)]); task_graph(pools = by_unit(1, 1));";
    assert_eq!(dispatch(levels), (DispatchPlan::RoundRobin, vec![threshold]));
    let both = format!("dispatch(hash(b)); {levels}");
    assert_eq!(dispatch(&both), (DispatchPlan::RoundRobin, vec![PolicyType::Hash as u16, threshold]));
}

#[test]
fn an_axis_at_two_depths_is_a_key() {
    let lowered = lowered(
        "kernel k(); axis b = dense(4);
         workload main { parallel for i in b { k(); } parallel for j in 0..2 { parallel for i in b { k(); } } }
         schedule { dispatch(affinity(b)); }",
    );
    assert_eq!(lowered.dispatch, DispatchPlan::RoundRobin);
    assert!(xops(&lowered).contains(&(XOp::XAxis, 0)));
}

#[test]
fn a_threshold_lists_bounds_and_then_policies() {
    let lowered = lowered(
        "kernel k(); axis b = dense(4); workload main { parallel for i in b { k(); } }
         schedule { dispatch_threshold(b, [-1, 2], [cube, hash(b), affinity(b)]); task_graph(pools = by_unit(1, 1)); }",
    );
    let verified = lowered.program.verified();
    let words = &verified.program().words[..7];
    assert_eq!((words[0].opcode, words[0].flags), (Op::DispatchFilter.code(), 6));
    let key = words[1].operand2;
    assert_eq!((words[1].operand1, verified.program().exprs[key as usize].opcode), (2, XOp::XAxis.code()));
    assert_eq!([words[2].operand2 as i32, words[3].operand2 as i32], [-1, 2]);
    let policies = [words[4], words[5], words[6]].map(|word| (word.operand1, word.operand2));
    assert_eq!(policies, [(17, 0), (PolicyType::Hash as u16, key), (PolicyType::Affinity as u16, 0)]);
}

#[test]
fn streams_and_priorities_stand_before_the_statements() {
    let lowered = lowered(
        "kernel k(); axis b = dense(4); workload main { parallel for i in b { k(); } }
         schedule { streams(6); stream_by(b); priority(b * 2); task_graph(ready = priority); }",
    );
    assert_eq!(ops(&lowered)[..3], [Op::StreamBy, Op::Priority, Op::ParallelFor]);
    let verified = lowered.program.verified();
    assert_eq!(verified.program().words[0].operand2, 6);
}

#[test]
fn a_program_takes_as_many_streams_as_a_schedule_allows() {
    let lowered = lowered("kernel k(); workload main { k(); } schedule { streams(65536); }");
    assert_eq!(lowered.program.verified().program().words[0].operand2, 1 << 16);
}

#[test]
fn static_partitions_are_ranges_of_the_configurations() {
    let lowered = lowered(
        "kernel k(); workload main { parallel for i in 0..9 { k(); } }
         schedule { dispatch(static_partition([0..2, 2..2, 2..9])); }",
    );
    let ranges = |n| -> Vec<(u32, u32)> {
        let configs = dispatch_configs(&lowered, n).expect("enough");
        let word = |config: &DispatchConfig, at: usize| {
            u32::from_le_bytes([0, 1, 2, 3].map(|byte| config.params[at + byte]))
        };
        configs.iter().map(|config| (word(config, 0), word(config, 4))).collect()
    };
    assert_eq!(ranges(3), [(0, 2), (2, 2), (2, 9)]);
    assert_eq!(ranges(5), [(0, 2), (2, 2), (2, 9), (9, 9), (9, 9)]);
    let found = dispatch_configs(&lowered, 2).expect_err("there are three ranges");
    assert_eq!(found[0].code, Code(894));
}

#[test]
fn kernels_and_tensors_keep_their_numbers() {
    let source =
        "tensor unused: f32[4]; tensor x: i64[2, 3]; slot s = 5; kernel first(); kernel v(inout a) on vector;
        kernel c(inout a) on cube; workload main { v(x[0]); c(s); }";
    let module = module(source);
    let lowered = lower(&module, &schedule(&module)).expect("it fits");
    let verified = lowered.program.verified();
    let program = verified.program();
    let pools: Vec<u8> = program.kernels.iter().map(|kernel| kernel.pool).collect();
    let units: Vec<ExecPool> = module.kernels.iter().map(|kernel| kernel.unit).collect();
    assert_eq!((pools, units), (vec![255, 0, 1], vec![ExecPool::Any, ExecPool::Vector, ExecPool::Cube]));
    let slots: Vec<(u8, u32)> = program.tensors.iter().map(|tensor| (tensor.rank, tensor.slot)).collect();
    assert_eq!(slots, [(1, 0), (2, 0), (1, 1)]);
    assert_eq!(program.counts.slots, 1);
    let bindings = try_bind(&module, &[], &[]).expect("nothing is missing");
    let data = LaunchData::new(&lowered, &module, &bindings);
    assert_eq!(data.as_launch().extents, [[4, 1, 1, 1, 1, 1], [2, 3, 1, 1, 1, 1], [1; 6]]);
}
