//! Accesses of launches: which there are, and whether two of them touch the same bytes.

use super::super::Cx;
use super::super::access::Access;
use super::super::order::Order;
use super::super::overlap::{overlap, overlap_where, takes};
use super::Steps;
use super::conditions::{Condition, Declared, Forms};
use super::runs::{needs, surely_runs};
use super::way::{Launch, Way};
use crate::Certainty;
use std::rc::Rc;
use wsp_core::tg::{ExprOp, GraphNo, Instr, Scalar, TensorRef};
use wsp_ir::tg::outline::Variable;
use wsp_ordered::Arrange;

/// Per graph the graphs that it is made of.
pub(in super::super) fn parts(cx: &Cx<'_>) -> Vec<Vec<u32>> {
    let mut parts: Vec<Vec<u32>> = Vec::new();
    for (at, graph) in (0u32..).zip(&cx.outline.graphs) {
        let of = |no: GraphNo| cx.outline.graph(no).filter(|part| *part < at);
        let made = match graph.parts {
            Some((first, second)) => {
                let fused = [first, second].into_iter().filter_map(of);
                fused.flat_map(|part| parts[part as usize].clone()).collect()
            }
            None => vec![at],
        };
        parts.push(made);
    }
    parts
}

/// The graphs that the host launches or restores, each time.
pub(super) fn launched_graphs(cx: &Cx<'_>) -> impl Iterator<Item = u32> {
    cx.module.instrs.iter().filter_map(|instr| match instr {
        Instr::TgLaunch { graph_id, .. }
        | Instr::TgInvoke { graph_id, .. }
        | Instr::TgRestore { graph_id, .. } => cx.outline.graph(*graph_id),
        _ => None,
    })
}

/// Accesses of kernels and copies, and what conditions load, by tensor and then in program order.
pub(in super::super) fn with_loads(cx: &Cx<'_>, order: &Order) -> Rc<[Access]> {
    let decisions = order.decisions();
    let loads = cx.accesses.loads.iter();
    let loads = loads.filter_map(|load| decisions.get(&load.at).map(|&node| Access { node, ..*load }));
    let mut list: Vec<Access> = cx.accesses.list.iter().copied().chain(loads).collect();
    list.arrange_by_key(|access| (access.tensor, access.place, access.at));
    list.into()
}

/// Whether two accesses touch the same bytes, and whether they surely do.
pub(super) fn meets(cx: &Cx<'_>, a: &Access, b: &Access) -> Option<bool> {
    let moves = moves(cx, a) || moves(cx, b);
    match overlap(cx.known, cx.outline, a, b) {
        Certainty::Surely => Some(!moves && !is_conditional(a) && !is_conditional(b)),
        Certainty::Maybe => Some(false),
        Certainty::Never => moves.then_some(false),
    }
}

/// Whether two accesses of two launches touch the same bytes on a way.
pub(super) fn meets_on(
    cx: &Cx<'_>,
    (way, forms): (&Way, &mut Forms),
    (is_sure, (x, a), (y, b)): (bool, (&Access, &Launch), (&Access, &Launch)),
    steps: &mut Steps,
) -> Certainty {
    let needs: Vec<(Condition, bool)> = [(x, a), (y, b)]
        .into_iter()
        .flat_map(|(of, launch)| needs(cx, forms, of, launch.iteration))
        .collect();
    if !needs.is_empty() && !way.allows(forms, &needs, steps) {
        return Certainty::Never;
    }
    let overlap = match (is_sure, a.iteration, b.iteration) {
        (true, ..) => Certainty::Surely,
        (false, Some(of_a), Some(of_b)) => {
            let [of_a, of_b] = [of_a, of_b].map(|iteration| [(Variable::Iteration, iteration)]);
            overlap_where(cx.known, cx.outline, (x, &of_a), (y, &of_b))
        }
        _ => Certainty::Maybe,
    };
    match overlap {
        Certainty::Surely if is_conditional(x) || is_conditional(y) => Certainty::Maybe,
        overlap => overlap,
    }
}

/// Whether a launch on a way may do an access, to its tensor.
pub(super) fn may_take(
    cx: &Cx<'_>,
    (way, forms): (&Way, &mut Forms),
    access: &Access,
    launch: &Launch,
    steps: &mut Steps,
) -> bool {
    let iteration: Vec<(Variable, i64)> =
        launch.iteration.iter().map(|iteration| (Variable::Iteration, *iteration)).collect();
    if takes(cx.known, cx.outline, (access, &iteration)) == Some(false) {
        return false;
    }
    let needs = needs(cx, forms, access, launch.iteration);
    needs.is_empty() || way.allows(forms, &needs, steps)
}

/// Whether an access is done only as the left side of an operator goes.
pub(super) fn is_conditional(access: &Access) -> bool {
    access.load.is_some_and(|load| load.is_conditional)
}

/// Whether an access takes place each time that its graph runs.
pub(super) fn is_certain(cx: &Cx<'_>, access: &Access) -> bool {
    surely_runs(cx, access) && !is_conditional(access)
}

/// Whether the tensor or the bytes of an access differ from launch to launch.
fn moves(cx: &Cx<'_>, access: &Access) -> bool {
    if let Some(load) = access.load {
        return !access.exact && load.offset(cx.module).contains(&ExprOp::Iteration);
    }
    let Instr::McBind { tensor_id, offset, size, .. } = cx.module.instrs[access.at as usize] else {
        return false;
    };
    let moves = |scalar: Scalar| cx.module.scalar(scalar).contains(&ExprOp::Iteration);
    // A scalar of the host may have another value for each launch; sums with it are not compared anyway.
    let differs = |op: &ExprOp| match *op {
        ExprOp::Iteration => true,
        ExprOp::Arg(arg) => !Declared::of(cx).is_of_launch(arg),
        _ => false,
    };
    let is_other = match tensor_id {
        TensorRef::Table { index, .. } => cx.module.expr(index).iter().any(differs),
        _ => false,
    };
    is_other || (!access.exact && (moves(offset) || moves(size)))
}
