//! Products in parts that fit, and what cube and vector cores exchange.
//!
//! After this pass every tile belongs to one kind of core:
//!
//! * An operand of a product that one load fills is loaded where the product stands, in parts along the inner dimension that fit. The
//!   place of the load is kept in variables.
//! * Other operands, and results that vector cores use, go through tensors in global memory: one side stores, the other loads.
//! * A product that is added to a tile of the vector core is a product and an addition.

use super::memories::{L0A, L0B, L0C, memories};
use super::view::{FRACTAL, padded};
use super::{Chip, sides};
use std::collections::{BTreeMap, BTreeSet};
use wsp_core::{DType, LocalId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    BinOp, BinaryTileOp, Block, Const, Dim, Elem, Expr, ExprKind, Function, LocalTy, Module, Operand, Part,
    Place, ScalarTy, Stmt, StmtKind, Storage, Tensor, TileOp, TileRole, TileTy, Verified, into_verified,
    walk,
};

/// A function whose tiles belong to one kind of core each, and the module with the tensors that it exchanges them through.
pub(super) struct Exchanged {
    pub(super) module: Verified,
    pub(super) function: Function,
}

/// The function in that form; none where it is in it already.
///
/// # Errors
/// The module with more tensors is not right.
pub(super) fn exchange(
    module: &Verified,
    function: &Function,
    chip: Chip,
) -> Result<Option<Exchanged>, Vec<Diagnostic>> {
    let sides = sides::of_function(function);
    if !sides.cube {
        return on_vector_core(module, function);
    }
    if !sides.vector && !too_large(function, chip) {
        return Ok(None);
    }
    let mut pass = Pass {
        module: Module::clone(module),
        function: function.clone(),
        chip,
        mixed: sides.vector,
        loads: BTreeMap::new(),
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

/// Where an operand is loaded from.
#[derive(Clone)]
struct Source {
    tensor: TensorId,
    at: Place,
    rows: Option<Expr>,
    cols: Option<Expr>,
}

impl Source {
    /// From some rows and columns on.
    fn from(&self, [row, col]: [u32; 2]) -> Option<Source> {
        let mut source = self.clone();
        let parts = [(row, source.at.row_dim, &mut source.rows), (col, source.at.col_dim, &mut source.cols)];
        for (from, dim, count) in parts {
            if from == 0 {
                continue;
            }
            let index = source.at.index.get_mut(usize::from(dim?))?;
            let more = Expr { ty: index.ty, ..Expr::u32(from, index.span) };
            *index = Expr::binary(BinOp::Add, index.clone(), more);
            if let Some(count) = count {
                *count = rest(count.clone(), from);
            }
        }
        Some(source)
    }
}

impl Source {
    /// From a variable row (0) or column (1) on, of `end` in all.
    fn advance(&mut self, dim: usize, from: &Expr, end: u32) -> Option<()> {
        let along = if dim == 0 { self.at.row_dim } else { self.at.col_dim };
        let index = self.at.index.get_mut(usize::from(along?))?;
        let more = match index.ty == from.ty {
            true => from.clone(),
            false => Expr::new(ExprKind::Cast(Box::new(from.clone())), index.ty, from.span),
        };
        *index = Expr::binary(BinOp::Add, index.clone(), more);
        let count = if dim == 0 { &mut self.rows } else { &mut self.cols };
        let most = Expr::u32(end, from.span);
        let size = match count.take() {
            Some(size) => Expr::binary(BinOp::Min, size, most),
            None => most,
        };
        let inside = Expr::binary(BinOp::Lt, from.clone(), size.clone());
        let left = Expr::binary(BinOp::Sub, size, from.clone());
        let nothing = Expr::u32(0, from.span);
        let kind = ExprKind::Select(Box::new(inside), Box::new(left), Box::new(nothing));
        *count = Some(Expr::new(kind, ScalarTy::U32, from.span));
        Some(())
    }
}

/// `from < size ? size - from : 0`
fn rest(size: Expr, from: u32) -> Expr {
    let span = size.span;
    let number = |n: u32| Expr { ty: size.ty, ..Expr::u32(n, span) };
    let inside = Expr::binary(BinOp::Lt, number(from), size.clone());
    let left = Expr::binary(BinOp::Sub, size.clone(), number(from));
    let ty = size.ty;
    Expr::new(ExprKind::Select(Box::new(inside), Box::new(left), Box::new(number(0))), ty, span)
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

struct Pass {
    module: Module,
    function: Function,
    chip: Chip,
    mixed: bool,
    /// Operands that one load fills; where from, once the load was passed.
    loads: BTreeMap<LocalId, Option<Source>>,
}

impl Pass {
    /// Operands of products that are filled by one load from a tensor to which nothing is stored, and that nothing else uses.
    fn single_loads(&self) -> BTreeMap<LocalId, Option<Source>> {
        let mut stored = BTreeSet::new();
        let mut count: BTreeMap<LocalId, u32> = BTreeMap::new();
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
        let one = count.into_iter().filter(|(tile, n)| *n == 1 && is_operand(tile));
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
            let load = moved.split_off(1);
            self.function.body.splice(first..first, [declare(own, span)].into_iter().chain(load));
            self.function.body.splice(last + 1..last + 1, moved);
        }
    }

    /// Tiles that vector cores change, and operands that are not loaded at their products, are tiles of the vector core.
    fn rehome(&mut self) {
        let mut vector = BTreeSet::new();
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
                    let source = Source { tensor: *tensor, at, rows, cols };
                    self.loads.insert(*dst, Some(source));
                }
                StmtKind::Tile(TileOp::MatMul { dst, a, b, transpose_b, accumulate }) => {
                    let product =
                        Product { dst: *dst, a: *a, b: *b, turned: *transpose_b, adds: *accumulate };
                    match self.product(&product, span) {
                        Some(made) => out.extend(made),
                        None => out.push(stmt),
                    }
                }
                _ => out.push(stmt),
            }
        }
        out
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

    /// Accumulators side by side as one tile of the vector core.
    fn result(&mut self, parts: &[LocalId], dst: LocalId, out: &mut Block, span: Span) {
        let Some((_, dims, _)) = shape(&self.function, dst) else { return };
        let tensor = self.tensor(dims, DType::F32);
        let mut col = 0;
        for part in parts {
            let store = TileOp::Store {
                tensor,
                src: *part,
                at: place(0, col, span),
                rows: None,
                cols: None,
                add: false,
            };
            out.push(statement(StmtKind::Tile(store), span));
            col += shape(&self.function, *part).map_or(0, |(_, [_, cols], _)| cols);
        }
        let extent = |kind: ExprKind| Expr::new(kind, ScalarTy::U32, span);
        let cols = parts.iter().map(|part| extent(ExprKind::TileCols(*part)));
        let load = TileOp::Load {
            dst,
            tensor,
            at: place(0, 0, span),
            rows: Some(extent(ExprKind::TileRows(parts[0]))),
            cols: cols.reduce(|a, b| Expr::binary(BinOp::Add, a, b)),
        };
        out.push(statement(StmtKind::Tile(load), span));
    }

    /// Where an operand comes from: its load, or a tensor to which it is stored here.
    fn source(&mut self, tile: LocalId, elem: DType, out: &mut Block, span: Span) -> Option<Source> {
        if let Some(source) = self.loads.get(&tile) {
            return source.clone();
        }
        let (_, dims, _) = shape(&self.function, tile)?;
        let tensor = self.tensor(dims, elem);
        let at = place(0, 0, span);
        let store = TileOp::Store { tensor, src: tile, at: at.clone(), rows: None, cols: None, add: false };
        out.push(statement(StmtKind::Tile(store), span));
        let extent = |kind: ExprKind| Some(Expr::new(kind, ScalarTy::U32, span));
        let (rows, cols) = (extent(ExprKind::TileRows(tile)), extent(ExprKind::TileCols(tile)));
        Some(Source { tensor, at, rows, cols })
    }

    /// The element type of a product: that of operands that are loaded, to which others are rounded.
    fn elem(&self, a: LocalId, b: LocalId) -> Option<DType> {
        let [x, y] = [a, b].map(|tile| shape(&self.function, tile).map(|(_, _, elem)| elem));
        let (x, y) = (x?, y?);
        match (self.loads.contains_key(&a), self.loads.contains_key(&b)) {
            _ if x == y => Some(x),
            (true, true) => None,
            (true, false) => Some(x),
            (false, true) => Some(y),
            (false, false) => Some(DType::F32),
        }
    }

    /// The statements of a product; none where it stays as it is.
    fn product(&mut self, of: &Product, span: Span) -> Option<Block> {
        let loaded = |tile: LocalId| self.loads.contains_key(&tile);
        if !self.mixed && !(loaded(of.a) && loaded(of.b)) {
            return None;
        }
        let elem = self.elem(of.a, of.b)?;
        let (_, [rows, left_inner], _) = shape(&self.function, of.a)?;
        let (_, [b_rows, b_cols], _) = shape(&self.function, of.b)?;
        let (inner, cols) = if of.turned { (b_cols, b_rows) } else { (b_rows, b_cols) };
        let inner = inner.min(left_inner);
        let (role, ..) = shape(&self.function, of.dst)?;
        let own = role == TileRole::Acc;
        let table = memories(self.chip);
        let [for_left, for_right] =
            [L0A, L0B].map(|memory| table.memory(memory).capacity as u32 / elem.size() as u32);
        // Half of a memory, so that one part is brought while the other is used; all of it where that is not enough.
        let depth = |room: u32, outer: u32| (room / padded(outer, FRACTAL) / FRACTAL * FRACTAL).min(inner);
        let columns =
            (table.memory(L0C).capacity as u32 / 4 / padded(rows, FRACTAL) / FRACTAL * FRACTAL).max(FRACTAL);
        let wide = if own { cols } else { cols.min(for_right / 2 / FRACTAL).min(columns) };
        let step = depth(for_left / 2, rows).min(depth(for_right / 2, wide));
        let step = if step > 0 { step } else { depth(for_left, rows).min(depth(for_right, wide)) };
        let step = if step > 0 { step } else { inner };
        let mut out = Vec::new();
        let left = self.source(of.a, elem, &mut out, span)?;
        let right = self.source(of.b, elem, &mut out, span)?;
        let mut accs = Vec::new();
        for col in (0..cols).step_by(wide.max(1) as usize) {
            let wide = wide.min(cols - col);
            let acc = if own {
                of.dst
            } else {
                let acc = self.fresh("product", TileRole::Acc, [rows, wide], DType::F32, span);
                out.push(declare(acc, span));
                acc
            };
            let parts = inner.div_ceil(step.max(1));
            let deep = if parts > 1 { step } else { inner };
            let var =
                (parts > 1).then(|| self.function.add_local("depth", LocalTy::Scalar(ScalarTy::U32), span));
            let a = self.fresh("left", TileRole::Left, [rows, deep], elem, span);
            let dims = if of.turned { [wide, deep] } else { [deep, wide] };
            let b = self.fresh("right", TileRole::Right, dims, elem, span);
            let mut round = Vec::new();
            for (tile, source, dim) in [(a, &left, 1), (b, &right, usize::from(of.turned))] {
                let mut begin = [0, 0];
                if tile == b {
                    begin[1 - dim] = col;
                }
                let mut source = source.from(begin)?;
                if let Some(var) = var {
                    source.advance(dim, &Expr::local(var, ScalarTy::U32, span), inner)?;
                }
                let Source { tensor, at, rows, cols } = source;
                round.push(declare(tile, span));
                round.push(statement(
                    StmtKind::Tile(TileOp::Load { dst: tile, tensor, at, rows, cols }),
                    span,
                ));
            }
            let accumulate = parts > 1 || (own && of.adds);
            let product = TileOp::MatMul { dst: acc, a, b, transpose_b: of.turned, accumulate };
            round.push(statement(StmtKind::Tile(product), span));
            let Some(var) = var else {
                out.append(&mut round);
                accs.push(acc);
                continue;
            };
            if !(own && of.adds) {
                let value = Expr::new(ExprKind::Const(Const::Float(0.0)), ScalarTy::F32, span);
                let fill = TileOp::Fill { dst: acc, value, rows: None, cols: None };
                out.push(statement(StmtKind::Tile(fill), span));
            }
            let [start, end, step] = [0, inner, step].map(|n| Expr::u32(n, span));
            out.push(statement(StmtKind::For { var, start, end, step, body: round }, span));
            accs.push(acc);
        }
        if !own {
            let dst = if of.adds {
                let sum = self.fresh_like(of.dst, TileRole::Vec, span);
                out.push(declare(sum, span));
                sum
            } else {
                of.dst
            };
            self.result(&accs, dst, &mut out, span);
            if of.adds {
                let add =
                    TileOp::Binary { op: BinaryTileOp::Add, dst: of.dst, a: of.dst, b: Operand::Tile(dst) };
                out.push(statement(StmtKind::Tile(add), span));
            }
        }
        Some(out)
    }
}

/// A product of two tiles.
struct Product {
    dst: LocalId,
    a: LocalId,
    b: LocalId,
    turned: bool,
    adds: bool,
}

/// What names of tensors for what is exchanged begin with.
const EXCHANGED: &str = "exchange.";

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
