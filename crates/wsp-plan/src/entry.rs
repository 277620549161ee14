//! Entries of `.pto` files as task graphs see them: what a kernel does with its arguments, before it runs.

use crate::{summarise, walk};
use wsp_core::tg::Direction;
use wsp_core::{AccessKind, FuncId, ParamId, TensorId};
use wsp_ir::tg::{ArgSignature, KernelSignature};
use wsp_ir::{
    Arg, ArrayRef, Dim, Elem, Expr, ExprKind, KernelEntry, LocalTy, Module, ParamSource, Stmt, StmtKind,
    Tensor,
};
use wsp_ordered::OrderedSet;

/// What is known of an entry of a verified module before memory is bound to it.
///
/// `extent` gives the value of a dimension, if it is known by then. Of an argument that the kernel neither loads nor stores the
/// direction is [`Direction::In`]. The workspace has the bytes of its shape, with 1 for an extent that follows from the bytes
/// bound.
pub fn signature(
    module: &Module,
    entry: &KernelEntry,
    extent: &dyn Fn(&Expr) -> Option<u64>,
) -> KernelSignature {
    let uses = Uses::of(module, entry.function);
    let describe = |id: TensorId| {
        let tensor = &module.tensors[id.index()];
        ArgSignature {
            name: tensor.name.clone(),
            direction: uses.direction(id),
            dtype: match tensor.elem {
                Elem::Fixed(dtype) => Some(dtype),
                Elem::Of(_) => None,
            },
            shape: shape(tensor, extent),
        }
    };
    KernelSignature {
        name: module.entry_name(entry).to_owned(),
        args: entry.arguments().map(describe).collect(),
        resident: entry.residents.iter().copied().map(describe).collect(),
        workspace: entry.workspace().map(describe).and_then(|w| w.least_bytes()).unwrap_or(0),
    }
}

fn shape(tensor: &Tensor, extent: &dyn Fn(&Expr) -> Option<u64>) -> Vec<Option<u64>> {
    let dim = |dim: &Dim| match dim {
        Dim::Expr(e) => extent(e),
        Dim::Dynamic | Dim::Axis(_) => None,
    };
    tensor.dims.iter().map(dim).collect()
}

/// Tensors that a kernel loads from and stores to.
struct Uses {
    loaded: OrderedSet<TensorId>,
    stored: OrderedSet<TensorId>,
}

impl Uses {
    fn of(module: &Module, function: FuncId) -> Uses {
        let mut uses = Uses { loaded: OrderedSet::new(), stored: OrderedSet::new() };
        for access in summarise(module, function) {
            match access.mode {
                AccessKind::Read => uses.loaded.insert(access.tensor),
                AccessKind::Write => uses.stored.insert(access.tensor),
            };
        }
        // Accesses are those that order tasks; integers read as arrays are not among them.
        each_body(module, function, &mut |stmt| {
            if let StmtKind::LetArray { array: ArrayRef::Tensor(id), .. } = &stmt.kind {
                uses.loaded.insert(*id);
            }
            walk::exprs(stmt, &mut |e| arrays(e, &mut uses.loaded));
        });
        uses
    }

    fn direction(&self, tensor: TensorId) -> Direction {
        match (self.loaded.contains(&tensor), self.stored.contains(&tensor)) {
            (_, false) => Direction::In,
            (false, true) => Direction::Out,
            (true, true) => Direction::InOut,
        }
    }
}

/// Calls `f` on every statement of a function and of those that it calls.
fn each_body<'a>(module: &'a Module, function: FuncId, f: &mut impl FnMut(&'a Stmt)) {
    for id in functions(module, function) {
        if let Some(function) = module.functions.get(id.index()) {
            walk::stmts(&function.body, f);
        }
    }
}

/// The tensors that an expression reads as arrays of integers.
fn arrays(e: &Expr, out: &mut OrderedSet<TensorId>) {
    match &e.kind {
        ExprKind::Load(ArrayRef::Tensor(id), _)
        | ExprKind::ArrayMax(ArrayRef::Tensor(id), _)
        | ExprKind::ArraySum(ArrayRef::Tensor(id), _) => {
            out.insert(*id);
        }
        ExprKind::Call(_, args) => out.extend(args.iter().filter_map(|arg| match arg {
            Arg::Array(ArrayRef::Tensor(id)) => Some(*id),
            Arg::Array(_) | Arg::Scalar(_) => None,
        })),
        _ => {}
    }
    e.for_each_child(&mut |child| arrays(child, out));
}

/// A function and those that it calls.
pub fn functions(module: &Module, function: FuncId) -> OrderedSet<FuncId> {
    let mut called = OrderedSet::new();
    walk::callees(module, function, &mut called);
    called
}

/// Parameters whose values the code of a kernel needs, in it, in the sizes of its tiles, and in the functions that it calls.
pub fn parameters(module: &Module, function: FuncId) -> OrderedSet<ParamId> {
    let mut used = OrderedSet::new();
    let note = |e: &Expr, used: &mut OrderedSet<ParamId>| {
        e.any(&mut |e| {
            if let ExprKind::Param(id) = e.kind {
                used.insert(id);
            }
            false
        });
    };
    each_body(module, function, &mut |stmt| walk::exprs(stmt, &mut |e| note(e, &mut used)));
    if let Some(function) = module.functions.get(function.index()) {
        for local in &function.locals {
            if let LocalTy::Tile(tile) = &local.ty {
                note(&tile.rows, &mut used);
                note(&tile.cols, &mut used);
            }
        }
    }
    used
}

/// Names of the parameters of a file of kernels that the user of the file may give values.
pub fn settable(module: &Module) -> impl Iterator<Item = &str> {
    let set = |p: &&wsp_ir::Param| matches!(p.source, ParamSource::Set { .. });
    module.params.iter().filter(set).map(|p| p.name.as_str())
}
