//! Values that are known, in the place of what pushes them; what bytes depend on where values are not known.

use super::Cx;
use super::access::Access;
use wsp_core::tg::{ExprOp, GraphNo, Instr, Scalar, TensorRef};
use wsp_ir::tg::{Namespace, TgModule};

/// The unit with values in the place of scalars that are known; none if there are none to put in.
pub(super) fn with_scalars(module: &TgModule, scalars: &[Option<i64>]) -> Option<TgModule> {
    with_values(module, &|op| match *op {
        ExprOp::Arg(arg) => scalars.get(arg as usize).copied().flatten(),
        _ => None,
    })
}

/// The unit with values in the place of operations that push them; none if there are none to put in.
pub(super) fn with_values(module: &TgModule, value: &dyn Fn(&ExprOp) -> Option<i64>) -> Option<TgModule> {
    if !module.exprs.iter().any(|op| value(op).is_some()) {
        return None;
    }
    let mut known = module.clone();
    for op in &mut known.exprs {
        if let Some(value) = value(op) {
            *op = ExprOp::Const(value);
        }
    }
    Some(known)
}

/// What the bytes of a binding or a load depend on.
pub(super) fn depends_on(cx: &Cx<'_>, access: &Access) -> String {
    let ops: Vec<ExprOp> = match (access.load, &cx.module.instrs[access.at as usize]) {
        (Some(load), _) => load.offset(cx.module).to_vec(),
        (None, Instr::McBind { tensor_id, offset, size, .. }) => {
            let index = match *tensor_id {
                TensorRef::Table { index, .. } => Scalar::Expr(index),
                _ => Scalar::Const(0),
            };
            [*offset, *size, index].into_iter().flat_map(|of| cx.module.scalar(of)).copied().collect()
        }
        _ => Vec::new(),
    };
    let mut names: Vec<String> = Vec::new();
    for op in ops {
        let name = match op {
            ExprOp::Arg(arg) => match cx.module.args.get(arg as usize) {
                Some(arg) => format!("`{}`", cx.module.str(arg.name)),
                None => continue,
            },
            ExprOp::Iter(iter) => format!("`{}`", cx.module.name(Namespace::Iter, GraphNo(0), iter.0)),
            ExprOp::Iteration => "the iteration".to_owned(),
            ExprOp::Device => "the device".to_owned(),
            ExprOp::Devices => "how many devices there are".to_owned(),
            _ => continue,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}
