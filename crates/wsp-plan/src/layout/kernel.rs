//! What a kernel makes of layouts: its statements, over where tiles lie in the place of what they hold.
//!
//! A task that reaches a sharded dimension past the part of one tile runs on all tiles along the axis, each with its parts. What lies
//! within one part is fetched by all of them. Along each axis by itself a tile of the kernel lies in one of the ways of [`Lies`]; what is
//! not known to be right is refused.

use super::AxisSet;
use super::index::Indices;
use super::tile::{Flow, Known, Lies, Tile, Tiles, got, meet};
use super::ways::Ways;
use crate::{arrays_read, walk};
use rustc_hash::FxHashMap;
use wsp_core::policy::MeshAxis;
use wsp_core::{LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::{Arg, ArrayRef, Block, Expr, ExprKind, Function, Module, Stmt, StmtKind};
use wsp_ordered::OrderedSet;

/// Sums of a tensor that a store of a kernel leaves pending, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Left {
    pub(super) tensor: TensorId,
    pub(super) pending: AxisSet,
    /// The operation that splits the sum.
    pub(super) split: Span,
}

/// A tensor that a kernel loads, and where first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    pub(super) tensor: TensorId,
    pub(super) span: Span,
    /// It has stored to the tensor before.
    pub(super) is_own: bool,
}

/// What a kernel does with tensors.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Those that it loads, and where first.
    pub(super) loaded: Vec<Loaded>,
    pub(super) left: Vec<Left>,
}

/// What is wrong.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Fault {
    /// An operation or a store meets layouts that do not fit; the tensor would fit without this axis.
    Unlike { span: Span, message: String, relayout: Option<TensorId>, axis: MeshAxis },
    /// A store of what not all tiles have, into a tensor of which each has a copy: it would fit in a layout whose dimension is sharded.
    Unstored {
        span: Span,
        message: String,
        relayout: Option<TensorId>,
        axis: MeshAxis,
        stored: TensorId,
        dim: Option<u8>,
    },
    /// A tensor with pending sums is loaded.
    PendingTensor { span: Span, tensor: TensorId, axis: MeshAxis },
    /// A task loads what it has stored in another layout.
    StoredBefore { span: Span, tensor: TensorId, axis: MeshAxis },
    /// A pending sum of the kernel's own is read by an operation that is not linear.
    PendingTile { span: Span, word: &'static str, axis: MeshAxis, split: Span, contracted: Option<TensorId> },
}

pub(super) type Checked<T> = Result<T, Fault>;

/// What a kernel of a module loads, and the sums that it leaves pending.
///
/// # Errors
/// The first operation that reads what no tile has.
pub(super) fn analyse(
    module: &Module,
    func: &Function,
    reached: &Ways,
    params: &[Option<i128>],
) -> Checked<Found> {
    let mut walk = Walk {
        module,
        func,
        reached,
        splits: [None; 2],
        found: Found::default(),
        stored: Vec::new(),
        indices: Indices::new(params),
        loops: Vec::new(),
        heads: FxHashMap::default(),
    };
    let locals = func.locals.len();
    let mut flow = Some(Known { tiles: vec![None; locals], values: vec![None; locals] });
    walk.block(&func.body, &mut flow)?;
    Ok(walk.found)
}

/// A loop that is under way.
#[derive(Default)]
struct Round {
    /// What is known where it is left.
    left: Flow,
    /// What is known where its next pass begins early.
    next: Flow,
}

pub(super) struct Walk<'a> {
    pub(super) module: &'a Module,
    pub(super) func: &'a Function,
    pub(super) reached: &'a Ways,
    /// Where a sum was split first over each axis, and the tensor whose dimension it was.
    pub(super) splits: [Option<(Span, Option<TensorId>)>; 2],
    pub(super) found: Found,
    /// Tensors that are stored so far.
    pub(super) stored: Vec<TensorId>,
    pub(super) indices: Indices,
    loops: Vec<Round>,
    /// What is known where passes of loops begin, by the place of the loop in memory.
    heads: FxHashMap<usize, Known>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, flow: &mut Flow) -> Checked<()> {
        block.iter().try_for_each(|stmt| self.stmt(stmt, flow))
    }

    fn stmt(&mut self, stmt: &Stmt, flow: &mut Flow) -> Checked<()> {
        let Some(known) = flow else { return Ok(()) };
        if !matches!(stmt.kind, StmtKind::While { .. }) {
            self.numbers(stmt, &known.tiles)?;
        }
        match &stmt.kind {
            StmtKind::Tile(op) => self.op(op, stmt.span, known)?,
            StmtKind::StoreScalar { tensor, value, .. } => self.store_number(*tensor, value, stmt.span)?,
            StmtKind::Let { local, init } => {
                self.assign(*local, init.as_ref(), known);
                known.tiles[local.index()] = None;
            }
            StmtKind::Assign { local, value } => self.assign(*local, Some(value), known),
            StmtKind::LetArray { array: ArrayRef::Tensor(tensor), .. } => self.element(*tensor, stmt.span)?,
            StmtKind::If { then, otherwise, .. } => {
                let mut other = flow.clone();
                self.block(then, flow)?;
                self.block(otherwise, &mut other)?;
                *flow = meet(flow.take(), other);
            }
            StmtKind::For { var, start, step, body, .. } => {
                let mut changed = OrderedSet::new();
                walk::assigned(body, &mut changed);
                let mut of = |index| self.indices.of(index, &known.values).filter(|_| !changed.contains(var));
                let (start, step) = (of(start), of(step));
                self.indices.steps(*var, start.as_ref(), step.as_ref());
                known.change(*var, &self.indices);
                self.repeated(stmt, Some(*var), body, &[], flow)?;
            }
            StmtKind::While { body, step, .. } => self.repeated(stmt, None, body, step, flow)?,
            StmtKind::Break => self.leaves(flow, |round| &mut round.left),
            StmtKind::Continue => self.leaves(flow, |round| &mut round.next),
            StmtKind::Return(_) => *flow = None,
            _ => {}
        }
        Ok(())
    }

    fn leaves(&mut self, flow: &mut Flow, to: impl Fn(&mut Round) -> &mut Flow) {
        let flow = flow.take();
        if let Some(round) = self.loops.last_mut() {
            let to = to(round);
            *to = meet(to.take(), flow);
        }
    }

    /// A variable gets a value.
    fn assign(&mut self, local: LocalId, value: Option<&Expr>, known: &mut Known) {
        let value = value.and_then(|value| self.indices.of(value, &known.values));
        known.change(local, &self.indices);
        known.values[local.index()] = value.filter(|value| !self.indices.reads(value, local));
    }

    /// A loop: as often as something changes. What is known where a pass begins only gets less: a tile lies in one of few ways, one after
    /// the other. What a pass stores, the next one may load. A loop in a loop goes on from what was known of it before, so that loops in loops take
    /// a number of passes that grows with their depth, not with its power.
    fn repeated(
        &mut self,
        stmt: &Stmt,
        var: Option<LocalId>,
        body: &Block,
        step: &[Stmt],
        flow: &mut Flow,
    ) -> Checked<()> {
        let at = std::ptr::from_ref(stmt).addr();
        let Some(mut head) = meet(flow.take(), self.heads.remove(&at)) else { return Ok(()) };
        loop {
            if var.is_none() {
                self.numbers(stmt, &head.tiles)?;
            }
            let stores = (self.found.left.len(), self.stored.len());
            self.loops.push(Round::default());
            let mut inner = Some(head.clone());
            let walked = self.block(body, &mut inner);
            let round = self.loops.pop().unwrap_or_default();
            walked?;
            let mut back = meet(inner, round.next);
            step.iter().try_for_each(|stmt| self.stmt(stmt, &mut back))?;
            let mut left = round.left;
            if let Some(var) = var {
                back.iter_mut().chain(&mut left).for_each(|known| known.change(var, &self.indices));
            }
            let again = meet(Some(head.clone()), back);
            if again.as_ref() == Some(&head) && stores == (self.found.left.len(), self.stored.len()) {
                self.heads.insert(at, head);
                *flow = meet(again, left);
                return Ok(());
            }
            head = again.unwrap_or(head);
        }
    }

    /// Elements, and sums and maxima of tiles, in the expressions of a statement.
    fn numbers(&mut self, stmt: &Stmt, tiles: &Tiles) -> Checked<()> {
        let mut wrong = None;
        walk::exprs(stmt, &mut |expr| {
            if wrong.is_none() {
                wrong = self.scalar(expr, tiles).err();
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    fn scalar(&mut self, expr: &Expr, tiles: &Tiles) -> Checked<()> {
        match &expr.kind {
            ExprKind::LoadScalar(tensor, _)
            | ExprKind::Load(ArrayRef::Tensor(tensor), _)
            | ExprKind::ArrayMax(ArrayRef::Tensor(tensor), _)
            | ExprKind::ArraySum(ArrayRef::Tensor(tensor), _) => self.element(*tensor, expr.span)?,
            ExprKind::Call(called, args) => {
                let given = args.iter().filter_map(|arg| match arg {
                    Arg::Array(array) => Some(*array),
                    Arg::Scalar(_) => None,
                });
                for array in given.chain(arrays_read(self.module, *called)) {
                    if let ArrayRef::Tensor(tensor) = array {
                        self.element(tensor, expr.span)?;
                    }
                }
            }
            ExprKind::TileMax(tile) | ExprKind::TileSum(tile) => {
                let tile = got(tiles, *tile);
                let word = "an element of a tile";
                self.alike(&tile, word, expr.span)?;
                self.whole_sums(&tile, word, expr.span)?;
                self.whole(&tile, |_| true, word, expr.span)?;
                let over = tile.which(|lies| *lies != Lies::Whole);
                self.number(over, over.axes().next().and_then(|axis| tile.of(axis)), expr.span)?;
            }
            _ => {}
        }
        let mut wrong = None;
        expr.for_each_child(&mut |child| {
            if wrong.is_none() {
                wrong = self.scalar(child, tiles).err();
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    /// Elements of a tensor become numbers.
    fn element(&mut self, tensor: TensorId, span: Span) -> Checked<()> {
        self.readable(tensor, span)?;
        let over = self.reached.loaded(tensor).unwrap_or_default().axes();
        self.number(over, Some(tensor), span)
    }

    /// A number has one value on all tiles: it is not followed further.
    fn number(&self, over: AxisSet, relayout: Option<TensorId>, span: Span) -> Checked<()> {
        let Some(axis) = over.axes().next() else { return Ok(()) };
        let message = format!(
            "a number is taken from a dimension that is sharded over `{}` and reached across tiles; numbers are not followed",
            axis.word()
        );
        Err(Fault::Unlike { span, message, relayout, axis })
    }

    /// Where sums over an axis were split first.
    pub(super) fn source(&self, axis: MeshAxis) -> Option<(Span, Option<TensorId>)> {
        self.splits[axis as usize]
    }

    /// A sum is split over an axis here.
    pub(super) fn split(&mut self, axis: MeshAxis, of: Option<TensorId>, span: Span) {
        self.splits[axis as usize].get_or_insert((span, of));
    }

    /// A tile has no parts of sums.
    pub(super) fn whole_sums(&self, tile: &Tile, word: &'static str, span: Span) -> Checked<()> {
        let Some(axis) = tile.pending().axes().next() else { return Ok(()) };
        Err(self.read_parts(word, axis, tile, span))
    }

    /// A tile has the same layout on all ways to here.
    pub(super) fn alike(&self, tile: &Tile, word: &str, span: Span) -> Checked<()> {
        let Some(axis) = tile.which(|lies| *lies == Lies::Unlike).axes().next() else { return Ok(()) };
        let message = format!(
            "`{word}` reads a tile that lies in one way over `{}` by one branch or pass of a loop, and in another way by another; sums that tiles have parts of start from zeros",
            axis.word()
        );
        let (_, contracted) = self.source(axis).unwrap_or((span, None));
        Err(Fault::Unlike { span, message, relayout: tile.of(axis).or(contracted), axis })
    }

    /// Sides of a tile are not sharded.
    pub(super) fn whole(
        &self,
        tile: &Tile,
        asked: impl Fn(super::tile::Side) -> bool,
        word: &str,
        span: Span,
    ) -> Checked<()> {
        let found = super::AXES.into_iter().find_map(|axis| match tile.along(axis) {
            Lies::Shard(side, _) if asked(*side) => Some((axis, *side)),
            _ => None,
        });
        let Some((axis, side)) = found else { return Ok(()) };
        let message = format!(
            "`{word}` needs all {} of its operand, which are sharded over `{}`",
            side.word(),
            axis.word()
        );
        Err(Fault::Unlike { span, message, relayout: tile.of(axis), axis })
    }
}
