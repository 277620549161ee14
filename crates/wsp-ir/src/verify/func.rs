//! Functions and their variables: WSP0309.

use super::stmt::Flow;
use super::{Checker, rule};
use crate::{Elem, FuncKind, Function, Local, LocalTy};
use wsp_core::words::counted;

/// Checks signature, variables and body of every function.
pub(super) fn check(cx: &mut Checker<'_>) {
    for function in &cx.module.functions {
        cx.function = Some(function);
        cx.scheduled = false;
        signature(cx, function);
        for (i, local) in function.locals.iter().enumerate() {
            check_local(cx, function, i, local);
        }
        cx.block(&function.body, Flow::NoLoop);
    }
    cx.function = None;
}

fn signature<'m>(cx: &mut Checker<'m>, function: &'m Function) {
    let (name, span, params) = (&function.name, function.span, function.params as usize);
    cx.require(params <= function.locals.len(), rule::SIGNATURE, span, || {
        format!(
            "`{name}` has {params} and {}",
            counted(function.locals.len(), "variable"),
            params = counted(params, "parameter")
        )
    });
    match function.kind {
        FuncKind::Kernel { descriptor } => {
            if let Some(id) = descriptor
                && cx.lookup(&cx.module.structs, id.index(), "descriptor type", span).is_some()
            {
                let first = function.locals.first().map(|l| &l.ty);
                cx.require(first == Some(&LocalTy::Descriptor(id)), rule::SIGNATURE, span, || {
                    format!("the first variable of kernel `{name}` is not its descriptor")
                });
            }
            cx.require(params <= 1, rule::SIGNATURE, span, || {
                format!("kernel `{name}` has {params}", params = counted(params, "parameter"))
            });
        }
        FuncKind::Generator { space } => {
            cx.lookup(&cx.module.spaces, space.index(), "space", span);
            cx.require(params == 0, rule::SIGNATURE, span, || format!("generator `{name}` has parameters"));
        }
        FuncKind::Helper => {}
    }
    let yields = function.ret.is_some();
    cx.require(yields == (function.kind == FuncKind::Helper), rule::SIGNATURE, span, || {
        format!("`{name}` must {} a value", if yields { "not yield" } else { "yield" })
    });
}

fn check_local<'m>(cx: &mut Checker<'m>, function: &'m Function, index: usize, local: &'m Local) {
    let kernel = matches!(function.kind, FuncKind::Kernel { .. });
    let name = &local.name;
    match &local.ty {
        LocalTy::Scalar(_) => {}
        LocalTy::Array(elem) => cx.require(elem.is_int(), rule::SIGNATURE, local.span, || {
            format!("array `{name}` must have integer elements, not `{}`", elem.name())
        }),
        LocalTy::Tile(tile) => {
            cx.require(kernel, rule::SIGNATURE, local.span, || {
                format!("tile `{name}` stands outside a kernel")
            });
            if let Elem::Of(tensor) = tile.elem {
                cx.lookup(&cx.module.tensors, tensor.index(), "tensor", local.span);
            }
            cx.launch_int(&tile.rows, "the rows of a tile");
            cx.launch_int(&tile.cols, "the columns of a tile");
        }
        LocalTy::Descriptor(id) => {
            let own = function.kind == FuncKind::Kernel { descriptor: Some(*id) } && index == 0;
            cx.require(own, rule::SIGNATURE, local.span, || {
                format!("`{name}` is a descriptor and not the one that the kernel runs for")
            });
        }
    }
}
