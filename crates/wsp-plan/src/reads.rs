//! Which arrays of the launch a function reads as integers.

use crate::walk;
use wsp_core::{FuncId, TensorId};
use wsp_ir::{Arg, ArrayRef, ExprKind, ExtentSource, Module, StmtKind};
use wsp_ordered::OrderedSet;

/// The arrays of the launch that a function and all that it calls read element by element, or hand on; each once, none of
/// them local.
pub fn arrays_read(module: &Module, func: FuncId) -> Vec<ArrayRef> {
    let (mut functions, mut arrays) = (OrderedSet::new(), Vec::new());
    walk::callees(module, func, &mut functions);
    let mut note = |array: &ArrayRef| {
        if !matches!(array, ArrayRef::Local(_)) && !arrays.contains(array) {
            arrays.push(*array);
        }
    };
    for body in functions.iter().map(|id| &module.functions[id.index()].body) {
        walk::any_expr(body, &mut |e| {
            match &e.kind {
                ExprKind::Load(a, _) | ExprKind::ArrayMax(a, _) | ExprKind::ArraySum(a, _) => note(a),
                ExprKind::Call(_, args) => args.iter().for_each(|arg| {
                    if let Arg::Array(a) = arg {
                        note(a);
                    }
                }),
                _ => {}
            }
            false
        });
        walk::stmts(body, &mut |stmt| match &stmt.kind {
            StmtKind::LetArray { array, .. }
            | StmtKind::SetExtent { extent: ExtentSource::PerOuter(array), .. } => note(array),
            _ => {}
        });
    }
    arrays
}

/// Whether some function of a module moves tiles or single elements from or to a tensor.
pub fn is_moved(module: &Module, tensor: TensorId) -> bool {
    let mut found = false;
    let bodies = module.functions.iter().map(|function| &function.body);
    bodies.for_each(|body| walk::tensors(body, &mut |id, _| found |= id == tensor));
    found
}
