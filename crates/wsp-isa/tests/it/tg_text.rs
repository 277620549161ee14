//! The text form of task-graph units: what it says, and what is said of mistakes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use wsp_core::tg::{
    CoreType, DependencyType, Direction, ExprOp, Instr, KernelNo, LoopMode, MemLocation, NodeNo, PartitionNo,
    Scalar, ScalarType, StreamNo, TensorNo, TensorRef,
};
use wsp_diag::{Code, Diagnostic, Severity, SourceMap, render_all};
use wsp_ir::tg::{ArgSource, RefValue, TgModule};
use wsp_isa::tg::text::{parse, print};

/// The example of document 000, section 8, as it stands there.
const SECTION_8: &str = include_str!("tg/section_8.tg");

fn read(text: &str) -> (TgModule, Vec<Diagnostic>) {
    let mut sources = SourceMap::default();
    let (unit, found) = parse("test.tg", text, &mut sources);
    let unit = unit.unwrap_or_else(|| panic!("{}\n{text}", render_all(&found, &sources, false)));
    (unit, found)
}

/// Reads a text without any finding, and checks that printing it loses nothing.
fn clean(text: &str) -> TgModule {
    let (unit, found) = read(text);
    assert!(found.is_empty(), "{:?}", found.iter().map(|d| &d.message).collect::<Vec<_>>());
    let printed = print(&unit);
    let (again, _) = read(&printed);
    assert!(again == unit, "{printed}\n{unit:#?}\n{again:#?}");
    assert_eq!(print(&again), printed);
    unit
}

/// The body of a graph.
fn body(text: &str) -> Vec<Instr> {
    let unit = clean(&format!("TG_BEGIN(G)\n{text}\nTG_END(G)\n"));
    unit.instrs[1..unit.instrs.len() - 1].to_vec()
}

/// What is reported of a text that cannot be read.
fn faults(text: &str) -> Vec<Diagnostic> {
    let (unit, found) = parse("test.tg", text, &mut SourceMap::default());
    assert!(unit.is_none(), "{text}");
    assert!(found.iter().any(Diagnostic::is_error));
    found
}

/// The one fault of a text: its code, the piece of the text that it is at, its message and help.
fn fault(text: &str) -> (u16, String, String, String) {
    let found = faults(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    let place = found[0].primary.as_ref().unwrap().span;
    let at = text[place.start as usize..place.end as usize].to_owned();
    (found[0].code.0, at, found[0].message.clone(), found[0].help.join("\n"))
}

/// What one would think that an operand is: a stream in the place of an iteration, a real number as a scalar.
#[test]
fn operands_of_another_kind_are_told_what_to_write() {
    let unit = "extern Y: f32[4]\nTG_BEGIN(G)\nTG_END(G)\n";
    for stream in ["default", "side"] {
        let text = format!("{unit}TG_LAUNCH(G, side)\nTG_INVOKE(G, {stream})\n");
        let (code, at, message, help) = fault(&text);
        assert_eq!((code, &at[..], message), (1406, stream, format!("no scalar is called `{stream}`")));
        assert!(help.contains("`TG_INVOKE(GRAPH, 0)`"), "{help}");
        assert!(help.contains(&format!("`TG_LAUNCH(GRAPH, {stream})`")), "{help}");
    }
    let (code, at, _, help) = fault(&format!("{unit}CF_IF(load(Y, 0, f32) > 0)\nCF_ENDIF\n"));
    let said = "scalars are integers: let a kernel write one, and load that";
    assert_eq!((code, &at[..], &help[..]), (1407, "f32", said));
    let (_, _, _, help) = fault(&format!("{unit}CF_IF(load(Y, 0, i23) > 0)\nCF_ENDIF\n"));
    assert_eq!(help, "did you mean `i32`?");
}

/// ISA-EX-01, ISA-EX-05, ISA-GEN-03.
#[test]
fn the_example_of_the_document_reads_as_it_stands() {
    let (unit, found) = read(SECTION_8);
    let kernels: Vec<_> = unit
        .instrs
        .iter()
        .filter_map(|instr| match *instr {
            Instr::TgKernel { kernel_id, entry_symbol, block_dim, core_type, workspace_size, .. } => Some((
                unit.name(wsp_ir::tg::Namespace::Kernel, wsp_core::tg::GraphNo(0), kernel_id.0),
                unit.str(entry_symbol).to_owned(),
                block_dim,
                core_type,
                workspace_size,
            )),
            _ => None,
        })
        .collect();
    let kernel =
        |name: &str, entry: &str, cores, kib: u64| (name.into(), entry.into(), 24, cores, kib * 1024);
    assert_eq!(
        kernels,
        [
            kernel("MLA_PROLOG", "mla_prolog_entry", CoreType::AicAiv, 64),
            kernel("INDEXER_PROLOG", "indexer_prolog_entry", CoreType::AicAiv, 32),
            kernel("LIGHTNING_INDEXER", "lightning_indexer_entry", CoreType::Aic, 128),
            kernel("SPARSE_FA", "sparse_fa_entry", CoreType::AicAiv, 256),
        ]
    );
    let sizes: Vec<u64> = unit
        .instrs
        .iter()
        .filter_map(|instr| match *instr {
            Instr::McAlloc { size, alignment: 512, location: MemLocation::Gm, .. } => Some(size),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [512 << 20, 1024 * 128 * 2, 4096 * 128 * 2, 1024 * 256 * 4]);
    assert_eq!(unit.stream_name(StreamNo(1)), "compute_stream");
    assert_eq!(found.len(), 3);
    let printed = print(&unit);
    let (again, silent) = read(&printed);
    assert!(again == unit && silent.is_empty(), "{printed}");
}

/// ISA-EX-03: what nothing declares comes from outside.
#[test]
fn undeclared_tensors_become_external_with_a_warning() {
    let (unit, found) = read(SECTION_8);
    let names: Vec<&str> = found
        .iter()
        .map(|d| {
            assert_eq!((d.code, d.severity), (Code(1413), Severity::Warning));
            let span = d.primary.as_ref().unwrap().span;
            &SECTION_8[span.start as usize..span.end as usize]
        })
        .collect();
    assert_eq!(names, ["QK_SCORES", "INPUT_HIDDEN", "OUTPUT"]);
    assert!(found[0].help[0].contains("extern QK_SCORES"));
    assert_eq!(unit.externs.len(), 3);
    assert!(unit.externs.iter().all(|e| e.dtype.is_none() && e.shape.is_empty()));
}

#[test]
fn operands_are_given_by_place_or_name_and_have_defaults() {
    let alloc =
        |size, alignment, location| Instr::McAlloc { tensor_id: TensorNo(1), size, alignment, location };
    let (gm, l2) = (MemLocation::Gm, MemLocation::L2);
    assert_eq!(body("MC_ALLOC(T, 4096)"), [alloc(4096, 512, gm)]);
    assert_eq!(body("MC_ALLOC(T, 4096, location = L2)"), [alloc(4096, 512, l2)]);
    assert_eq!(body("MC_ALLOC(location = L2, size = 8, tensor_id = T)"), [alloc(8, 512, l2)]);
    assert_eq!(body("MC_ALLOC(T,\n 4096, // bytes\n 64,\n L2\n)"), [alloc(4096, 64, l2)]);
    let kernel = &body("TG_KERNEL(K, k_entry, blockDim = 3, core_type = AIV, workspace_size = 0)")[0];
    assert!(
        matches!(kernel, Instr::TgKernel { block_dim: 3, partition: PartitionNo::NONE, .. }),
        "{kernel:?}"
    );
    assert_eq!(body("CF_IF(1)\nCF_ELSE()\nCF_ENDIF").len(), 3);
}

#[test]
fn printing_leaves_out_defaults_and_names_what_follows_a_gap() {
    let text = |line: &str| {
        print(&clean(&format!("TG_BEGIN(G)\n{line}\nTG_END(G)"))).lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(text("MC_ALLOC(T, 2*8, 512, GM)"), "  MC_ALLOC(T, 16)");
    assert_eq!(text("MC_ALLOC(T, 16, 512, L2)"), "  MC_ALLOC(T, 16, location = L2)");
    assert_eq!(text("MC_ALLOC(T, 16, 64)"), "  MC_ALLOC(T, 16, 64)");
}

/// ISA-MC-01, ISA-TG-15, ISA-MC-06, ISA-CA-01.
#[test]
fn defaults_are_those_of_the_document() {
    let found = body(
        "TG_KERNEL(A, a, 1, AIV, 0)\nTG_KERNEL(B, b, 1, AIV, 0)\nMC_ALLOC(T, 8)\nTG_DEPEND(A, B)\nMC_BIND(A, 0, T)\n\
         MC_COPY(T, T, 4)\nCA_REQUEST(A, 1, 2)",
    );
    let (a, b, t) = (KernelNo(0), KernelNo(1), TensorNo(1));
    assert_eq!(
        found[3..],
        [
            Instr::TgDepend {
                src_kernel: a.into(),
                dst_kernel: b.into(),
                dep_type: DependencyType::After,
                tensor_id: TensorNo::NONE
            },
            Instr::McBind {
                kernel_id: a,
                arg_index: 0,
                tensor_id: TensorRef::Tensor(t),
                offset: Scalar::Const(0),
                size: Scalar::Const(0),
                direction: Direction::Auto
            },
            Instr::McCopy { src_tensor: t, dst_tensor: t, size: 4, src_offset: 0, dst_offset: 0 },
            Instr::CaRequest { kernel_id: a, aic_count: 1, aiv_count: 2, aicpu_count: 0 },
        ]
    );
}

#[test]
fn names_get_the_next_number_of_their_kind() {
    let unit = clean(
        "TG_BEGIN(7)\nTG_KERNEL(3, a, 1, AIV, 0)\nTG_KERNEL(B, b, 1, AIV, 0)\nTG_END(7)\n\
         TG_BEGIN(H)\nTG_KERNEL(C, c, 1, AIV, 0)\nTG_END(H)\nTG_LAUNCH(H, default)\nTG_LAUNCH(7, s)",
    );
    let kernels: Vec<u32> = unit
        .instrs
        .iter()
        .filter_map(|i| if let Instr::TgKernel { kernel_id, .. } = i { Some(kernel_id.0) } else { None })
        .collect();
    assert_eq!(kernels, [3, 4, 0]);
    assert!(matches!(unit.instrs[4], Instr::TgBegin { graph_id } if graph_id.0 == 8));
    assert!(matches!(unit.instrs[7], Instr::TgLaunch { stream: StreamNo(0), .. }));
    assert!(matches!(unit.instrs[8], Instr::TgLaunch { stream: StreamNo(1), .. }));
}

#[test]
fn externs_have_the_first_numbers_wherever_they_are_declared() {
    let unit = clean("MC_ALLOC(A, 8)\nextern B: f32[2, 3 * 2]\nMC_ALLOC(C, 8)\nconst unused = 1\n");
    assert_eq!(unit.externs[0].tensor, TensorNo(1));
    assert_eq!(unit.externs[0].shape, [2, 6]);
    assert!(matches!(unit.instrs[0], Instr::McAlloc { tensor_id: TensorNo(2), .. }));
    assert!(matches!(unit.instrs[1], Instr::McAlloc { tensor_id: TensorNo(3), .. }));
}

#[test]
fn kernels_and_tensors_may_be_used_before_they_are_defined() {
    let found = body(
        "TG_DEPEND(A, B, DATA, T)\nTG_KERNEL(B, b, 1, AIV, 0)\nTG_KERNEL(A, a, 1, AIV, 0)\nMC_ALLOC(T, 1)",
    );
    assert!(matches!(
        found[0],
        Instr::TgDepend { src_kernel: NodeNo(0), dst_kernel: NodeNo(1), tensor_id: TensorNo(1), .. }
    ));
    assert!(matches!(found[1], Instr::TgKernel { kernel_id: KernelNo(1), .. }));
}

/// ISA-MC-09.
#[test]
fn copies_stand_in_dependences() {
    let found =
        body("TG_KERNEL(A, a, 1, AIV, 0)\nMC_ALLOC(T, 8)\nMC_COPY(T, T, 4, 0, 4)\nTG_DEPEND(copy.0, A)");
    assert!(matches!(found[3], Instr::TgDepend { src_kernel, .. } if src_kernel.copy() == Some(0)));
}

/// The operations of the condition of a `CF_IF` behind some declarations.
fn condition(declarations: &str, text: &str) -> Vec<ExprOp> {
    let unit = clean(&format!(
        "{declarations}\nTG_BEGIN(G)\nCF_LOOP(4, i)\nCF_IF({text})\nCF_ENDIF\nCF_ENDLOOP\nTG_END(G)\n"
    ));
    let Some(Instr::CfIf { condition }) = unit.instrs.iter().find(|i| matches!(i, Instr::CfIf { .. })) else {
        panic!("no CF_IF")
    };
    match condition {
        Scalar::Const(value) => vec![ExprOp::Const(*value)],
        Scalar::Expr(expr) => unit.expr(*expr).to_vec(),
    }
}

/// ISA-MC-06, ISA-CF-06.
#[test]
fn expressions_bind_as_in_c_and_constants_are_computed() {
    use ExprOp::{Add, And, Arg, Const, Div, Eq, Iter, Iteration, Load, Lt, Max, Mul, Neg, Not, Or, Sub};
    use ExprOp::{SkipNonZero, SkipZero};
    let i = Iter(wsp_core::tg::IterNo(0));
    let at = |text| condition("const N = 4\narg a: i64\nhost h: u8 = 1\nextern T", text);
    assert_eq!(at("1 + 2 * 3 == 7 && !0"), [Const(1)]);
    assert_eq!(at("(1 + 2) * 3"), [Const(9)]);
    assert_eq!(at("i + N * 2"), [i, Const(8), Add]);
    assert_eq!(at("(i + a) * 2"), [i, Arg(0), Add, Const(2), Mul]);
    assert_eq!(at("i - (a - 1)"), [i, Arg(0), Const(1), Sub, Sub]);
    assert_eq!(at("i - a - 1"), [i, Arg(0), Sub, Const(1), Sub]);
    assert_eq!(
        at("i < 3 && a == 1 || h"),
        [i, Const(3), Lt, SkipZero(4), Arg(0), Const(1), Eq, And, SkipNonZero(2), Arg(1), Or]
    );
    assert_eq!(at("-i / -2"), [i, Neg, Const(-2), Div]);
    assert_eq!(at("!(i + 1)"), [i, Const(1), Add, Not]);
    assert_eq!(at("max(iteration, 2)"), [Iteration, Const(2), Max]);
    assert_eq!(at("T"), [Const(0), Load(TensorNo(1), ScalarType::I32)]);
    assert_eq!(at("load(T, 4 * i, u8)"), [Const(4), i, Mul, Load(TensorNo(1), ScalarType::U8)]);
    assert_eq!(at("load(T, type = i64) > 0")[1], Load(TensorNo(1), ScalarType::I64));
    assert_eq!(at("-9223372036854775808"), [Const(i64::MIN)]);
    assert_eq!(at("iter.0 + arg.1"), [i, Arg(1), Add]);
    assert_eq!(at("postfix(1, 2, add)"), [Const(1), Const(2), Add]);
    assert_eq!(at("device == devices - 1").len(), 5);
}

/// ISA-CF-06: a right side that does not decide has no faults, of constants neither.
#[test]
fn a_right_side_is_evaluated_only_where_the_left_does_not_decide() {
    use ExprOp::{And, Arg, Const, Div, Gt, Load, Ne, Or, SkipNonZero, SkipZero};
    let at = |text| condition("const N = 0\narg a: i64\nextern T", text);
    let guarded = [Arg(0), Const(0), Ne, SkipZero(6), Const(6), Arg(0), Div, Const(2), Gt, And];
    assert_eq!(at("a != 0 && 6 / a > 2"), guarded);
    assert_eq!(at("N != 0 && 6 / N > 2"), [Const(0)]);
    assert_eq!(at("N == 0 || 6 / N > 2"), [Const(1)]);
    assert_eq!(at("a && 1 / 0"), [Arg(0), SkipZero(4), Const(1), Const(0), Div, And]);
    assert_eq!(at("a || -(9223372036854775807 + 1)").len(), 7);
    assert_eq!(at("0 && a"), [Const(0), SkipZero(2), Arg(0), And]);
    let load = Load(TensorNo(1), ScalarType::I32);
    assert_eq!(at("1 || load(T)"), [Const(1), SkipNonZero(3), Const(0), load, Or]);
    assert_eq!(at("postfix(arg.0, skipnz(2), 1, or)"), [Arg(0), SkipNonZero(2), Const(1), Or]);
    assert_eq!(at("postfix(arg.0, 1, and)"), [Arg(0), Const(1), And]);
    for text in ["1 && 1 / 0", "(0 || 1 / 0)", "0 && 1 || 1 % 0", "1 / 0 && 1"] {
        let (code, _, message, _) = fault(&format!("TG_BEGIN(G)\nCF_IF({text})\nCF_ENDIF\nTG_END(G)\n"));
        assert_eq!((code, &*message), (1410, "division by zero"), "{text}");
    }
}

/// Sums are as long as a limit says, and nested as deeply as can be read back.
#[test]
fn sums_of_10_000_terms_are_read_and_printed() {
    let sum = "i + ".repeat(9_999) + "a";
    assert_eq!(condition("arg a: i64", &sum).len(), 2 * 10_000 - 1);
    let graph = |sum: &str| format!("arg a: i64\nTG_BEGIN(G)\nCF_IF({sum})\nCF_ENDIF\nTG_END(G)\n");
    let unit = clean(&graph(&("a - ".repeat(9_999) + "a")));
    assert!(wsp_ir::tg::verify(&unit).is_empty());
    let logic = "i && ".repeat(9_999) + "a";
    assert_eq!(condition("arg a: i64", &logic).len(), 3 * 10_000 - 2);
    let signs = format!("{}i", "-".repeat(290));
    assert_eq!(condition("arg a: i64", &signs).len(), 291);
}

/// ISA-CF-06: bindings of double buffers.
#[test]
fn a_binding_takes_one_of_several_tensors() {
    let unit = clean(
        "extern PING\nextern PONG\nTG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIV, 0)\n\
         MC_BIND(K, 0, {PING, PONG}[iteration % 2], 64 * iteration, 64, OUT)\nTG_END(G)\n",
    );
    let Instr::McBind { tensor_id, offset: Scalar::Expr(offset), size, direction, .. } = unit.instrs[2]
    else {
        panic!("{:?}", unit.instrs[2])
    };
    assert_eq!(unit.tensors_of(&tensor_id), [TensorNo(1), TensorNo(2)]);
    assert_eq!(unit.expr(offset).len(), 3);
    assert_eq!((size, direction), (Scalar::Const(64), Direction::Out));
}

#[test]
fn declarations_say_what_a_unit_is_given() {
    let unit = clean(
        "use \"kernels/attention.pto\"\nextern Q: f16[2 * 4, 128]\nextern event READY\nextern RAW\narg tokens: u32 = 0x10\n\
         host flag: u8\nreference attention(q = Q, n = tokens, scale = -2)\nTG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIC, 0)\n\
         SY_WAIT(READY, K)\nTG_END(G)\n",
    );
    assert_eq!(unit.str(unit.uses[0].path), "kernels/attention.pto");
    assert_eq!((unit.externs[0].bytes(), unit.externs[1].bytes()), (Some(8 * 128 * 2), None));
    assert_eq!(unit.extern_events.len(), 1);
    assert_eq!((unit.args[0].source, unit.args[0].default), (ArgSource::Launch, Some(16)));
    assert_eq!((unit.args[1].source, unit.args[1].ty), (ArgSource::Host, ScalarType::U8));
    let values: Vec<RefValue> = unit.references[0].bindings.iter().map(|b| b.1).collect();
    assert_eq!(values, [RefValue::Tensor(TensorNo(1)), RefValue::Arg(0), RefValue::Const(-2)]);
}

#[test]
fn a_text_may_give_names_their_numbers() {
    let unit = clean(
        "name tensor BIG = 700\nname device LEFT = 3\nname graph \"a graph\" = 0\nTG_BEGIN(0)\n  name kernel K = 9\n\
         TG_KERNEL(K, k, 1, AIV, 0)\nMC_ALLOC(BIG, 8)\nSY_NOTIFY(LEFT, n)\nTG_END(0)\nname kernel Z = 4 in 12\n",
    );
    assert!(matches!(unit.instrs[1], Instr::TgKernel { kernel_id: KernelNo(9), .. }));
    assert!(matches!(unit.instrs[2], Instr::McAlloc { tensor_id: TensorNo(700), .. }));
    assert!(print(&unit).contains("name kernel K = 9"), "{}", print(&unit));
    let plain = clean("TG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIV, 0)\nTG_END(G)\n");
    assert!(!print(&plain).contains("name"), "{}", print(&plain));
}

#[test]
fn statements_end_with_their_lines_or_semicolons() {
    let unit = clean("TG_BEGIN(G); TG_END(G);; TG_BEGIN(H) // one\nTG_END(\nH\n) /* two\n */ TG_SYNC(H)");
    assert_eq!(unit.instrs.len(), 5);
    let (code, at, ..) = fault("TG_BEGIN(G) TG_END(G)\n");
    assert_eq!((code, at.as_str()), (1404, "TG_END"));
}

#[test]
fn loops_have_modes_and_conditions_limits() {
    let found = body("CF_LOOP(4, i, SEQUENTIAL)\nCF_BREAK(1)\nCF_ENDLOOP\nCF_WHILE(1, 10)\nCF_ENDWHILE");
    assert!(matches!(found[0], Instr::CfLoop { mode: LoopMode::Sequential, .. }));
    assert!(matches!(found[3], Instr::CfWhile { max_iterations: 10, .. }));
}

#[test]
fn blocks_are_indented() {
    let text = "TG_BEGIN(G)\nCF_LOOP(2, i)\nCF_IF(i)\nCF_ELSE\nCF_ENDIF\nCF_ENDLOOP\nTG_END(G)\n";
    let printed = print(&clean(text));
    assert_eq!(
        printed,
        "TG_BEGIN(G)\n  CF_LOOP(2, i)\n    CF_IF(i)\n    CF_ELSE\n    CF_ENDIF\n  CF_ENDLOOP\nTG_END(G)\n"
    );
}

/// Whether a line of a graph has no error with what advice shows: in place of what the fault is at, of the line, or declared before.
fn corrects(piece: &str, at: &str, line: &str) -> bool {
    [["", &line.replacen(at, piece, 1)], ["", piece], [piece, line]].iter().any(|[declared, line]| {
        let text = format!("{declared}\nTG_BEGIN(G)\nTG_KERNEL(KERN_A, k, 1, AIV, 0)\n{line}\nTG_END(G)\n");
        let (_, found) = parse("test.tg", &text, &mut SourceMap::default());
        !found.iter().any(Diagnostic::is_error)
    })
}

#[test]
fn advice_that_no_place_of_a_line_takes_corrects_nothing() {
    let line = "CF_IF(1 + unknown)";
    assert!(corrects("load(unknown)", "unknown", line) && corrects("const unknown = 1", "unknown", line));
    for wrong in ["konst unknown == one", "konst {name} == one", "unknown"] {
        assert!(!corrects(wrong, "unknown", line), "{wrong}");
    }
}

#[test]
fn mistakes_are_reported_where_they_are() {
    let inside =
        |line: &str| fault(&format!("TG_BEGIN(G)\nTG_KERNEL(KERN_A, k, 1, AIV, 0)\n{line}\nTG_END(G)\n"));
    for (line, code, at, message, help) in [
        (
            "TG_KERNAL(B, k, 1, AIV, 0)",
            1403,
            "TG_KERNAL",
            "no statement begins with `TG_KERNAL`",
            "`TG_KERNEL`",
        ),
        (
            "TG_DEPEND(KERN_A, KERN_B)",
            1406,
            "KERN_B",
            "no kernel of graph `G` is called `KERN_B`",
            "`KERN_A`",
        ),
        (
            "TG_DEPEND(KERN_A)",
            1405,
            ")",
            "`TG_DEPEND` needs `dst_kernel`",
            "TG_DEPEND(src_kernel, dst_kernel, dep_type = AFTER, tensor_id = 0)",
        ),
        ("MC_FREE(1, 2)", 1405, "2", "too many operands for `MC_FREE`", "MC_FREE(tensor_id)"),
        (
            "MC_ALLOC(T, 4, allignment = 4)",
            1405,
            "allignment",
            "`MC_ALLOC` has no operand `allignment`",
            "`alignment`",
        ),
        ("MC_ALLOC(T, 4, size = 4)", 1405, "size", "`size` is given twice", ""),
        ("MC_ALLOC(T, 4, 64, L3)", 1407, "L3", "`L3` is no location", ""),
        ("MC_ALLOC(T, -4)", 1408, "-4", "-4 is out of range for 64 bits without sign", ""),
        ("MC_ALLOC(T, 1 + iteration)", 1409, "1 + iteration", "a constant is needed here", ""),
        ("MC_ALLOC(T, 4 / (2 - 2))", 1410, "4 / (2 - 2)", "division by zero", ""),
        (
            "MC_ALLOC(T, 9223372036854775807 + 1)",
            1410,
            "9223372036854775807 + 1",
            "the value has more than 64 bits",
            "",
        ),
        ("CF_IF(1 + unknown)", 1406, "unknown", "no scalar is called `unknown`", "`load(unknown)`"),
        ("CF_LOOP(i, 0, 3)", 1406, "i", "no scalar is called `i`", "second: `CF_LOOP(3, i)`"),
        ("CF_LOOP(i, 7)", 1406, "i", "no scalar is called `i`", "second: `CF_LOOP(7, i)`"),
        ("CF_LOOP(n, i)", 1406, "n", "no scalar is called `n`", "`arg n: i64`"),
        ("CF_LOOP(0, 3, i)", 1407, "i", "`i` is no mode of a loop", "CF_LOOP(count, iterator, mode = AUTO)"),
        ("CA_AFFINITY(KERN_A, SEPARATE)", 1404, "KERN_A", "expected a set of kernels, as `{A, B}`", ""),
        ("SY_NOTIFY(LEFT, 0)", 1406, "LEFT", "a device is a number", "const LEFT = 0"),
        ("MC_FENCE(\"x)", 1402, "\"x)", "string without an end", ""),
        ("MC_FREE(1$)", 1402, "$", "`$` cannot stand here", ""),
        (
            "MC_FREE(99999999999999999999)",
            1402,
            "99999999999999999999",
            "`99999999999999999999` has more than 64 bits",
            "",
        ),
        ("name colour RED = 1", 1407, "colour", "`colour` is no kind of numbers", ""),
        ("const device = 1", 1412, "device", "`device` is a word of expressions", ""),
        ("extern X: f32\nextern X", 1412, "X", "tensor `X` is declared twice", ""),
        ("arg x: u8 = 256", 1408, "256", "256 is out of range for `u8`", ""),
    ] {
        let (found_code, found_at, found_message, found_help) = inside(line);
        assert_eq!((found_code, found_at.as_str(), found_message.as_str()), (code, at, message), "{line}");
        assert!(found_help.contains(help), "{line}: {found_help}");
        // The form of a statement, and a sign by itself, are no text of a unit.
        let is_form = found_help.starts_with("it is written");
        for piece in found_help.split('`').skip(1).step_by(2).filter(|piece| !is_form && *piece != "\"") {
            assert!(corrects(piece, &found_at, line), "{line}: {found_help}");
        }
    }
    let (code, at, message, help) = fault("TG_BEGIN(GRAPH)\nTG_END(GRAPH)\nTG_LAUNCH(GRAPHS, default)\n");
    assert_eq!((code, at.as_str(), message.as_str()), (1406, "GRAPHS", "no graph is called `GRAPHS`"));
    assert!(help.contains("`GRAPH`"));
}

#[test]
fn reading_goes_on_behind_a_mistake() {
    let text = "TG_BEGIN(G)\nTG_KERNEL(A, a, 1, CUBE, 0)\nTG_KERNEL(B, b, (1, AIV, 0)\nMC_FREE(\nMC_FENCE(EVERYWHERE)\nnonsense\n\
                TG_END(G)\nTG_SYNC(H)\n";
    let found = faults(text);
    let lines: Vec<usize> = found
        .iter()
        .map(|d| text[..d.primary.as_ref().unwrap().span.start as usize].matches('\n').count() + 1)
        .collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 8], "{found:#?}");
}

#[test]
fn no_more_errors_than_the_limit_are_kept() {
    let found = faults(&"MC_FENCE(NOWHERE)\n".repeat(500));
    assert_eq!(found.len(), wsp_core::limits::MAX_DIAGNOSTICS as usize);
    assert_eq!(found.last().unwrap().code, Code(1401));
}

#[test]
fn many_undeclared_tensors_do_not_make_an_error() {
    let uses: String = (0..500).map(|n| format!("MC_FREE(T{n})\n")).collect();
    let (unit, found) = read(&uses);
    assert_eq!(unit.externs.len(), 500);
    assert!(!found.iter().any(Diagnostic::is_error));
    assert!(found.len() <= wsp_core::limits::MAX_DIAGNOSTICS as usize);
}

#[test]
fn deep_expressions_are_refused() {
    for text in ["(", "!", "-", "min(1, ", "load("] {
        let found = faults(&format!("CF_IF({})", text.repeat(100_000)));
        assert!(found.iter().all(|d| [1404, 1406, 1411].contains(&d.code.0)), "{found:?}");
    }
    let long = format!("CF_IF(iteration{})", " + iteration".repeat(20_000));
    assert_eq!(faults(&long)[0].code, Code(1411));
    // What is nested as deeply as expressions are long can be read.
    let right = format!("CF_IF({}iteration{})\nCF_ENDIF\n", "iteration - (".repeat(127), ")".repeat(127));
    clean(&right);
}

/// A load without a type has that of the tensor's elements, wherever that is declared; in text the type stands where it is not `i32`.
#[test]
fn loads_have_the_type_of_the_declared_elements() {
    let types = |declared: &str, condition: &str| {
        let declared = format!("extern C{declared}\n");
        let body = format!("TG_BEGIN(G)\nCF_IF({condition})\nCF_ENDIF\nTG_END(G)\n");
        // As a part of an expression a name has to be declared before.
        let is_whole = condition == "C" || condition.starts_with("load(C");
        let text = if is_whole { body + &declared } else { declared + &body };
        let unit = read(&text).0;
        assert_eq!(read(&print(&unit)).0.exprs, unit.exprs, "{}", print(&unit));
        let ty = |op: &ExprOp| match op {
            ExprOp::Load(_, ty) => Some(*ty),
            _ => None,
        };
        unit.exprs.iter().filter_map(ty).collect::<Vec<ScalarType>>()
    };
    for condition in ["C", "C == 1", "load(C) > 2", "load(C, 8)", "load(C, byte_offset = 8)", "1 + load(C)"] {
        for (declared, ty) in [
            (": u8[64]", ScalarType::U8),
            (": u32[64]", ScalarType::U32),
            (": i32[64]", ScalarType::I32),
            (": u64[64]", ScalarType::U64),
            (": i64[64]", ScalarType::I64),
            (": f32[64]", ScalarType::I32),
            ("", ScalarType::I32),
        ] {
            assert_eq!(types(declared, condition), [ty], "{condition} {declared}");
        }
    }
    assert_eq!(
        types(": u8[64]", "load(C, 0, i32) + C + load(C, 4, i64)"),
        [ScalarType::I32, ScalarType::U8, ScalarType::I64]
    );
    assert_eq!(types(": u8[64]", "load(C, load(C), i64)"), [ScalarType::U8, ScalarType::I64]);
}
