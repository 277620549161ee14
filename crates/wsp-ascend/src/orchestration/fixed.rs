//! Parameters whose values stand in the text of kernels.

use super::Made;
use wsp_core::{FuncId, ParamId};
use wsp_ir::{Dim, Expr, ExprKind, LocalTy, ParamSource};
use wsp_ordered::OrderedSet;
use wsp_plan::LoweredPlan;

/// Parameters that kernels depend on: those that their code, the functions that it calls, sizes of tiles and dimensions of tensors name, and
/// those from which others of these follow.
pub(super) fn fixed(plan: &LoweredPlan, kernels: &[Made]) -> OrderedSet<ParamId> {
    let module = &plan.module;
    let mut fixed = OrderedSet::new();
    let mut functions: Vec<FuncId> = kernels.iter().map(|made| made.kernel).collect();
    let mut at = 0;
    while let Some(function) = functions.get(at).copied() {
        at += 1;
        let function = &module.functions[function.index()];
        let mut look = |e: &Expr| {
            e.any(&mut |e| {
                match &e.kind {
                    ExprKind::Param(id) => drop(fixed.insert(*id)),
                    ExprKind::Call(callee, _) if !functions.contains(callee) => functions.push(*callee),
                    _ => {}
                }
                false
            });
        };
        wsp_ir::walk::each_expr(&function.body, &mut look);
        for local in &function.locals {
            if let LocalTy::Tile(ty) = &local.ty {
                [&ty.rows, &ty.cols].into_iter().for_each(&mut look);
            }
        }
    }
    let mut look = |e: &Expr| {
        e.any(&mut |e| {
            if let ExprKind::Param(id) = e.kind {
                fixed.insert(id);
            }
            false
        });
    };
    for tensor in &module.tensors {
        let dims = tensor.dims.iter().filter_map(|dim| if let Dim::Expr(e) = dim { Some(e) } else { None });
        dims.for_each(&mut look);
    }
    // Later parameters follow from earlier ones.
    for (at, param) in module.params.iter().enumerate().rev() {
        let id = ParamId(at as u32);
        if let ParamSource::Derived(value) | ParamSource::Set { default: value } = &param.source
            && fixed.contains(&id)
        {
            value.any(&mut |e| {
                if let ExprKind::Param(of) = e.kind {
                    fixed.insert(of);
                }
                false
            });
        }
    }
    fixed
}
