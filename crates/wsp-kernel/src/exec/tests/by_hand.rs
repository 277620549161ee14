//! Kernels built by hand.

use super::{at, expr, function, stmt, u};
use wsp_core::{DType, LocalId, StructId};
use wsp_ir::{
    Block, Elem, Expr, ExprKind, FuncKind, Function, LocalTy, ScalarTy, Stmt, StmtKind, TileOp, TileRole,
    TileTy,
};

/// A kernel under construction; its first local is its descriptor.
pub(super) struct Kernel(Function);

impl Kernel {
    /// With a descriptor of so many words.
    pub(super) fn of(words: u16) -> Kernel {
        let descriptor = StructId(words.into());
        let mut f = function(FuncKind::Kernel { descriptor: Some(descriptor) }, "kernel");
        f.params = 1;
        f.add_local("desc", LocalTy::Descriptor(descriptor), at(0));
        Kernel(f)
    }

    pub(super) fn tile(&mut self, name: &str, rows: u32, cols: u32) -> LocalId {
        self.tile_of(name, Elem::Fixed(DType::F32), u(rows), u(cols))
    }

    pub(super) fn tile_of(&mut self, name: &str, elem: Elem, rows: Expr, cols: Expr) -> LocalId {
        self.0.add_local(name, LocalTy::Tile(TileTy { role: TileRole::Vec, elem, rows, cols }), at(3))
    }

    pub(super) fn var(&mut self, name: &str, ty: ScalarTy) -> LocalId {
        self.0.add_local(name, LocalTy::Scalar(ty), at(0))
    }

    pub(super) fn body(mut self, body: Block) -> Function {
        self.0.body = body;
        self.0
    }
}

/// A word of the descriptor.
pub(super) fn word(n: u32) -> Expr {
    expr(ExprKind::Field(LocalId(0), n), ScalarTy::U32)
}

pub(super) fn tile_op(op: TileOp) -> Stmt {
    stmt(StmtKind::Tile(op))
}
