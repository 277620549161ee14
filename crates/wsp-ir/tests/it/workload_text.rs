//! What `.wsp` text means, and that a printed module reads as itself.

use crate::said::said;
use wsp_core::{ParamId, VarId, WorkloadId};
use wsp_diag::{SourceMap, render};
use wsp_ir::UnOp;
use wsp_ir::workload::{
    ArgValue, Block, IntExprKind, NodeKind, ParamSource, Signature, WorkloadModule, text,
};

/// Every construct once.
const TOUR: &str = include_str!("workload_text/tour.wsp");

fn parse(text: &str) -> WorkloadModule {
    let mut sources = SourceMap::default();
    let (module, diagnostics) = text::parse("t.wsp", text, &mut sources);
    let shown: String = diagnostics.iter().map(|d| render(d, &sources, false)).collect();
    module.unwrap_or_else(|| panic!("{text}\n{shown}"))
}

#[test]
fn a_printed_module_reads_as_itself() {
    let module = parse(TOUR);
    let printed = text::print(&module);
    let again = parse(&printed);
    assert_eq!(said(&module), said(&again), "{printed}");
    assert_eq!(text::print(&again), printed);
}

/// The only value of a file that is one `let`.
fn value(text: &str) -> IntExprKind {
    let module = parse(&format!("param a; param b; param c; let v = {text};"));
    match &module.params[3].source {
        ParamSource::Derived(value) => value.kind.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn operators_group_as_in_c() {
    for (text, grouped) in [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c % a", "((a / b) * c) % a"),
        ("-a * b", "(-a) * b"),
        ("!a == b", "(!a) == b"),
        ("a < b == c", "(a < b) == c"),
        ("a + 1 < b && c || a", "(((a + 1) < b) && c) || a"),
        ("a ? b : c ? a : b", "a ? b : (c ? a : b)"),
        ("a || b ? a : b", "(a || b) ? a : b"),
        ("a - -1", "a - (-1)"),
        ("a--b", "a - (-b)"),
    ] {
        assert_eq!(said(&value(text)), said(&value(grouped)), "{text}");
    }
    assert_eq!(value("-9223372036854775808"), IntExprKind::Const(i64::MIN));
    assert_eq!(value("0x1F"), IntExprKind::Const(31));
    assert_eq!(value("1_000"), IntExprKind::Const(1000));
    assert!(matches!(value("-(1)"), IntExprKind::Unary(UnOp::Neg, _)));
}

#[test]
fn variables_are_bound_by_identity() {
    let module = parse(
        "param i = 4; kernel k(n);
         workload main { k(i); for i in 0..i { k(i); for i in 0..i { k(i); } k(i); } k(i); }",
    );
    let mut seen = Vec::new();
    collect(&module.workloads[0].body, &mut seen);
    let (param, outer, inner) =
        (IntExprKind::Param(ParamId(0)), IntExprKind::Var(VarId(0)), IntExprKind::Var(VarId(1)));
    assert_eq!(seen, [&param, &outer, &inner, &outer, &param]);
}

/// The first argument of every task, in order.
fn collect<'m>(block: &'m Block, seen: &mut Vec<&'m IntExprKind>) {
    for node in block {
        match &node.kind {
            NodeKind::Task(task) => {
                let ArgValue::Scalar(value) = &task.args[0].value else { panic!("{task:?}") };
                seen.push(&value.kind);
            }
            NodeKind::ForEach { body, .. } => collect(body, seen),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn several_heads_are_nested_loops() {
    let sugar = parse("kernel k(); workload main { parallel for i in 0..2, j in 0..i { k(); } }");
    let nested =
        parse("kernel k(); workload main { parallel for i in 0..2 { parallel for j in 0..i { k(); } } }");
    assert_eq!(said(&sugar), said(&nested));
}

#[test]
fn variables_of_one_head_have_different_names() {
    let axes = "axis b = dense(1); axis nz = sparse(b, [0, 1], [0]); kernel k(v);";
    for (head, refused) in [
        ("parallel for e in 0..2, e in 4..6", true),
        ("for e in 0..2, f in 0..2, e in 0..2", true),
        ("select e @ e in nz[0]", true),
        ("parallel for e in 0..2, f in 4..6", false),
        ("select e @ f in nz[0]", false),
        ("for e in 0..2 { for e in 0..2 { k(e); } } for e in 0..2", false),
    ] {
        let text = format!("{axes} workload main {{ {head} {{ k(e); }} }}");
        let (_, found) = wsp_ir::workload::text::parse("w.wsp", &text, &mut SourceMap::default());
        assert_eq!(found.iter().any(|found| found.code.0 == 730), refused, "{head}: {found:?}");
    }
}

#[test]
fn names_are_visible_before_their_declaration() {
    let module = parse(
        "schedule { dispatch(affinity(b)); } workload main { k(x); } kernel k(in a); tensor x: f32[n]; axis b = dense(n); param n = 4;",
    );
    assert_eq!(module.kernels.len(), 1);
    assert_eq!(module.entry, Some(WorkloadId(0)));
}

#[test]
fn a_name_that_nothing_declares_is_a_kernel_of_a_used_file() {
    let module = parse("use \"k.pto\"; workload main { attn(row = 1); rope(2); attn(3); }");
    let names: Vec<&str> = module.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["attn", "rope"]);
    assert!(module.kernels.iter().all(|kernel| kernel.signature == Signature::Library));
}

#[test]
fn contextual_words_can_be_names() {
    let module = parse(
        "param step = 2; param max = 3; tensor out: f32[max]; kernel after(in in_, out out, inout inout_) cost step;
         kernel on(n);
         workload main { for cost in 0..8 step step { after(out, out[cost], out); } while max max max { on(step); } }",
    );
    assert_eq!(module.kernels[0].name, "after");
    let module = parse(
        "tensor channel: f32[4]; kernel process(inout as); kernel send(inout pipeline); kernel consume(n);
         workload main { channel send[2]; parallel for as in 0..4 { process(channel[as]); send(channel); consume(as); }
             pipeline { process pipeline { send send as as { process(channel[as]); } }
                        process send { consume send as consume { send(channel[consume]); } } } }",
    );
    assert_eq!(module.kernels[1].name, "send");
    assert_eq!(module.workloads[0].channels[0].name, "send");
}

#[test]
fn main_runs_wherever_it_stands() {
    let module = parse("kernel k(); workload main { k(); } workload other { k(); }");
    assert_eq!(module.entry, Some(WorkloadId(0)));
}

#[test]
fn a_missing_brace_is_found_at_the_next_item_and_costs_no_other() {
    let source = "kernel k();\nworkload main {\n    for i in 0..4 {\n        k();\n}\ntensor x: f32[q];\n";
    let mut sources = SourceMap::default();
    let (module, found) = text::parse("t.wsp", source, &mut sources);
    assert!(module.is_none());
    let codes: Vec<u16> = found.iter().map(|d| d.code.0).collect();
    assert_eq!(codes, [710, 731], "{found:?}");
    let label = sources.line_col(found[0].labels[0].span);
    assert_eq!(label, (3, 19), "the brace that is missing by indentation");
}

#[test]
fn a_broken_task_keeps_its_label() {
    let source = "kernel k(n); workload main { let p = k(4 5); k(1) after p; }";
    let (_, found) = text::parse("t.wsp", source, &mut SourceMap::default());
    assert_eq!(found.iter().map(|d| d.code.0).collect::<Vec<_>>(), [708], "{found:?}");
}

#[test]
fn channels_belong_to_their_workload_wherever_they_are_declared() {
    let module = parse(
        "param n = 2; kernel k(s);
         workload a { channel c[n]; pipeline { process p { send c as s { k(s); } } process q { consume c as s { k(s); } } } }
         workload main { parallel for i in 0..2 { channel c[3]; channel d[1];
             pipeline { process p { send d as s { k(s + i); } consume d as s { k(s); } send c as s { } consume c as s { } } } } }",
    );
    let depths =
        |at: usize| module.workloads[at].channels.iter().map(|c| c.depth.as_const()).collect::<Vec<_>>();
    assert_eq!((depths(0), depths(1)), (vec![None], vec![Some(3), Some(1)]));
}

#[test]
fn a_formal_argument_that_hides_what_a_depth_uses_is_renamed() {
    let source = "param n = 2; kernel k(s);
        workload a(n) { channel c[2]; pipeline { process p { send c as s { k(n); } consume c as s { k(s); } } } }
        workload main { call a(1); }";
    let mut module = parse(source);
    module.workloads[0].channels[0].depth =
        wsp_ir::workload::IntExpr::new(IntExprKind::Param(wsp_core::ParamId(0)));
    let printed = text::print(&module);
    assert!(printed.contains("workload a(n_1) {\n    channel c[n];"), "{printed}");
    let mut read = parse(&printed);
    read.workloads[0].vars[0].name = "n".to_owned();
    assert_eq!(said(&read), said(&module));
}

#[test]
fn a_function_is_one_beside_a_tensor_of_its_name() {
    let module = parse(
        "table t; tensor len: f32[4]; kernel k(n, in x); workload main { parallel for i in 0..4 { k(len(t), len[i]); } }",
    );
    let printed = text::print(&module);
    assert!(printed.contains("k(len(t), len[i]);"), "{printed}");
    assert_eq!(said(&parse(&printed)), said(&module));
}

/// `n` operands with operators between them, one after the other.
fn chain(n: usize, operators: &[&str]) -> String {
    let mut text = "a".to_owned();
    for (at, operator) in operators.iter().cycle().take(n - 1).enumerate() {
        text.push_str(&format!(" {operator} {}", ["b", "c", "7", "(a - b)"][at % 4]));
    }
    text
}

#[test]
fn sums_and_products_of_ten_thousand_terms_are_read_and_printed() {
    for operators in [&["+"][..], &["-", "+"], &["*", "/", "%"], &["*", "*", "+", "-", "*"]] {
        let text = format!(
            "param a; param b; param c; let v = ({} + 1) * 2; kernel k(); workload main {{ k(); }}",
            chain(10_000, operators)
        );
        let module = parse(&text);
        let printed = text::print(&module);
        assert_eq!(said(&module), said(&parse(&printed)), "{operators:?}");
        assert_eq!(printed.matches(operators[0]).count(), text.matches(operators[0]).count());
    }
}

#[test]
fn chains_keep_their_order_and_short_ones_are_trees() {
    let IntExprKind::Chain(first, rest) = value(&chain(1000, &["-"])) else {
        panic!("a long sum is a chain")
    };
    assert_eq!(value(&chain(1000 - rest.len(), &["-"])), first.kind);
    assert!(matches!(
        rest[0].1.kind,
        IntExprKind::Binary(..) | IntExprKind::Param(_) | IntExprKind::Const(7)
    ));
    assert!(matches!(value(&chain(50, &["-"])), IntExprKind::Binary(..)));
}

#[test]
fn what_nests_too_deeply_is_refused_at_any_depth() {
    for depth in [300, 10_000, 500_000] {
        let deep = [
            ["(".repeat(depth), ")".repeat(depth)],
            ["-(".repeat(depth), ")".repeat(depth)],
            ["!".repeat(depth), String::new()],
            ["1 + (".repeat(depth), ")".repeat(depth)],
            ["1 ? 1 : ".repeat(depth), String::new()],
            ["min(1, ".repeat(depth), ")".repeat(depth)],
            ["(".repeat(depth), String::new()],
        ];
        for [open, close] in deep {
            let text = format!("let v = {open}1{close};");
            let (module, found) = text::parse("t.wsp", &text, &mut SourceMap::default());
            assert!(module.is_none());
            assert_eq!(found[0].code.to_string(), "WSP0716", "{depth} times {}", &text[8..24]);
        }
    }
}

#[test]
fn a_mistake_in_a_pipeline_is_told_of_once() {
    let rest = "process p { send c as s { } } process q { consume c as s { } } } }";
    for head in [
        "replicate w in 0.3",
        "replicate w of 0..3",
        "process { } ",
        "process r [",
        "proces r { }",
        "connect p.out -> q.in [2];",
        "connect p to q [2];",
    ] {
        let text = format!("workload main {{ channel c[2]; pipeline {{ {head} {rest} workload other {{ }}");
        let mut sources = SourceMap::default();
        let (_, found) = text::parse("t.wsp", &text, &mut sources);
        assert_eq!(found.len(), 1, "{head}: {found:#?}");
    }
}
