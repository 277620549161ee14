//! Instructions of units: every operation where a unit does it, and a transfer wherever an operand is elsewhere.
//!
//! Valid rows and columns become numbers, or `u32` variables with bounds. An instruction whose extents may be 0 stands in a
//! condition; where a result of nothing has elements (a sum of no columns), a fill stands in the other branch.

mod emit;
mod extents;
mod route;

use crate::place::live::read_too_early;
use crate::specialise::{Known, fold};
use crate::{
    Buffer, BufferId, Extent, Head, Loop, LoopId, Memories, MemoryId, Node, Tile, TileProgram, codes,
};
use extents::Ranges;
use wsp_core::int::Range;
use wsp_core::{DType, LocalId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    ArrayRef, Block, Const, Dim, Elem, Expr, ExprKind, Function, LocalTy, MetaKind, ScalarTy, Stmt, StmtKind,
    Storage, TileOp, TileRole, Verified, walk,
};
use wsp_ordered::{OrderedMap, OrderedSet};

/// A specialised function as a program for the memories of a target. It has no addresses and no order yet.
///
/// # Errors
/// The table is wrong, no unit does an operation, no way leads to where an operand is needed, a statement has no form here, or a tile
/// may be read before it is written.
pub fn legalise(
    module: &Verified,
    function: &Function,
    known: Known<'_>,
    memories: &Memories,
) -> Result<TileProgram, Vec<Diagnostic>> {
    let made = translate(module, function, known, memories)?;
    if made.early.is_empty() { Ok(made.program) } else { Err(made.unwritten()) }
}

/// A program, and what is between its statements.
#[derive(Clone, PartialEq, Debug)]
pub struct Legal {
    /// The program.
    pub program: TileProgram,
    /// The tiles of the function, with the valid rows and columns that they have between statements.
    pub tiles: Vec<Tile>,
    /// Tiles that are filled with 0 where they are declared.
    pub filled: Vec<BufferId>,
}

/// Like [`legalise`], but tiles of vector units and accumulators that may be read before they are written are filled with 0 where they are
/// declared. Where no run reads one too early, results are the same.
///
/// # Errors
/// As for [`legalise`]; operands of products are not filled.
pub fn legalise_filled(
    module: &Verified,
    function: &Function,
    known: Known<'_>,
    memories: &Memories,
) -> Result<Legal, Vec<Diagnostic>> {
    let mut made = translate(module, function, known, memories)?;
    let filled = made.early.clone();
    if !filled.is_empty() {
        let mut function = function.clone();
        let fills = |local: &LocalId| match &function.local(*local).ty {
            LocalTy::Tile(ty) => matches!(ty.role, TileRole::Vec | TileRole::Acc),
            _ => false,
        };
        if !filled.iter().all(fills) {
            return Err(made.unwritten());
        }
        fill_declared(&mut function.body, &filled);
        made = translate(module, &function, known, memories)?;
        if !made.early.is_empty() {
            return Err(made.unwritten());
        }
    }
    let filled = filled.iter().map(|local| made.tiles[local].buffer).collect();
    let tiles = made.tiles.values().map(|state| Tile {
        buffer: state.buffer,
        rows: state.extents[0],
        cols: state.extents[1],
    });
    Ok(Legal { tiles: tiles.collect(), program: made.program, filled })
}

/// A fill with 0 behind each declaration of some tiles, which have no rows and columns then, as before it.
fn fill_declared(block: &mut Block, tiles: &[LocalId]) {
    for mut stmt in std::mem::take(block) {
        walk::blocks_mut(&mut stmt).for_each(|inner| fill_declared(inner, tiles));
        let declared = match stmt.kind {
            StmtKind::Let { local, .. } if tiles.contains(&local) => Some(local),
            _ => None,
        };
        let span = stmt.span;
        block.push(stmt);
        if let Some(dst) = declared {
            let value = Expr::new(ExprKind::Const(Const::Float(0.0)), ScalarTy::F32, span);
            for extent in [None, Some(Expr::u32(0, span))] {
                let (value, rows, cols) = (value.clone(), extent.clone(), extent);
                block.push(Stmt { kind: StmtKind::Tile(TileOp::Fill { dst, value, rows, cols }), span });
            }
        }
    }
}

/// A program whose tiles may be read before they are written.
struct Translated {
    program: TileProgram,
    tiles: OrderedMap<LocalId, TileState>,
    /// Those that may be.
    early: Vec<LocalId>,
}

impl Translated {
    fn unwritten(&self) -> Vec<Diagnostic> {
        let one = |local: &LocalId| {
            let buffer = self.program.buffer(self.tiles[local].buffer);
            Diagnostic::error(codes::UNWRITTEN, format!("`{}` may be read before it is written", buffer.name))
                .at(buffer.span, "")
                .help("load or fill it before, whatever conditions and counts of loops are")
        };
        self.early.iter().map(one).collect()
    }
}

fn translate(
    module: &Verified,
    function: &Function,
    known: Known<'_>,
    memories: &Memories,
) -> Result<Translated, Vec<Diagnostic>> {
    let wrong = memories.verify();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let left = |op: &TileOp| rest_of_tensor(module, known, op);
    let ranges = Ranges::of(function, &left);
    let mut cx = Legaliser {
        module,
        known,
        memories,
        ranges,
        program: TileProgram {
            name: function.name.clone(),
            locals: function.locals.clone(),
            buffers: Vec::new(),
            loops: 0,
            body: Vec::new(),
        },
        tiles: OrderedMap::new(),
        found: Vec::new(),
    };
    cx.declare(function);
    let mut body = Vec::new();
    if cx.found.is_empty() {
        cx.block(&function.body, &mut body);
    }
    cx.program.body = body;
    cx.program.number();
    if !cx.found.is_empty() {
        return Err(cx.found);
    }
    // A list of largest values has no elements before it is written, and what reads it is skipped.
    let mut lists = OrderedSet::new();
    walk::stmts(&function.body, &mut |stmt| {
        if let StmtKind::Tile(TileOp::TopK { values, indices, .. }) = &stmt.kind {
            lists.extend([*values, *indices]);
        }
    });
    let early = read_too_early(&cx.program);
    let early =
        cx.tiles.iter().filter(|(local, state)| early.contains(&state.buffer) && !lists.contains(local));
    let early = early.map(|(local, _)| *local).collect();
    Ok(Translated { program: cx.program, tiles: cx.tiles, early })
}

/// A tile of the function.
#[derive(Clone, Copy, Debug)]
struct TileState {
    buffer: BufferId,
    extents: [Extent; 2],
}

struct Legaliser<'a> {
    module: &'a Verified,
    known: Known<'a>,
    memories: &'a Memories,
    ranges: Ranges,
    program: TileProgram,
    tiles: OrderedMap<LocalId, TileState>,
    found: Vec<Diagnostic>,
}

impl Legaliser<'_> {
    fn declare(&mut self, function: &Function) {
        for (i, local) in function.locals.iter().enumerate() {
            let LocalTy::Tile(ty) = &local.ty else { continue };
            let id = LocalId(i as u32);
            let Elem::Fixed(elem) = ty.elem else { continue };
            let Some(home) = self.memories.home(ty.role) else {
                self.found.push(
                    Diagnostic::error(
                        codes::NO_UNIT,
                        format!("`{}` has no memory for tiles of role {:?}", self.memories.name, ty.role),
                    )
                    .at(local.span, ""),
                );
                continue;
            };
            let [rows, cols] = self.ranges.capacity(id);
            let buffer = self.add_buffer(&local.name, elem, [rows, cols], home, local.span);
            let extents = [0, 1].map(|dim| {
                let range = self.ranges.extent(id, dim);
                match range.value() {
                    Some(n) => Extent::Known(n as u32),
                    None => {
                        let name = format!("{}_{}", local.name, if dim == 0 { "rows" } else { "cols" });
                        let local = self.fresh(&name, ScalarTy::U32, local.span);
                        Extent::Value { local, low: range.low as u32, high: range.high as u32 }
                    }
                }
            });
            self.tiles.insert(id, TileState { buffer, extents });
        }
    }

    fn fresh(&mut self, name: &str, ty: ScalarTy, span: Span) -> LocalId {
        self.program.locals.push(wsp_ir::Local { name: name.to_owned(), ty: LocalTy::Scalar(ty), span });
        LocalId(self.program.locals.len() as u32 - 1)
    }

    fn add_buffer(
        &mut self,
        name: &str,
        elem: DType,
        [rows, cols]: [u32; 2],
        memory: MemoryId,
        span: Span,
    ) -> BufferId {
        let granule = self.memories.memory(memory).granule;
        let packed = u64::from(cols).saturating_mul(elem.size() as u64);
        // One row, or one column, has no gaps.
        let row_bytes = if rows == 1 || cols == 1 { packed } else { round_up(packed, granule) };
        let bytes = round_up(row_bytes.saturating_mul(u64::from(rows)), granule);
        self.program.buffers.push(Buffer {
            name: name.to_owned(),
            elem,
            rows,
            cols,
            row_bytes,
            bytes,
            memory,
            rotates: None,
            at: Vec::new(),
            span,
        });
        BufferId(self.program.buffers.len() as u32 - 1)
    }

    fn tile(&self, local: LocalId) -> Tile {
        let TileState { buffer, extents } = self.tiles[&local];
        let [rows, cols] = [0, 1].map(|dim| {
            let Extent::Value { local: value, .. } = extents[dim] else { return extents[dim] };
            let range = self.ranges.extent(local, dim);
            match range.value() {
                Some(n) => Extent::Known(n as u32),
                None => Extent::Value { local: value, low: range.low as u32, high: range.high as u32 },
            }
        });
        Tile { buffer, rows, cols }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<Node>) {
        block.iter().for_each(|stmt| self.stmt(stmt, out));
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Vec<Node>) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let { local, init } => {
                let LocalTy::Scalar(ty) = self.program.locals[local.index()].ty else {
                    return self.declared_empty(*local, span, out);
                };
                let value = match init {
                    Some(value) => self.expr(value),
                    None => Expr::new(ExprKind::Const(zero(ty)), ty, span),
                };
                out.push(Node::Set { local: *local, value });
            }
            StmtKind::LetArray { local, array } => out.push(Node::Name { local: *local, array: *array }),
            StmtKind::Assign { local, value } => self.assign(*local, value, span, out),
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.expr(cond);
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                let before = self.ranges.now.clone();
                self.block(then, &mut yes);
                let after_then = std::mem::replace(&mut self.ranges.now, before);
                self.block(otherwise, &mut no);
                self.ranges.meet_ways(&after_then);
                out.push(Node::If { cond, then: yes, otherwise: no });
            }
            StmtKind::For { var, start, end, step, body } => {
                let [start, end, step] = [start, end, step].map(|e| self.expr(e));
                self.looped(Head::Counted { var: *var, start, end, step }, body, span, out);
            }
            StmtKind::While { cond, step: _, body } => {
                let cond = self.expr(cond);
                self.looped(Head::While { cond }, body, span, out);
            }
            StmtKind::Tile(op) => self.tile_op(op, span, out),
            StmtKind::StoreScalar { tensor, index, value } => {
                self.store_scalar(*tensor, index, value, span, out);
            }
            other => {
                let message = format!("a statement has no form in a tile program: {other:?}");
                self.found.push(Diagnostic::error(codes::NOT_SUPPORTED, message).at(span, ""));
            }
        }
    }

    /// A tile is empty where it is declared, and that may count.
    fn declared_empty(&mut self, tile: LocalId, span: Span, out: &mut Vec<Node>) {
        if !self.ranges.empty_first.contains(&tile) {
            // Nothing uses it before it is written.
            return;
        }
        self.ranges.now.insert(tile, [Range::point(0); 2]);
        for extent in self.tiles.get(&tile).into_iter().flat_map(|state| state.extents) {
            if let Extent::Value { local, .. } = extent {
                out.push(Node::Set { local, value: Expr::u32(0, span) });
            }
        }
    }

    fn looped(&mut self, head: Head, body: &Block, span: Span, out: &mut Vec<Node>) {
        let id = LoopId(self.program.loops);
        self.program.loops += 1;
        let mut inner = Vec::new();
        self.ranges.forget_written(body);
        self.block(body, &mut inner);
        self.ranges.forget_written(body);
        out.push(Node::Loop(Loop { id, head, body: inner, span }));
    }

    /// An expression in which valid rows and columns of tiles are numbers and variables.
    fn expr(&self, e: &Expr) -> Expr {
        let (tile, dim) = match e.kind {
            ExprKind::TileRows(tile) => (tile, 0),
            ExprKind::TileCols(tile) => (tile, 1),
            _ => {
                let mut copy = e.clone();
                copy.for_each_child_mut(&mut |child| *child = self.expr(child));
                return copy;
            }
        };
        let tile = self.tile(tile);
        self.value(if dim == 0 { tile.rows } else { tile.cols }, e.span)
    }

    fn value(&self, extent: Extent, span: Span) -> Expr {
        match extent {
            Extent::Known(n) => Expr::u32(n, span),
            Extent::Value { local, .. } => Expr::local(local, ScalarTy::U32, span),
        }
    }
}

fn zero(ty: ScalarTy) -> Const {
    match ty {
        ScalarTy::Bool => Const::Bool(false),
        ScalarTy::F32 | ScalarTy::F64 => Const::Float(0.0),
        _ => Const::Int(0),
    }
}

fn round_up(bytes: u64, to: u64) -> u64 {
    bytes.div_ceil(to).saturating_mul(to)
}

/// Rows and columns that the tensor of a load has from the place on; none for what is no load.
fn rest_of_tensor(module: &Verified, known: Known<'_>, op: &TileOp) -> [Option<Expr>; 2] {
    let TileOp::Load { tensor, at, .. } = op else { return [None, None] };
    let tensor = &module.tensors[tensor.index()];
    let first = usize::from(tensor.storage == Storage::Workspace);
    [at.row_dim, at.col_dim].map(|dim| {
        let Some(dim) = dim.map(usize::from) else { return Some(Expr::u32(1, Span::default())) };
        let from = fold(module, known, at.index.get(dim)?);
        let size = match tensor.dims.get(dim.checked_sub(first)?)? {
            Dim::Expr(size) => {
                let size = fold(module, known, size);
                match size.as_const_int().and_then(|n| u32::try_from(n).ok()) {
                    Some(n) => Expr::u32(n, size.span),
                    None => Expr::new(ExprKind::Cast(Box::new(size)), ScalarTy::U32, from.span),
                }
            }
            Dim::Dynamic => {
                let (Storage::CacheKeys(cache) | Storage::CacheValues(cache)) = tensor.storage else {
                    return None;
                };
                let request = at.index.first()?.clone();
                let lengths = ArrayRef::Meta(cache, MetaKind::Lengths);
                Expr::new(ExprKind::Load(lengths, Box::new(request)), ScalarTy::U32, from.span)
            }
            Dim::Axis(axis) => Expr::new(ExprKind::AxisExtent(*axis), ScalarTy::U32, from.span),
        };
        Some(extents::remaining(size, from))
    })
}
