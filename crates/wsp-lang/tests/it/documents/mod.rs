//! The code of document 002 compiles as it stands where it is right, and gives the diagnostic that names the fault
//! where it is wrong.

mod text;

use text::*;
use wsp_diag::{Diagnostic, SourceMap, render};
use wsp_ir::verify::verify;
use wsp_ir::{
    ArrayRef, AxisEnd, AxisPolicy, Consumer, Dim, ExprKind, FuncKind, MetaKind, Module, OrderPolicy, Stmt,
    StmtKind, TileOp, TileSize,
};

/// Shapes of the decode attention of the document.
const SHAPES: &str = "
PTO_SHAPE(q, batch_size, num_qo_heads, 1, HEAD_DIM)
PTO_SHAPE(kv_cache, batch_size, PTO_DYNAMIC, num_kv_heads, HEAD_DIM)
PTO_SHAPE(kv_lens, batch_size)
PTO_SHAPE(output, batch_size, num_qo_heads, 1, HEAD_DIM)
const uint32_t GQA_RATIO = num_qo_heads / num_kv_heads;
const uint32_t KV_TILE = 128;
";

/// What the kernels of section 8 leave for the merge.
const PARTIALS: &str = "
PTO_TENSOR(partial_o, float, batch, kv_chunk, head, HEAD_DIM)
PTO_TENSOR(partial_m, float, batch, kv_chunk, head)
PTO_TENSOR(partial_d, float, batch, kv_chunk, head)
";

const MERGE_DESCRIPTOR: &str = "
struct MergeDescriptor { uint32_t batch_idx; uint32_t head_idx; uint32_t num_chunks; uint32_t workspace_offset; };
";

/// Empty kernels of the tiers of section 4.
const TIER_KERNELS: &str = "
PTO_KERNEL_IMPL(decode_2k) { }
PTO_KERNEL_IMPL(decode_8k) { }
PTO_KERNEL_IMPL(decode_64k) { }
PTO_KERNEL_IMPL(decode_128k) { }
";

/// The last descriptor of section 6.1, which section 6.2 emits.
fn fa_descriptor() -> String {
    let at = STRUCTS.find("struct FADecodeDescriptor").expect("the document declares it");
    STRUCTS[at..].to_owned()
}

fn compile(parts: &[&str]) -> (Option<Module>, Vec<Diagnostic>, SourceMap) {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_lang::compile("document.pto", &parts.join("\n"), &mut sources);
    (module, findings, sources)
}

#[track_caller]
fn clean(parts: &[&str]) -> Module {
    let (module, findings, sources) = compile(parts);
    let text: String = findings.iter().map(|d| render(d, &sources, false)).collect();
    assert!(findings.is_empty(), "{text}");
    let module = module.expect("there is a module when nothing is wrong");
    let broken: String = verify(&module).iter().map(|d| render(d, &sources, false)).collect();
    assert!(broken.is_empty(), "the verifier refuses the module\n{broken}");
    module
}

/// `WSPnnnn message` of every finding, in order of the text.
#[track_caller]
fn found(parts: &[&str]) -> Vec<String> {
    let (module, findings, _) = compile(parts);
    assert_eq!(module.is_some(), !findings.iter().any(Diagnostic::is_error));
    findings.iter().map(|d| format!("{} {}", d.code, d.message)).collect()
}

fn in_generator(fragment: &str) -> String {
    format!("PTO_DESCRIPTOR_GEN(FlashAttentionDecode) {{ uint32_t kv_len = kv_lens[0]; {fragment} }}")
}

fn in_schedule(fragment: &str) -> String {
    format!("PTO_SCHEDULE(S) {{ {fragment} }}")
}

/// A kernel's tile operations, loops and branches included, in order.
fn tile_ops(block: &[Stmt]) -> Vec<&TileOp> {
    let mut ops = Vec::new();
    for stmt in block {
        match &stmt.kind {
            StmtKind::Tile(op) => ops.push(op),
            StmtKind::If { then, otherwise, .. } => {
                ops.extend(tile_ops(then));
                ops.extend(tile_ops(otherwise));
            }
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => ops.extend(tile_ops(body)),
            _ => {}
        }
    }
    ops
}

#[test]
fn section_3_1_the_space_has_three_axes_and_a_tile() {
    let module = clean(&[SHAPES, SPACE_EXAMPLE]);
    let names: Vec<&str> = module.axes.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["batch", "kv_chunk", "head"]);
    assert_eq!(module.axes[1].end, AxisEnd::Dynamic);
    let tile = module.axes[1].tile.as_ref().expect("kv_chunk is tiled");
    assert!(matches!(&tile.size, TileSize::Fixed(e) if e.as_const_int() == Some(1024)));
}

#[test]
fn section_3_2_both_forms_of_an_axis_are_understood() {
    let bounds = "PTO_PARAM(uint32_t, start, 1)\nPTO_PARAM(uint32_t, end, 9)";
    let (first, second) = AXIS_FORMS.trim().split_once('\n').expect("two forms");
    let module = clean(&[bounds, "PTO_SPACE(A) {", first, "}", "PTO_SPACE(B) {", second, "}"]);
    assert!(matches!(module.axes[0].end, AxisEnd::Expr(_)));
    assert_eq!(module.axes[1].end, AxisEnd::Dynamic);
}

#[test]
fn section_3_3_all_forms_of_a_tile_are_understood() {
    for form in TILE_FORMS.trim().lines() {
        let space = format!("PTO_SPACE(A) {{ PTO_AXIS(axis, 0, 100) {form}\n }}");
        let module = clean(&["PTO_PARAM(uint32_t, tile_size, 64)", &space]);
        let tile = module.axes[0].tile.as_ref().expect("the axis is tiled");
        assert_eq!(tile.pad_last, form.contains("PTO_PAD_LAST"));
        assert_eq!(tile.size == TileSize::Auto, form.contains("PTO_AUTO"));
    }
}

#[test]
fn section_4_1_tiers_are_in_order_and_the_default_is_last() {
    let module = clean(&[TIER_KERNELS, TIER_EXAMPLE]);
    let set = &module.tier_sets[0];
    assert_eq!(set.selector.as_deref(), Some("kv_len"));
    let kernels: Vec<&str> =
        set.tiers.iter().map(|t| module.functions[t.kernel.index()].name.as_str()).collect();
    assert_eq!(kernels, ["decode_2k", "decode_8k", "decode_64k", "decode_128k"]);
    assert!(set.tiers[3].cond.is_none() && set.tiers.iter().all(|t| t.workspace.is_none()));
}

#[test]
fn section_4_2_a_tier_is_selected_by_value() {
    let generator = in_generator(SELECT_TIER);
    clean(&[SHAPES, SPACE_EXAMPLE, TIER_KERNELS, TIER_EXAMPLE, &generator]);
}

#[test]
fn section_5_1_the_schedule_has_its_four_policies() {
    let module = clean(&[SHAPES, SPACE_EXAMPLE, SCHEDULE_EXAMPLE]);
    let schedule = &module.schedules[0];
    let forms: Vec<&str> = schedule.axes.iter().map(|statement| statement.policy.form()).collect();
    assert_eq!(forms, ["PTO_AFFINITY", "PTO_ORDER", "PTO_ORDER", "PTO_PREFETCH"]);
    assert_eq!(schedule.axes[1].policy, AxisPolicy::Order(OrderPolicy::Sequential));
    assert_eq!(schedule.axes[3].policy, AxisPolicy::Prefetch(1));
}

#[test]
fn section_5_2_to_5_4_the_forms_are_understood_with_policies_filled_in() {
    let affinity = AFFINITY_FORM.replace("axis", "batch");
    for policy in ["PTO_CORE_GROUP", "PTO_CORE_LOCAL", "PTO_SPREAD"] {
        clean(&[SHAPES, SPACE_EXAMPLE, &in_schedule(&affinity.replace("policy", policy))]);
    }
    let (plain, grouped) = ORDER_FORMS.trim().split_once('\n').expect("two forms");
    for policy in ["PTO_SEQUENTIAL", "PTO_SEQUENTIAL_STRICT", "PTO_PARALLEL", "PTO_BLOCKED(2)"] {
        clean(&[
            SHAPES,
            SPACE_EXAMPLE,
            &in_schedule(&plain.replace("axis", "batch").replace("ordering", policy)),
        ]);
    }
    let grouped = grouped.replace("axis", "batch").replace("group_size", "4");
    let module = clean(&[SHAPES, SPACE_EXAMPLE, &in_schedule(&grouped)]);
    assert_eq!(module.schedules[0].axes[0].policy, AxisPolicy::Order(OrderPolicy::Interleaved(4)));
    clean(&[SHAPES, SPACE_EXAMPLE, &in_schedule(&format!("{ORDER_EXAMPLE}\n"))]);
    clean(&[
        SHAPES,
        SPACE_EXAMPLE,
        &in_schedule(&PREFETCH_FORM.replace("axis", "batch").replace("depth", "2")),
    ]);
}

#[test]
fn section_6_1_descriptors_have_the_sizes_the_document_gives() {
    let counts = "const uint32_t N = 3;\nconst uint32_t M = 2 * N;";
    let module = clean(&[counts, STRUCTS]);
    let words = |name: &str| module.structs.iter().find(|s| s.name == name).map(|s| s.fields.len());
    assert_eq!(words("FADecodeDescriptor").map(|n| n * 4), Some(28));
    assert_eq!(words("PTO_WorkDescriptor"), Some(1 + 3 + 6 + 1));
    let names: Vec<&str> = module.structs[0].fields.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(&names[..5], ["tier", "indices[0]", "indices[1]", "indices[2]", "bounds[0]"]);
    let module = clean(&[S8_DESCRIPTOR]);
    assert_eq!(module.structs[0].fields.len() * 4, 32);
}

#[test]
fn section_6_2_the_older_names_are_aliases() {
    let prelude = "PTO_PARAM(uint32_t, max_blocks, 72)";
    let fa = fa_descriptor();
    let module = clean(&[SHAPES, prelude, SPACE_EXAMPLE, TIER_KERNELS, TIER_EXAMPLE, &fa, GENERATOR_EXAMPLE]);
    let generator = module.spaces[0].generator.expect("the space has a generator");
    let body = &module.functions[generator.index()].body;
    let StmtKind::LetArray { array: ArrayRef::Meta(_, MetaKind::Lengths), .. } = body[0].kind else {
        panic!("the lengths of the cache come first")
    };
    // Three arguments: the built-in search counts the heads itself.
    let StmtKind::Let { init: Some(call), .. } = &body[2].kind else { panic!("the chunk size") };
    let ExprKind::Call(search, args) = &call.kind else { panic!("a call") };
    assert_eq!(module.functions[search.index()].name, "BinarySearchChunkSize");
    assert_eq!(args.len(), 4);
    // Kernels that ignore their descriptor are its consumers.
    assert!(matches!(module.structs[0].consumer, Consumer::Tiers { field: 0, .. }));
}

#[test]
fn section_6_2_workspace_of_heads_is_apart_although_the_call_omits_the_head() {
    let prelude = "PTO_PARAM(uint32_t, max_blocks, 72)";
    let module = clean(&[
        SHAPES,
        prelude,
        SPACE_EXAMPLE,
        TIER_KERNELS,
        TIER_EXAMPLE,
        &fa_descriptor(),
        GENERATOR_EXAMPLE,
    ]);
    let mut slots = Vec::new();
    let generator = module.spaces[0].generator.expect("the space has a generator");
    each_emit(&module.functions[generator.index()].body, &mut |fields| {
        if let ExprKind::AllocWs(slot) = &fields[6].kind {
            slots.push((slot.key.len(), slot.count.as_const_int(), slot.index.as_const_int()));
        }
    });
    assert_eq!(slots, [(3, Some(1), Some(0))], "batch, chunk and head");
}

fn each_emit(block: &[Stmt], f: &mut impl FnMut(&[wsp_ir::Expr])) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Emit { fields, .. } => f(fields),
            StmtKind::For { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::ScheduledFor { body, .. } => {
                each_emit(body, f);
            }
            StmtKind::If { then, otherwise, .. } => {
                each_emit(then, f);
                each_emit(otherwise, f);
            }
            _ => {}
        }
    }
}

#[test]
fn section_6_3_loops_are_half_open() {
    let generator = in_generator(&format!("uint32_t start = 2; uint32_t end = 5; {FOR_EACH}"));
    let module = clean(&[SHAPES, SPACE_EXAMPLE, &generator]);
    let last = module.functions[0].body.last().expect("the loop");
    let StmtKind::For { step, .. } = &last.kind else { panic!("a counted loop") };
    assert_eq!(step.as_const_int(), Some(1));
}

#[test]
fn section_7_1_faults_of_the_example_are_named() {
    let fa = fa_descriptor();
    let prelude = [
        SHAPES,
        SPACE_EXAMPLE,
        &fa,
        "PTO_TENSOR(partial_o, float, batch, kv_chunk, head, HEAD_DIM)",
        KERNEL_EXAMPLE,
    ];
    assert_eq!(
        found(&prelude),
        [
            "WSP0223 the right operand must be transposed",
            "WSP0222 a `LeftTile` cannot be the right operand of `TMATMUL_ACC`",
            "WSP0102 unknown name `kv_len`",
            "WSP0105 undeclared tensor `partial_md`",
            "WSP0130 `TSTORE` stores a tile",
        ]
    );
}

#[test]
fn section_7_1_an_unknown_name_lists_the_fields_of_the_descriptor() {
    let (_, findings, _) = compile(&[SHAPES, SPACE_EXAMPLE, S8_DESCRIPTOR, KERNEL_EXAMPLE]);
    let unknown = findings.iter().find(|d| d.message.contains("kv_len")).expect("kv_len is unknown");
    assert!(unknown.notes.iter().any(|n| n.contains("`num_chunks`")), "{unknown:?}");
    let field = KERNEL_EXAMPLE.replace("== kv_len", "== desc.kv_len");
    let (_, findings, _) = compile(&[SHAPES, SPACE_EXAMPLE, S8_DESCRIPTOR, &field]);
    let unknown = findings.iter().find(|d| d.message.contains("kv_len")).expect("kv_len is no field");
    assert_eq!(unknown.message, "`DecodeDescriptor` has no field `kv_len`");
    assert!(unknown.notes.iter().any(|n| n.contains("`num_chunks`")), "{unknown:?}");
}

#[test]
fn section_7_1_partial_out_needs_a_declaration() {
    let fa = fa_descriptor();
    let undeclared = found(&[SHAPES, SPACE_EXAMPLE, &fa, KERNEL_EXAMPLE]);
    assert!(undeclared.contains(&"WSP0105 undeclared tensor `partial_out`".to_owned()), "{undeclared:?}");
    let md = "PTO_TENSOR(partial_o, float, batch, kv_chunk, head, HEAD_DIM)\nPTO_TENSOR(partial_md, float, batch, kv_chunk, head, 2)";
    let pair = found(&[SHAPES, SPACE_EXAMPLE, &fa, md, KERNEL_EXAMPLE]);
    assert_eq!(pair.last().map(String::as_str), Some("WSP0130 `TSTORE` stores a tile"));
}

#[test]
fn section_7_1_compiles_once_its_faults_are_mended() {
    let kernel = KERNEL_EXAMPLE
        .replace("q_tile, k_tile)", "q_tile, PTO_TRANSPOSE(k_tile))")
        .replace("LeftTile<half", "RightTile<half")
        .replace("desc.chunk_idx == 0 && desc.chunk_end == kv_len", "desc.num_chunks == 1")
        .replace("TSTORE(partial_md, {m, d},", "PTO_STORE_SCALAR(partial_m, m,");
    let module = clean(&[SHAPES, SPACE_EXAMPLE, S8_DESCRIPTOR, PARTIALS, &kernel]);
    assert_eq!(module.structs[0].consumer, Consumer::Kernel(wsp_core::FuncId(0)));
}

#[test]
fn section_7_2_the_only_descriptor_type_is_the_one_meant() {
    let kernel = format!("PTO_KERNEL_IMPL(k) {{ {GET_DESCRIPTOR} uint32_t b = desc.batch_idx; }}");
    let module = clean(&[S8_DESCRIPTOR, &kernel]);
    let function = &module.functions[0];
    assert!(matches!(function.kind, FuncKind::Kernel { descriptor: Some(_) }));
    assert_eq!(function.params, 1);
}

#[test]
fn section_8_1_space() {
    let module = clean(&[SHAPES, S8_SPACE]);
    assert_eq!(module.axes[1].tile.as_ref().map(|t| t.size == TileSize::Auto), Some(true));
}

#[test]
fn section_8_2_tiers_with_workspace() {
    let sizes = "
        const uint32_t workspace_2k = 1024; const uint32_t workspace_8k = 1024;
        const uint32_t workspace_64k = 2048; const uint32_t workspace_128k = 4096;";
    let kernels = TIER_KERNELS.replace("decode_", "decode_kernel_");
    let module = clean(&[sizes, &kernels, S8_TIERS]);
    let bytes: Vec<Option<i128>> = module.tier_sets[0]
        .tiers
        .iter()
        .map(|t| t.workspace.as_ref().and_then(wsp_ir::Expr::as_const_int))
        .collect();
    assert_eq!(bytes, [Some(1024), Some(1024), Some(2048), Some(4096)]);
    let missing = found(&[sizes, S8_TIERS]);
    assert_eq!(missing.len(), 4, "{missing:?}");
    assert!(missing.iter().all(|m| m.starts_with("WSP0108 no kernel `decode_kernel_")), "{missing:?}");
}

#[test]
fn section_8_3_schedule() {
    let module = clean(&[SHAPES, S8_SPACE, S8_SCHEDULE]);
    let order: Vec<(&str, OrderPolicy)> =
        module.schedules[0].orders().map(|(statement, order)| (statement.axis.as_str(), order)).collect();
    assert_eq!(
        order,
        [
            ("batch", OrderPolicy::Interleaved(4)),
            ("kv_chunk", OrderPolicy::Parallel),
            ("head", OrderPolicy::Parallel)
        ]
    );
}

fn tiers_and_kernels() -> String {
    let sizes = "
        const uint32_t workspace_2k = 1024; const uint32_t workspace_8k = 1024;
        const uint32_t workspace_64k = 2048; const uint32_t workspace_128k = 4096;";
    let kernels: String = ["2k", "8k", "64k", "128k"]
        .iter()
        .map(|k| format!("PTO_KERNEL_IMPL(decode_kernel_{k}) {{ auto desc = PTO_GET_DESCRIPTOR<DecodeDescriptor>(); }}\n"))
        .collect();
    format!("{sizes}\n{S8_TIERS}\n{kernels}")
}

#[test]
fn section_8_5_the_generator_compiles_as_it_stands() {
    let tiers = tiers_and_kernels();
    let module = clean(&[SHAPES, S8_SPACE, &tiers, S8_SCHEDULE, S8_DESCRIPTOR, S8_GENERATOR]);
    let generator = module.spaces[0].generator.expect("the space has a generator");
    let body = &module.functions[generator.index()].body;
    let Some(StmtKind::ScheduledFor { vars, .. }) = body.last().map(|s| &s.kind) else {
        panic!("a scheduled loop")
    };
    assert_eq!(vars.len(), 3);
    let mut slots = Vec::new();
    each_emit(body, &mut |fields| {
        if let ExprKind::AllocWs(slot) = &fields[7].kind {
            slots.push((slot.key.clone(), slot.count.kind.clone(), slot.index.kind.clone()));
        }
    });
    let [(key, count, index)] = &slots[..] else { panic!("one reservation") };
    assert_eq!(key.len(), 2, "batch and head; the chunks of one lie side by side");
    assert_eq!(*count, ExprKind::AxisExtent(wsp_core::AxisId(1)));
    assert_eq!(*index, ExprKind::Local(vars[1]));
}

#[test]
fn section_8_6_faults_of_the_kernel_are_named() {
    let text = found(&[SHAPES, S8_SPACE, S8_DESCRIPTOR, PARTIALS, S8_KERNELS]);
    assert_eq!(
        text,
        [
            // Both kernels take the descriptor, and without tiers nothing says which one runs.
            "WSP0197 several kernels take `DecodeDescriptor`",
            "WSP0223 the right operand must be transposed",
            "WSP0222 a `LeftTile` cannot be the right operand of `TMATMUL_ACC`",
        ]
    );
}

#[test]
fn section_8_6_places_follow_the_shapes() {
    let kernel = S8_KERNELS
        .replace("q_tile, k_tile)", "q_tile, PTO_TRANSPOSE(k_tile))")
        .replace("LeftTile<half", "RightTile<half");
    let tiers =
        "PTO_TIER_DEF(T) { PTO_TIER(kv_len <= 2048, decode_kernel_2k) PTO_DEFAULT(decode_kernel_8k) }";
    let module = clean(&[SHAPES, S8_SPACE, S8_DESCRIPTOR, PARTIALS, tiers, &kernel]);
    let function = module.functions.iter().find(|f| f.name == "decode_kernel_8k").expect("it is there");
    let mut places = Vec::new();
    for op in tile_ops(&function.body) {
        let (tensor, at) = match op {
            TileOp::Load { tensor, at, .. } | TileOp::Store { tensor, at, .. } => (tensor, at),
            _ => continue,
        };
        places.push((module.tensors[tensor.index()].name.as_str(), at.index.len(), at.row_dim, at.col_dim));
    }
    assert_eq!(
        places,
        [
            ("q", 4, Some(1), Some(3)),
            ("k_cache", 4, Some(1), Some(3)),
            ("v_cache", 4, Some(1), Some(3)),
            ("output", 4, Some(1), Some(3)),
            ("partial_o", 4, Some(2), Some(3)),
        ]
    );
    assert!(matches!(module.tensors[5].dims[1], Dim::Axis(_)), "extents of axes are known to the generator");
}

#[test]
fn section_8_7_the_merge_needs_its_descriptor_and_its_tensors() {
    assert_eq!(found(&[SHAPES, S8_SPACE, PARTIALS, S8_MERGE]), ["WSP0104 unknown type `MergeDescriptor`"]);
    let undeclared = found(&[SHAPES, S8_SPACE, MERGE_DESCRIPTOR, S8_MERGE]);
    assert_eq!(
        undeclared,
        [
            "WSP0105 undeclared tensor `partial_out`",
            "WSP0105 undeclared tensor `partial_m`",
            "WSP0105 undeclared tensor `partial_d`",
        ]
    );
}

#[test]
fn section_8_7_partial_out_is_another_name_of_partial_o() {
    let module = clean(&[SHAPES, S8_SPACE, MERGE_DESCRIPTOR, PARTIALS, S8_MERGE]);
    let loads: Vec<&str> = tile_ops(&module.functions[0].body)
        .into_iter()
        .filter_map(|op| match op {
            TileOp::Load { tensor, .. } => Some(module.tensors[tensor.index()].name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(loads, ["partial_o"]);
}

#[test]
fn section_8_8_the_entry_binds_four_arrays() {
    let generator = "PTO_DESCRIPTOR_GEN(DecodeAttention) { }";
    let module = clean(&[SHAPES, S8_SPACE, generator, S8_ENTRY]);
    let entry = module.entry.expect("there is an entry");
    assert_eq!(entry.params.len(), 4);
    assert_eq!(entry.launch.bindings.len(), 4);
    let missing = found(&[
        S8_SPACE.replace("batch_size", "1").replace("num_kv_heads", "1").as_str(),
        generator,
        S8_ENTRY,
    ]);
    assert_eq!(
        missing,
        [
            "WSP0150 `q` has no shape",
            "WSP0150 `kv_cache` has no shape",
            "WSP0150 `output` has no shape",
            "WSP0150 `kv_lens` has no shape",
        ]
    );
}

#[test]
fn section_8_as_a_whole_has_exactly_the_faults_the_register_lists() {
    let sizes = "
        const uint32_t workspace_2k = 1024; const uint32_t workspace_8k = 1024;
        const uint32_t workspace_64k = 2048; const uint32_t workspace_128k = 4096;";
    let whole = [
        SHAPES,
        sizes,
        PARTIALS,
        S8_SPACE,
        S8_TIERS,
        S8_SCHEDULE,
        S8_DESCRIPTOR,
        S8_GENERATOR,
        S8_KERNELS,
        S8_MERGE,
        S8_ENTRY,
    ];
    assert_eq!(
        found(&whole),
        [
            "WSP0108 no kernel `decode_kernel_64k`",
            "WSP0108 no kernel `decode_kernel_128k`",
            "WSP0223 the right operand must be transposed",
            "WSP0222 a `LeftTile` cannot be the right operand of `TMATMUL_ACC`",
            "WSP0104 unknown type `MergeDescriptor`",
        ]
    );
}

#[test]
fn section_11_1_is_not_supported_yet() {
    let text = found(&[MOE]);
    assert!(text.contains(&"WSP0026 `PTO_COMPUTE` is not supported yet".to_owned()), "{text:?}");
}

#[test]
fn section_11_2_two_spaces_are_chained() {
    let spaces = "
        PTO_SPACE(PrefillAttention) { PTO_AXIS(batch, 0, batch_size) }
        PTO_SPACE(DecodeAttention) { PTO_AXIS(request, 0, batch_size) }
        PTO_TENSOR(kv_update, float, request, 64)
        PTO_DESCRIPTOR_GEN(PrefillAttention) { }
        PTO_DESCRIPTOR_GEN(DecodeAttention) { }";
    let module = clean(&[SHAPES, spaces, GRAPH]);
    let graph = &module.graphs[0];
    assert_eq!(graph.stages.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["prefill", "decode"]);
    let (reader, writer) = &graph.dependencies[0];
    assert_eq!((reader.stage, writer.stage), (1, 0));
    assert_eq!(module.tensors[reader.tensor.index()].name, "k_cache");
    assert_eq!(module.tensors[writer.tensor.index()].name, "kv_update");
}

#[test]
fn section_11_3_is_not_supported_yet() {
    assert_eq!(
        found(&[SHAPES, SPACE_EXAMPLE, PROFILE_GUIDED]),
        ["WSP0026 `PTO_PROFILE_GUIDED` is not supported yet"]
    );
}
