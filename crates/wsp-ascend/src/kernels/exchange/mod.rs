//! Products in parts that fit, and what cube and vector cores exchange.
//!
//! After this pass every tile belongs to one kind of core:
//!
//! * An operand of a product that one load fills is loaded where the product stands, in parts along the inner dimension that fit. The
//!   place of the load is kept in variables.
//! * Other operands, and results that vector cores use, go through tensors in global memory: one side stores, the other loads.
//! * Positions of a paged cache, which are operands, are brought together in such a tensor by a vector core.
//! * A product that is added to a tile of the vector core is a product and an addition.
//!
//! Where the two cores of a task move tiles to each other, there are no such tensors: parts of operands that a vector core has made, or loads
//! from pages, are moved to the cube core, and results back.

mod direct;
mod paged;
mod product;

use super::memories::{L0A, L0B, memories};
use super::view::{FRACTAL, padded};
use super::{Chip, sides};
use product::{Product, Source};
use wsp_core::{CacheId, DType, LocalId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    Block, Const, Dim, Elem, Expr, ExprKind, Function, LocalTy, Module, Part, Place, Stmt, StmtKind, Storage,
    Tensor, TileOp, TileRole, TileTy, UnaryTileOp, Verified, into_verified, walk,
};
use wsp_ordered::{OrderedMap, OrderedSet};

/// A function whose tiles belong to one kind of core each, and the module with the tensors that it exchanges them through.
pub(super) struct Exchanged {
    pub(super) module: Verified,
    pub(super) function: Function,
}

/// How cores exchange tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Through {
    /// One stores, the other loads.
    Tensors,
    /// Moves from one to the other.
    Moves,
}

/// Whether a function needs both kinds of cores.
pub(super) fn is_mixed(module: &Verified, function: &Function) -> bool {
    let sides = sides::of_function(function);
    sides.cube && (sides.vector || paged::loads(module, function))
}

/// The function in that form; none where it is in it already.
///
/// # Errors
/// The module with more tensors is not right.
pub(super) fn exchange(
    module: &Verified,
    function: &Function,
    chip: Chip,
    through: Through,
) -> Result<Option<Exchanged>, Vec<Diagnostic>> {
    let sides = sides::of_function(function);
    if !sides.cube {
        return on_vector_core(module, function);
    }
    let mixed = is_mixed(module, function);
    if !mixed && !too_large(function, chip) {
        return Ok(None);
    }
    let mut pass = Pass {
        module: Module::clone(module),
        function: function.clone(),
        chip,
        mixed,
        direct: mixed && through == Through::Moves,
        loads: OrderedMap::new(),
    };
    pass.loads = pass.single_loads();
    if pass.mixed {
        pass.part_results();
        pass.rehome();
    }
    let body = std::mem::take(&mut pass.function.body);
    pass.function.body = pass.block(body);
    let module = into_verified(pass.module)?;
    Ok(Some(Exchanged { module, function: pass.function }))
}

/// A function without products: all its tiles are those of a vector core.
fn on_vector_core(module: &Verified, function: &Function) -> Result<Option<Exchanged>, Vec<Diagnostic>> {
    let mut own = function.clone();
    for local in &mut own.locals {
        if let LocalTy::Tile(ty) = &mut local.ty {
            ty.role = TileRole::Vec;
        }
    }
    if own.locals == function.locals {
        return Ok(None);
    }
    Ok(Some(Exchanged { module: into_verified(Module::clone(module))?, function: own }))
}

/// Rows, columns and element type of a tile whose capacity is known.
fn shape(function: &Function, tile: LocalId) -> Option<(TileRole, [u32; 2], DType)> {
    let LocalTy::Tile(ty) = &function.local(tile).ty else { return None };
    let size = |e: &Expr| e.as_const_int().and_then(|n| u32::try_from(n).ok());
    let Elem::Fixed(elem) = ty.elem else { return None };
    Some((ty.role, [size(&ty.rows)?, size(&ty.cols)?], elem))
}

/// Bytes around the matrix unit, where rows and columns are those of whole fractals.
fn bytes([rows, cols]: [u32; 2], elem: DType) -> u64 {
    u64::from(padded(rows, FRACTAL)) * u64::from(padded(cols, FRACTAL)) * elem.size() as u64
}

/// Whether the operands of products do not all fit beside each other.
fn too_large(function: &Function, chip: Chip) -> bool {
    let table = memories(chip);
    [(TileRole::Left, L0A), (TileRole::Right, L0B)].into_iter().any(|(role, memory)| {
        let all = (0..function.locals.len() as u32).filter_map(|id| shape(function, LocalId(id)));
        let need: u64 = all.filter(|(of, ..)| *of == role).map(|(_, dims, elem)| bytes(dims, elem)).sum();
        need > table.memory(memory).capacity
    })
}

fn statement(kind: StmtKind, span: Span) -> Stmt {
    Stmt { kind, span }
}

/// The tiles of an operation.
fn tiles(op: &TileOp) -> Vec<LocalId> {
    let mut found = Vec::new();
    op.each(&mut |part| {
        if let Part::Tile(tile, _) = part {
            found.push(*tile);
        }
    });
    found
}

/// Adds to `late` operands of products that not every way to the product loads first. `loaded` are those that the ways to the block load; it gets
/// those of the block.
fn behind(block: &Block, loaded: &mut OrderedSet<LocalId>, late: &mut OrderedSet<LocalId>) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Tile(TileOp::Load { dst, .. }) => {
                loaded.insert(*dst);
            }
            StmtKind::Tile(TileOp::MatMul { a, b, .. }) => {
                late.extend([*a, *b].into_iter().filter(|tile| !loaded.contains(tile)));
            }
            _ => {}
        }
        for inner in walk::blocks(stmt) {
            behind(inner, &mut loaded.clone(), late);
        }
    }
}

struct Pass {
    module: Module,
    function: Function,
    chip: Chip,
    mixed: bool,
    /// Whether tiles move between cores.
    direct: bool,
    /// Operands that one load fills; where from, once the load was passed.
    loads: OrderedMap<LocalId, Option<Source>>,
}

impl Pass {
    /// Operands of products that are filled by one load from a tensor to which nothing is stored, and that nothing else uses.
    fn single_loads(&self) -> OrderedMap<LocalId, Option<Source>> {
        let mut stored = OrderedSet::new();
        let mut count: OrderedMap<LocalId, u32> = OrderedMap::new();
        walk::stmts(&self.function.body, &mut |stmt| match &stmt.kind {
            StmtKind::StoreScalar { tensor, .. } => {
                stored.insert(*tensor);
            }
            StmtKind::Tile(TileOp::Store { tensor, .. }) => {
                stored.insert(*tensor);
            }
            _ => {}
        });
        walk::stmts(&self.function.body, &mut |stmt| {
            let StmtKind::Tile(op) = &stmt.kind else { return };
            match op {
                TileOp::Load { dst, tensor, .. } if !stored.contains(tensor) => {
                    *count.entry(*dst).or_default() += 1;
                }
                TileOp::MatMul { dst, .. } => *count.entry(*dst).or_default() += 2,
                other => tiles(other).into_iter().for_each(|tile| *count.entry(tile).or_default() += 2),
            }
        });
        walk::each_expr(&self.function.body, &mut |e| {
            if let ExprKind::TileRows(tile) | ExprKind::TileCols(tile) = e.kind {
                *count.entry(tile).or_default() += 2;
            }
        });
        let is_operand = |tile: &LocalId| {
            shape(&self.function, *tile)
                .is_some_and(|(role, ..)| matches!(role, TileRole::Left | TileRole::Right))
        };
        let mut late = OrderedSet::new();
        behind(&self.function.body, &mut OrderedSet::new(), &mut late);
        let one = count.into_iter().filter(|(tile, n)| *n == 1 && is_operand(tile) && !late.contains(tile));
        one.map(|(tile, _)| (tile, None)).collect()
    }

    /// An accumulator with products in the first part of the function, and vector operations in the rest: the rest has a tile of its own.
    fn part_results(&mut self) {
        for id in 0..self.function.locals.len() as u32 {
            let tile = LocalId(id);
            let Some((TileRole::Acc, ..)) = shape(&self.function, tile) else { continue };
            let touched = |stmt: &Stmt, which: fn(&TileOp) -> bool| {
                let mut found = false;
                walk::stmts(&vec![stmt.clone()], &mut |stmt| {
                    if let StmtKind::Tile(op) = &stmt.kind {
                        found |= which(op) && tiles(op).contains(&tile);
                    }
                });
                found
            };
            let by_cube = |op: &TileOp| matches!(op, TileOp::MatMul { .. } | TileOp::Fill { .. });
            let by_vector = |op: &TileOp| {
                !matches!(op, TileOp::MatMul { .. } | TileOp::Fill { .. } | TileOp::Store { .. })
            };
            let body = &self.function.body;
            let last = body.iter().rposition(|stmt| touched(stmt, by_cube));
            let first = body.iter().position(|stmt| touched(stmt, by_vector));
            let (Some(last), Some(first)) = (last, first) else { continue };
            if last >= first {
                continue;
            }
            let span = self.function.body[first].span;
            let own = self.fresh_like(tile, TileRole::Vec, span);
            for stmt in &mut self.function.body[first..] {
                rename(stmt, tile, own);
            }
            let mut moved = Vec::new();
            self.result(&[tile], own, &mut moved, span);
            // It is stored right behind the products, so that no other task lies between.
            let load = moved.split_off(usize::from(!self.direct));
            self.function.body.splice(first..first, [declare(own, span)].into_iter().chain(load));
            self.function.body.splice(last + 1..last + 1, moved);
        }
    }

    /// Tiles that vector cores change, and operands that are not loaded at their products, are tiles of the vector core.
    fn rehome(&mut self) {
        let mut vector = OrderedSet::new();
        let stays =
            |tile: &LocalId, of: &Function| shape(of, *tile).is_some_and(|(role, ..)| role == TileRole::Acc);
        walk::stmts(&self.function.body, &mut |stmt| {
            let StmtKind::Tile(op) = &stmt.kind else { return };
            match op {
                TileOp::MatMul { a, b, .. } => {
                    vector.extend([*a, *b].into_iter().filter(|tile| !self.loads.contains_key(tile)));
                }
                TileOp::Load { dst: tile, .. } => {
                    if stays(tile, &self.function) {
                        vector.insert(*tile);
                    }
                }
                // An accumulator that is filled and then only stored stays one.
                TileOp::Fill { dst: tile, value, .. } => {
                    let zero = matches!(value.kind, ExprKind::Const(Const::Float(0.0)));
                    if !zero || !stays(tile, &self.function) {
                        vector.insert(*tile);
                    }
                }
                TileOp::Store { src: tile, .. } => {
                    if !stays(tile, &self.function) {
                        vector.insert(*tile);
                    }
                }
                // A move takes an accumulator as it is.
                TileOp::Unary { op: UnaryTileOp::Copy, dst, src }
                    if self.direct && stays(src, &self.function) =>
                {
                    vector.insert(*dst);
                }
                other => vector.extend(tiles(other)),
            }
        });
        for tile in vector {
            if let LocalTy::Tile(ty) = &mut self.function.locals[tile.index()].ty {
                ty.role = TileRole::Vec;
            }
        }
    }

    fn block(&mut self, block: Block) -> Block {
        let mut out = Vec::with_capacity(block.len());
        for mut stmt in block {
            for inner in walk::blocks_mut(&mut stmt) {
                *inner = self.block(std::mem::take(inner));
            }
            let span = stmt.span;
            match &stmt.kind {
                StmtKind::Tile(TileOp::Load { dst, tensor, at, rows, cols })
                    if self.loads.contains_key(dst) =>
                {
                    let mut kept = |e: &Expr| self.keep(e, &mut out);
                    let index = at.index.iter().map(&mut kept).collect();
                    let [rows, cols] = [rows, cols].map(|count| count.as_ref().map(&mut kept));
                    let at = Place { index, ..at.clone() };
                    let mut source = Source { tensor: *tensor, at, rows, cols };
                    if let Some(cache) = self.cache(*tensor).filter(|_| !self.direct) {
                        source = self.gathered(*dst, &source, cache, &mut out, span).unwrap_or(source);
                    }
                    self.loads.insert(*dst, Some(source));
                }
                StmtKind::Tile(TileOp::MatMul { dst, a, b, transpose_b, accumulate }) => {
                    let product =
                        Product { dst: *dst, a: *a, b: *b, turned: *transpose_b, adds: *accumulate };
                    match self.product(&product, span) {
                        Some(made) => out.extend(made),
                        None => {
                            out.extend(self.loads_of(&product, span));
                            out.push(stmt);
                        }
                    }
                }
                _ => out.push(stmt),
            }
        }
        out
    }

    /// The cache that a tensor is of.
    fn cache(&self, tensor: TensorId) -> Option<CacheId> {
        super::paged::cache(&self.module.tensors[tensor.index()])
    }

    /// The loads of a product's operands, for one that stays as it is.
    fn loads_of(&self, product: &Product, span: Span) -> Block {
        let source = |tile: LocalId| self.loads.get(&tile).cloned().flatten().map(|source| (tile, source));
        let load = |(dst, Source { tensor, at, rows, cols })| {
            statement(StmtKind::Tile(TileOp::Load { dst, tensor, at, rows, cols }), span)
        };
        [product.a, product.b].into_iter().filter_map(source).map(load).collect()
    }

    /// A variable with the value that an expression has here.
    fn keep(&mut self, e: &Expr, out: &mut Block) -> Expr {
        if matches!(e.kind, ExprKind::Const(_)) {
            return e.clone();
        }
        let local = self.function.add_local("from", LocalTy::Scalar(e.ty), e.span);
        out.push(statement(StmtKind::Let { local, init: Some(e.clone()) }, e.span));
        Expr::local(local, e.ty, e.span)
    }

    fn fresh(
        &mut self,
        name: &str,
        role: TileRole,
        [rows, cols]: [u32; 2],
        elem: DType,
        span: Span,
    ) -> LocalId {
        let [rows, cols] = [rows, cols].map(|n| Expr::u32(n, span));
        let ty = TileTy { role, elem: Elem::Fixed(elem), rows, cols };
        self.function.add_local(name, LocalTy::Tile(ty), span)
    }

    fn fresh_like(&mut self, tile: LocalId, role: TileRole, span: Span) -> LocalId {
        let mut local = self.function.local(tile).clone();
        if let LocalTy::Tile(ty) = &mut local.ty {
            ty.role = role;
        }
        self.function.add_local(local.name, local.ty, span)
    }

    /// A tensor for what is exchanged.
    fn tensor(&mut self, dims: [u32; 2], elem: DType) -> TensorId {
        let id = TensorId(self.module.tensors.len() as u32);
        self.module.tensors.push(tensor(id, dims, elem));
        id
    }
}

/// What names of tensors for what is exchanged begin with.
const EXCHANGED: &str = "exchange.";

/// Rows and columns of a tensor for what is exchanged; none for a tensor of the file.
pub(super) fn size(tensor: &Tensor) -> Option<[i128; 2]> {
    let of = |dim: &Dim| if let Dim::Expr(size) = dim { size.as_const_int() } else { None };
    let [rows, cols] = tensor.dims.as_slice() else { return None };
    tensor.name.starts_with(EXCHANGED).then_some([of(rows)?, of(cols)?])
}

/// A tensor through which cores exchange a tile, with a number.
pub(super) fn tensor(id: TensorId, dims: [u32; 2], elem: DType) -> Tensor {
    Tensor {
        name: format!("{EXCHANGED}{}", id.0),
        elem: Elem::Fixed(elem),
        dims: dims.map(|n| Dim::Expr(Expr::u32(n, Span::default()))).to_vec(),
        storage: Storage::Temporary,
        span: Span::default(),
    }
}

fn declare(local: LocalId, span: Span) -> Stmt {
    statement(StmtKind::Let { local, init: None }, span)
}

fn place(row: u32, col: u32, span: Span) -> Place {
    Place { index: vec![Expr::u32(row, span), Expr::u32(col, span)], row_dim: Some(0), col_dim: Some(1) }
}

/// Another tile in place of one, in a statement and all in it.
fn rename(stmt: &mut Stmt, from: LocalId, to: LocalId) {
    if let StmtKind::Tile(op) = &mut stmt.kind {
        op.each_mut(&mut |part| {
            if let Part::Tile(tile, _) = part
                && *tile == from
            {
                *tile = to;
            }
        });
    }
    walk::exprs_mut(stmt, &mut |e| rename_in(e, from, to));
    walk::blocks_mut(stmt).flatten().for_each(|inner| rename(inner, from, to));
}

fn rename_in(e: &mut Expr, from: LocalId, to: LocalId) {
    if let ExprKind::TileRows(tile)
    | ExprKind::TileCols(tile)
    | ExprKind::TileMax(tile)
    | ExprKind::TileSum(tile) = &mut e.kind
        && *tile == from
    {
        *tile = to;
    }
    e.for_each_child_mut(&mut |child| rename_in(child, from, to));
}
