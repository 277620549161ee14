//! Modules that no text makes: a module that keeps the rules, with one thing changed, breaks the rule that it should.

use super::verify;
use crate::BinOp;
use crate::workload::{
    Access, ArgValue, Block, IntExpr, IntExprKind, Iteration, Node, NodeKind, Task, WorkloadModule, text,
};
use wsp_core::limits::MAX_NESTING;
use wsp_core::{
    AxisId, ChannelId, DType, KernelId, LabelId, ParamId, SlotId, TableId, TensorId, VarId, WorkloadId,
};
use wsp_diag::SourceMap;

const BASE: &str = "
use \"k.pto\";
param n = 4; let m = n;
table t = [0, 1, 2];
axis b = dense(n); axis r = ragged(b, t); axis z = sparse(b, t, t); axis d = dense_dyn(n);
tensor x: f32[n]; slot s = n; slot u = 1;
kernel k(in a, out c, p) cost p;
workload w(i, j) { k(x[i], x[j], i); }
workload main {
    for i in b { k(x[i], x, i); for e in r[i] { k(x, x, t[e]); } }
    select e @ p in z[0] { k(x, x, p); }
    call w(1, 2);
    let l = k(x, x, 0);
    let l2 = k(x, x, 0) after l;
    if s { }
}
schedule { task_graph(deps = explicit); dispatch(affinity(b)); }
";

fn base() -> WorkloadModule {
    let (module, found) = text::parse("t.wsp", BASE, &mut SourceMap::default());
    assert!(found.is_empty(), "{found:?}");
    module.expect("the base keeps the rules")
}

/// Changes the base and returns the codes of the findings.
fn codes(change: impl FnOnce(&mut WorkloadModule)) -> Vec<u16> {
    let mut module = base();
    change(&mut module);
    verify(&module).iter().map(|found| found.code.0).collect()
}

fn main_of(module: &mut WorkloadModule) -> &mut Block {
    &mut module.workloads[1].body
}

/// The task of a statement.
fn task(node: &mut Node) -> &mut Task {
    match &mut node.kind {
        NodeKind::Task(task) => task,
        other => panic!("{other:?} is no task"),
    }
}

fn body(node: &mut Node) -> &mut Block {
    match &mut node.kind {
        NodeKind::ForEach { body, .. } | NodeKind::Select { body, .. } => body,
        other => panic!("{other:?} is no loop"),
    }
}

fn value(kind: IntExprKind) -> IntExpr {
    IntExpr::new(kind)
}

#[test]
fn every_id_and_operator_is_checked() {
    let far = 99;
    let scalar = |kind: IntExprKind| {
        codes(move |m| task(&mut main_of(m)[3]).args[2].value = ArgValue::Scalar(value(kind)))
    };
    for kind in [
        IntExprKind::Param(ParamId(far)),
        IntExprKind::Var(VarId(far)),
        IntExprKind::Slot(SlotId(far)),
        IntExprKind::Axis(AxisId(far)),
        IntExprKind::TableLen(TableId(far)),
        IntExprKind::Table(TableId(far), Box::new(0.into())),
    ] {
        assert_eq!(scalar(kind.clone()), [761], "{kind:?}");
    }
    for &op in BinOp::ALL {
        let refused: &[u16] = if op.is_bitwise() { &[764] } else { &[] };
        let of_two = IntExprKind::Binary(op, Box::new(6.into()), Box::new(3.into()));
        assert_eq!(scalar(of_two), refused, "{op:?}");
        let refused: &[u16] = if op.is_sum() || op.is_product() { &[] } else { &[764] };
        let chain = IntExprKind::Chain(Box::new(6.into()), vec![(op, 3.into()), (op, 2.into())]);
        assert_eq!(scalar(chain), refused, "{op:?}");
    }
    for mixed in [vec![], vec![(BinOp::Add, 3.into()), (BinOp::Mul, 2.into())]] {
        assert_eq!(scalar(IntExprKind::Chain(Box::new(6.into()), mixed.clone())), [764], "{mixed:?}");
    }
    let access =
        |tensor| ArgValue::Access(Access { tensor, ranges: Vec::new(), span: wsp_diag::Span::default() });
    assert_eq!(codes(|m| task(&mut main_of(m)[3]).args[0].value = access(TensorId(far))), [761]);
    assert_eq!(codes(|m| task(&mut main_of(m)[3]).kernel = KernelId(99)), [761]);
    assert_eq!(codes(|m| task(&mut main_of(m)[4]).after = vec![LabelId(far)]), [761]);
    assert_eq!(codes(|m| m.kernels[0].cost = Some(value(IntExprKind::Var(VarId(1))))), [761]);
    assert_eq!(codes(|m| m.slots[1].tensor = TensorId(far)), [761]);
    assert_eq!(codes(|m| m.workloads[0].params = u32::MAX), [761, 779]);
    let call = NodeKind::Call { workload: WorkloadId(far), args: Vec::new() };
    assert_eq!(codes(|m| main_of(m)[2].kind = call), [761]);
    let over = |over: Iteration| {
        codes(move |m| match &mut main_of(m)[0].kind {
            NodeKind::ForEach { over: old, .. } => *old = over,
            other => panic!("{other:?} is no loop"),
        })
    };
    assert_eq!(over(Iteration::Axis(AxisId(far))), [761]);
    assert_eq!(over(Iteration::Ragged { axis: AxisId(far), outer: 0.into() }), [761]);
}

#[test]
fn ids_of_axes_are_checked() {
    use crate::workload::AxisKind;
    let far = 99;
    let kind = |at: usize, kind: AxisKind| codes(move |m| m.axes[at].kind = kind);
    assert_eq!(kind(3, AxisKind::DenseDyn(ParamId(far))), [761]);
    assert!(kind(3, AxisKind::Ragged { outer: AxisId(far), lengths: TableId(0) }).contains(&761));
    assert!(kind(3, AxisKind::Ragged { outer: AxisId(0), lengths: TableId(far) }).contains(&761));
    let sparse = |indptr, indices| AxisKind::Sparse { outer: AxisId(0), indptr, indices };
    assert_eq!(kind(2, sparse(TableId(far), TableId(0))), [761]);
    assert_eq!(kind(2, sparse(TableId(0), TableId(far))), [761]);
}

#[test]
fn a_variable_is_used_inside_its_binder_only() {
    let use_var = |var| {
        codes(move |m| {
            task(&mut main_of(m)[3]).args[2].value = ArgValue::Scalar(value(IntExprKind::Var(VarId(var))))
        })
    };
    assert_eq!(use_var(0), [765]);
    assert_eq!(use_var(3), [765]);
}

#[test]
fn a_variable_is_bound_once_and_in_order() {
    let rebind = |at: usize, to: u32| {
        codes(move |m| match &mut main_of(m)[at].kind {
            NodeKind::ForEach { var, .. } | NodeKind::Select { var, .. } => *var = VarId(to),
            other => panic!("{other:?} is no binder"),
        })
    };
    assert!(rebind(1, 0).contains(&765), "bound twice");
    assert!(rebind(0, 3).contains(&765), "out of order");
    assert!(rebind(0, 99).contains(&761));
    let unbound = codes(|m| {
        let var = m.workloads[1].vars[0].clone();
        m.workloads[1].vars.push(var);
    });
    assert_eq!(unbound, [765]);
    let twice = codes(|m| {
        let outer = main_of(m)[0].clone();
        body(&mut main_of(m)[0]).push(outer);
    });
    assert!(twice.contains(&765), "{twice:?}");
}

#[test]
fn slots_have_tensors_of_their_own_in_order() {
    assert_eq!(codes(|m| m.slots.swap(0, 1)), [769]);
    assert_eq!(codes(|m| m.slots[1].tensor = m.slots[0].tensor), [769]);
    assert_eq!(codes(|m| m.tensors[1].dtype = DType::F32), [769]);
    assert_eq!(codes(|m| m.tensors[1].dims = vec![2.into()]), [769]);
    assert!(codes(|m| m.tensors[1].dims = Vec::new()).contains(&768));
}

#[test]
fn labels_are_defined_once_in_order_and_before_their_use() {
    assert_eq!(codes(|m| task(&mut main_of(m)[3]).label = None), [780, 780, 780]);
    assert_eq!(codes(|m| task(&mut main_of(m)[3]).label = Some(LabelId(1))), [780, 780, 780, 780]);
    assert_eq!(codes(|m| task(&mut main_of(m)[3]).after = vec![LabelId(1)]), [780]);
    assert_eq!(codes(|m| task(&mut main_of(m)[3]).label = Some(LabelId(9))), [780, 761, 780, 780]);
}

#[test]
fn the_entry_is_main_or_the_last() {
    assert_eq!(codes(|m| m.entry = Some(WorkloadId(0))), [781]);
    assert_eq!(codes(|m| m.entry = None), [781]);
    let mut empty = WorkloadModule { entry: Some(WorkloadId(0)), ..WorkloadModule::default() };
    assert_eq!(verify(&empty).len(), 1);
    empty.entry = None;
    assert!(verify(&empty).is_empty());
}

#[test]
fn names_are_names() {
    for name in ["", "1a", "a b", "für", "for", "a;", "in"] {
        let all: [fn(&mut WorkloadModule, &str); 11] = [
            |m, name| m.params[0].name = name.to_owned(),
            |m, name| m.tables[0].name = name.to_owned(),
            |m, name| m.axes[0].name = name.to_owned(),
            |m, name| m.tensors[0].name = name.to_owned(),
            |m, name| m.tensors[1].name = name.to_owned(),
            |m, name| m.kernels[0].name = name.to_owned(),
            |m, name| m.workloads[0].name = name.to_owned(),
            |m, name| m.workloads[1].vars[0].name = name.to_owned(),
            |m, name| m.workloads[1].labels[0].name = name.to_owned(),
            |m, name| task(&mut main_of(m)[3]).args[0].name = Some(name.to_owned()),
            |m, name| {
                m.schedules.push(crate::workload::Schedule { name: name.to_owned(), ..Default::default() })
            },
        ];
        for (at, change) in all.iter().enumerate() {
            let found = codes(|m| change(m, name));
            let expected = if at == 9 { 774 } else { 762 };
            assert!(found.contains(&expected), "{name:?} of {at}: {found:?}");
        }
    }
    assert_eq!(codes(|m| m.uses[0].path = "a\nb".to_owned()), [762]);
    assert_eq!(codes(|m| m.workloads[1].vars[1].name = "x".to_owned()), [] as [u16; 0]);
}

#[test]
fn what_is_nested_too_deeply_is_not_walked() {
    let deep = |depth: u32| {
        let one = || Box::new(IntExpr::from(1));
        (1..depth)
            .fold(IntExpr::from(1), |tree, _| value(IntExprKind::Binary(BinOp::Add, Box::new(tree), one())))
    };
    let init = |depth: u32| codes(move |m| m.slots[0].init = deep(depth));
    assert_eq!(init(MAX_NESTING), [] as [u16; 0]);
    assert_eq!(init(MAX_NESTING + 1), [760]);
    assert_eq!(init(20_000), [760]);
    let blocks = |depth: u32| {
        codes(move |m| {
            for _ in 1..depth {
                let inner = std::mem::take(main_of(m));
                let node = Node { kind: NodeKind::Combine(vec![inner]), span: wsp_diag::Span::default() };
                *main_of(m) = vec![node];
            }
        })
    };
    // The base itself nests three deep.
    assert_eq!(blocks(MAX_NESTING - 2), [] as [u16; 0]);
    assert_eq!(blocks(MAX_NESTING - 1), [760]);
    assert_eq!(blocks(5_000), [760]);
}

#[test]
fn an_expression_that_is_too_deep_is_shown_whole_with_what_to_write() {
    let mut module = base();
    let name = wsp_diag::Span::new(wsp_diag::FileId(0), 1, 2);
    let whole = wsp_diag::Span::new(wsp_diag::FileId(0), 10, 50);
    let leaf = IntExpr { span: name, ..IntExpr::from(1) };
    let deep =
        (0..MAX_NESTING).fold(leaf, |tree, _| value(IntExprKind::Unary(crate::UnOp::Neg, Box::new(tree))));
    module.slots[0].init = IntExpr { span: whole, ..deep };
    let found = verify(&module);
    assert_eq!(found[0].primary.as_ref().map(|label| label.span), Some(whole));
    assert_eq!(found[0].help, ["balance it with parentheses, or take a part of it from a table or a slot"]);
}

#[test]
fn slots_are_read_in_bounds_of_tasks_that_do_not_write_them() {
    let read = "slot s = 0; slot u = 0; tensor x: f32[4]; kernel k(in a, inout b, n);\n";
    let check = |call: &str| {
        let source = format!("{read}workload main {{ {call} }}");
        text::parse("t.wsp", &source, &mut SourceMap::default())
            .1
            .iter()
            .map(|d| d.code.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(check("k(x[u], s, s);"), [] as [u16; 0]);
    assert_eq!(check("k(s[s], u, 0);"), [] as [u16; 0]);
    assert_eq!(check("k(x[0 +: s], s, 0);"), [776]);
}

#[test]
fn findings_are_bounded() {
    let found = codes(|m| {
        let node = Node {
            kind: NodeKind::Call { workload: WorkloadId(9), args: Vec::new() },
            span: wsp_diag::Span::default(),
        };
        main_of(m).extend(vec![node; 500]);
    });
    assert_eq!(found.len(), wsp_core::limits::MAX_DIAGNOSTICS as usize);
}

/// A module with a pipeline of two processes.
fn pipelined() -> WorkloadModule {
    let source = "kernel k(s); workload main { channel c[2]; pipeline {
        process p { send c as s { k(s); } } process q { consume c as s { k(s); } } } }";
    let (module, found) = text::parse("t.wsp", source, &mut SourceMap::default());
    assert!(found.is_empty(), "{found:?}");
    module.expect("the module keeps the rules")
}

#[test]
fn ids_and_slots_of_channels_are_checked() {
    let codes = |change: &dyn Fn(&mut NodeKind)| {
        let mut module = pipelined();
        let NodeKind::Pipeline { processes } = &mut module.workloads[0].body[0].kind else {
            panic!("the first statement is a pipeline")
        };
        change(&mut processes[1].body[0].kind);
        verify(&module).iter().map(|found| found.code.0).collect::<Vec<_>>()
    };
    let consume = |kind: &mut NodeKind, to: ChannelId, slot: VarId| {
        if let NodeKind::Consume { arms, .. } = kind {
            (arms[0].channel, arms[0].var) = (to, slot);
        }
    };
    assert_eq!(codes(&|kind| consume(kind, ChannelId(9), VarId(1))), [791, 761]);
    assert!(codes(&|kind| consume(kind, ChannelId(0), VarId(0))).contains(&765));
    assert!(codes(&|kind| consume(kind, ChannelId(0), VarId(7))).contains(&761));
    let mut deep = pipelined();
    deep.workloads[0].channels[0].depth = value(IntExprKind::Param(ParamId(4)));
    assert_eq!(verify(&deep).iter().map(|found| found.code.0).collect::<Vec<_>>(), [761]);
}
