//! Tile operations and their operands.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::codes;
use super::diags::{Reported, Res};
use super::names::{Named, Symbol};
use super::place::TileDirection;
use super::tiles::TileCall;
use crate::ast::{self, ExprKind, Ident};
use wsp_core::{AccessKind, DType, LocalId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    BinaryTileOp, Elem, Expr, LocalTy, Operand, Place, PtoWord, ReduceOp, ScalarTy, StmtKind, TileOp,
    TileOpKind, TileOpRow, TileSource, TileTy, UnaryTileOp,
};
use wsp_ordered::Arrange;

impl Sema<'_> {
    /// The type of a tile variable.
    pub(crate) fn tile_ty(&self, b: &Body, tile: LocalId) -> TileTy {
        match &b.locals[tile.index()].ty {
            LocalTy::Tile(ty) => ty.clone(),
            other => unreachable!("a tile binding names a tile, not {other:?}"),
        }
    }

    /// Tile operations are for kernels.
    pub(crate) fn check_tile_place(&mut self, b: &Body, callee: &Ident) -> Res<()> {
        match b.kind {
            BodyKind::Kernel | BodyKind::Probe => Ok(()),
            _ => {
                Err(self.not_here(callee, "only `PTO_KERNEL_IMPL` and inline functions it calls have tiles"))
            }
        }
    }

    /// A tile operation as a statement.
    pub(crate) fn tile_statement(
        &mut self,
        b: &mut Body,
        call: TileCall,
        callee: &Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Res<StmtKind> {
        self.check_tile_place(b, callee)?;
        self.check_arity(callee, call.word.arity(), args.len(), span)?;
        let Some(row) = call.row else { return self.store_element(b, args) };
        self.check_order(b, call.word, args)?;
        self.check_adds_here(call.word, callee)?;
        let mut from = Arguments {
            sema: self,
            b,
            callee,
            word: call.word,
            row,
            args,
            tensor: None,
            tile: None,
            transposed: false,
            spans: Vec::new(),
            failed: None,
        };
        let op = TileOp::build(row.form, &mut from)?;
        let Arguments { spans, failed, .. } = from;
        let op = op.unwrap_or_else(|| unreachable!("the table names forms, and `{}` is none", row.form));
        if let Some(reported) = failed {
            return Err(reported);
        }
        self.check_tiles(b, callee, &op, &spans, args)?;
        Ok(StmtKind::Tile(op))
    }

    /// Refuses a tile in the place of the tensor of a load or store, with the order that is meant.
    fn check_order(&mut self, b: &Body, word: &'static PtoWord, args: &[ast::Expr]) -> Res<()> {
        let tile_at = ["dst", "src"].into_iter().find_map(|field| word.position(field));
        let (Some(tensor_at), Some(tile_at)) = (word.position("tensor"), tile_at) else { return Ok(()) };
        let (first, other) = (&args[tensor_at], &args[tile_at]);
        let Some(tile) = first.as_name().filter(|_| self.is_tile(b, first)) else { return Ok(()) };
        let tile = tile.as_str();
        let d = Diagnostic::error(codes::WRONG_KIND, format!("`{tile}` is a tile, not a tensor"))
            .at(first.span, "a tensor is needed here");
        let tensor = other.as_name().filter(|name| self.is_tensor(name.as_str()));
        Err(self.fail(match &tensor {
            Some(tensor) => {
                let tensor = tensor.as_str();
                let mut order = [tile, tensor];
                order.arrange_by_key(|name| if *name == tile { tile_at } else { tensor_at });
                let call = format!("{}({}, {}, {{…}});", word.name, order[0], order[1]);
                d.label(other.span, format!("`{tensor}` is the tensor"))
                    .help(format!("the operands are in the other order: write `{call}`"))
            }
            None => d.help(format!("it is written `{};`", word.usage())),
        }))
    }

    fn is_tensor(&self, name: &str) -> bool {
        matches!(self.lookup(name), Some(Named { symbol: Symbol::Tensor(_), .. }))
    }

    /// `PTO_STORE_SCALAR(tensor, value, {…})`.
    fn store_element(&mut self, b: &mut Body, args: &[ast::Expr]) -> Res<StmtKind> {
        let tensor = self.element_tensor(b, &args[0]).and_then(|id| self.check_stored(id, args[0].span));
        let ty = tensor.as_ref().map_or(ScalarTy::F32, |id| self.module.tensors[id.index()].elem.scalar());
        let value = self.scalar_as(b, &args[1], ty);
        let tensor = tensor?;
        let index = self.full_index(b, tensor, &args[2])?;
        Ok(StmtKind::StoreScalar { tensor, index, value: value? })
    }

    pub(super) fn is_tile(&self, b: &Body, e: &ast::Expr) -> bool {
        matches!(&e.kind, ExprKind::Name(name) if matches!(b.find(name), Some(Binding::Tile(_))))
    }
}

/// The arguments of a call as operands. What is wrong with each is reported: its operand is then any, and the call fails.
struct Arguments<'s, 'm> {
    sema: &'s mut Sema<'m>,
    b: &'s mut Body,
    callee: &'s Ident,
    word: &'static PtoWord,
    row: &'static TileOpRow,
    args: &'s [ast::Expr],
    /// The tensor, and the tile that was named last: what a place is for.
    tensor: Option<(TensorId, TileDirection)>,
    tile: Option<LocalId>,
    /// The right operand is in `PTO_TRANSPOSE`.
    transposed: bool,
    /// Where each tile is named.
    spans: Vec<Span>,
    failed: Option<Reported>,
}

impl<'s> Arguments<'s, '_> {
    fn given(&self, field: &str) -> Option<&'s ast::Expr> {
        self.args.get(self.word.position(field)?)
    }

    /// The argument of a field that a call must have.
    fn needed(&self, field: &str) -> &'s ast::Expr {
        self.given(field)
            .unwrap_or_else(|| unreachable!("the arguments of `{}` have no `{field}`", self.word.name))
    }

    fn keep<V>(&mut self, value: Res<V>) -> Option<V> {
        value.map_err(|reported| self.failed = Some(reported)).ok()
    }

    /// Refuses a load of `double` elements into a tile that does not hold them; integers are looked at where the place is.
    fn check_width(&mut self, tensor: TensorId, access: AccessKind, at: Span) -> Res<TensorId> {
        let doubles = Elem::Fixed(DType::F64);
        let from = &self.sema.module.tensors[tensor.index()];
        let narrow = self.tile.filter(|tile| self.sema.tile_ty(self.b, *tile).elem != doubles);
        let narrow = narrow.filter(|tile| !self.sema.tile_ty(self.b, *tile).elem.is_integer());
        let (AccessKind::Read, true, Some(tile)) = (access, from.elem == doubles, narrow) else {
            return Ok(tensor);
        };
        let to = &self.b.locals[tile.index()];
        let message = format!("tensor `{}` holds `double`, and tile `{}` does not", from.name, to.name);
        let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
            .at(at, "its elements do not fit the tile")
            .label(to.span, "this tile")
            .help("declare a tile of `double` to load them into; `TCVT` rounds it to another one");
        Err(self.sema.fail(d))
    }

    fn tile_in(&mut self, e: &ast::Expr) -> Option<LocalId> {
        let tile = self.sema.tile(self.b, e);
        self.tile = self.keep(tile);
        self.spans.push(e.span);
        self.tile
    }

    fn number_in(&mut self, e: &ast::Expr, ty: ScalarTy) -> Expr {
        let whole =
            self.tile.map(|tile| self.sema.tile_ty(self.b, tile).elem).filter(|elem| elem.is_integer());
        let number = match whole.filter(|_| ty == ScalarTy::F32) {
            Some(elem) => self.sema.integer_as(self.b, e, elem),
            None => self.sema.scalar_as(self.b, e, self.type_of(ty)),
        };
        self.keep(number).unwrap_or_else(|| Expr::u32(0, e.span))
    }

    /// The type of a number that the form has as `ty` and that meets no tile of integers: `double` in an operation that has a tile of
    /// `double`, wherever it stands.
    fn type_of(&self, ty: ScalarTy) -> ScalarTy {
        let double = |e: &ast::Expr| match &e.kind {
            ExprKind::Name(name) => match self.b.find(name) {
                Some(Binding::Tile(tile)) => self.sema.tile_ty(self.b, *tile).elem.operand() == ScalarTy::F64,
                _ => false,
            },
            _ => false,
        };
        if ty == ScalarTy::F32 && self.args.iter().any(double) { ScalarTy::F64 } else { ty }
    }

    /// The tile in `PTO_TRANSPOSE`.
    fn transposed<'e>(&mut self, e: &'e ast::Expr) -> Option<&'e ast::Expr> {
        let ExprKind::Call { callee, args, .. } = &e.kind else { return Some(e) };
        if callee.as_str() != "PTO_TRANSPOSE" {
            return Some(e);
        }
        let arity = self.sema.check_arity(callee, (1, 1), args.len(), e.span);
        self.keep(arity)?;
        self.transposed = true;
        args.first()
    }
}

/// Stands for a tile that could not be read; the call fails.
const NO_TILE: LocalId = LocalId(0);

impl TileSource<LocalId, Expr, Place> for Arguments<'_, '_> {
    type Error = Reported;

    fn tile(&mut self, field: &'static str) -> Res<LocalId> {
        let e = self.needed(field);
        if let (ExprKind::Braces(_), "store") = (&e.kind, self.row.form) {
            let message = format!("`{}` stores a tile", self.callee.as_str());
            return Err(self.sema.fail(
                Diagnostic::error(codes::TYPE_MISMATCH, message)
                    .at(e.span, "this is a list of values")
                    .help("store each value by itself: `PTO_STORE_SCALAR(tensor, value, {…})`"),
            ));
        }
        let named = if (self.row.form, field) == ("matmul", "b") { self.transposed(e) } else { Some(e) };
        Ok(named.and_then(|e| self.tile_in(e)).unwrap_or(NO_TILE))
    }

    fn number(&mut self, field: &'static str, ty: ScalarTy) -> Res<Expr> {
        let e = self.needed(field);
        Ok(self.number_in(e, ty))
    }

    fn optional(&mut self, field: &'static str, ty: ScalarTy) -> Res<Option<Expr>> {
        Ok(self.given(field).map(|e| self.number_in(e, ty)))
    }

    fn tensor(&mut self, field: &'static str, access: AccessKind) -> Res<TensorId> {
        let e = self.needed(field);
        let tensor = self.sema.tensor(self.b, e);
        let tensor = tensor.and_then(|tensor| self.check_width(tensor, access, e.span));
        let tensor = self.keep(tensor);
        let access = if access == AccessKind::Read { TileDirection::Load } else { TileDirection::Store };
        self.tensor = tensor.map(|tensor| (tensor, access));
        Ok(tensor.unwrap_or(TensorId(0)))
    }

    fn place(&mut self, field: &'static str) -> Res<Place> {
        let list = self.needed(field);
        let place = match (self.tensor, self.tile) {
            (Some((tensor, access)), Some(tile)) => {
                let stores = access == TileDirection::Store;
                let moves = self.sema.check_moves(self.b, self.callee, tensor, tile, stores);
                let place = moves.and_then(|()| self.sema.place(self.b, tensor, tile, list, access));
                self.keep(place)
            }
            _ => None,
        };
        Ok(place.unwrap_or_else(|| Place { index: Vec::new(), row_dim: None, col_dim: None }))
    }

    fn operand(&mut self, field: &'static str) -> Res<Operand> {
        let (name, e) = [field, "value", "column", "row"]
            .into_iter()
            .find_map(|name| Some((name, self.given(name)?)))
            .unwrap_or_else(|| unreachable!("`{}` has a second operand", self.word.name));
        let tile = |tile: Option<LocalId>| tile.unwrap_or(NO_TILE);
        Ok(match name {
            "column" => Operand::Column(tile(self.tile_in(e))),
            "row" => Operand::Row(tile(self.tile_in(e))),
            "value" => Operand::Scalar(self.number_in(e, ScalarTy::F32)),
            _ if self.sema.is_tile(self.b, e) => Operand::Tile(tile(self.tile_in(e))),
            _ => Operand::Scalar(self.number_in(e, ScalarTy::F32)),
        })
    }

    fn flag(&mut self, field: &'static str) -> Res<bool> {
        Ok(self.word.flag == Some(field) || (field == "transpose_b" && self.transposed))
    }

    fn unary(&mut self) -> Res<UnaryTileOp> {
        match self.row.kind {
            TileOpKind::Unary(op) => Ok(op),
            other => unreachable!("{other:?} is no function of one tile"),
        }
    }

    fn binary(&mut self) -> Res<BinaryTileOp> {
        match self.row.kind {
            TileOpKind::Binary(op) => Ok(op),
            other => unreachable!("{other:?} is no function of two operands"),
        }
    }

    fn reduce(&mut self) -> Res<ReduceOp> {
        match self.row.kind {
            TileOpKind::Reduce(op) => Ok(op),
            other => unreachable!("{other:?} is no reduction"),
        }
    }
}

impl Sema<'_> {
    /// Reports a place that a tile cannot have in a tensor.
    pub(crate) fn bad_place(&mut self, span: Span, message: String, label: &str, help: &str) -> Reported {
        self.fail(Diagnostic::error(codes::BAD_PLACE, message).at(span, label).help(help))
    }
}
