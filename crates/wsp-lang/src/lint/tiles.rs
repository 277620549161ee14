//! Tiles that are read before anything is in them.
//!
//! A tile counts as written where some path to the read has written it, so that a tile that only one arm of an `if` writes
//! is no finding. In the first pass of a loop nothing of a later pass is there: a read that every first pass reaches needs
//! a write before the loop, or earlier in its body.

use super::{LintInput, codes};
use wsp_core::LocalId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Block, Expr, ExprKind, Function, LocalTy, Stmt, StmtKind, TileOp, walk};
use wsp_ordered::{OrderedMap, OrderedSet};

/// The warnings of all kernels.
pub(super) fn check(program: &LintInput<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for function in &program.module.functions {
        let mut flow = Flow { function, loops: Vec::new(), reads: OrderedMap::new() };
        flow.block(&function.body, &mut OrderedSet::new(), false);
        found.extend(flow.reads.into_iter().map(|(tile, read)| finding(function, tile, read)));
    }
    found
}

/// The first read of a tile with nothing in it.
#[derive(Clone, Copy)]
struct Read {
    span: Span,
    stored: bool,
}

fn finding(function: &Function, tile: LocalId, read: Read) -> Diagnostic {
    let local = function.local(tile);
    let (code, message) = if read.stored {
        let message = format!("tile `{}` is stored and nothing was loaded into it or computed", local.name);
        (codes::UNWRITTEN_STORE, message)
    } else {
        (codes::UNWRITTEN_TILE, format!("tile `{}` is read before anything is in it", local.name))
    };
    Diagnostic::warning(code, message)
        .at(read.span, "has no valid elements here")
        .label(local.span, "declared here, empty")
        .help(format!("write `TLOAD({0}, …);` or `TASSIGN({0}, 0.0f);` before", local.name))
}

/// A loop around the statement that is looked at.
struct Around {
    /// Tiles that its body writes and does not declare.
    carried: OrderedSet<LocalId>,
    /// Whether the statement may be left out of the first pass.
    conditional: bool,
}

struct Flow<'a> {
    function: &'a Function,
    loops: Vec<Around>,
    reads: OrderedMap<LocalId, Read>,
}

impl<'a> Flow<'a> {
    /// Goes through a block; `written` are the tiles that have contents on some path.
    fn block(&mut self, block: &'a Block, written: &mut OrderedSet<LocalId>, conditional: bool) {
        let outer = self.set_conditional(conditional);
        for stmt in block {
            self.stmt(stmt, written);
            // Behind a statement that may leave the pass nothing is sure to run in it.
            if walk::blocks(stmt).any(leaves) {
                self.set_conditional(true);
            }
        }
        if let (Some(around), Some(outer)) = (self.loops.last_mut(), outer) {
            around.conditional = outer;
        }
    }

    /// Notes that what follows may be left out; what held before.
    fn set_conditional(&mut self, conditional: bool) -> Option<bool> {
        let around = self.loops.last_mut()?;
        let before = around.conditional;
        around.conditional |= conditional;
        Some(before)
    }

    fn stmt(&mut self, stmt: &'a Stmt, written: &mut OrderedSet<LocalId>) {
        walk::exprs(stmt, &mut |e| self.expr(e, written));
        match &stmt.kind {
            StmtKind::Let { local, .. } => {
                written.remove(local);
            }
            StmtKind::Tile(op) => {
                let stored = matches!(op, TileOp::Store { .. });
                for tile in op.reads() {
                    self.read(tile, Read { span: stmt.span, stored }, written);
                }
                written.extend(op.writes());
            }
            StmtKind::If { then, otherwise, .. } => {
                let mut other = written.clone();
                self.block(then, written, true);
                self.block(otherwise, &mut other, true);
                written.append(&mut other);
            }
            StmtKind::For { body, .. } | StmtKind::ScheduledFor { body, .. } => {
                self.repeated(&[body], written);
            }
            StmtKind::While { step, body, .. } => self.repeated(&[body, step], written),
            _ => {}
        }
    }

    /// The blocks of one pass of a loop.
    fn repeated(&mut self, blocks: &[&'a Block], written: &mut OrderedSet<LocalId>) {
        let (mut carried, mut own) = (OrderedSet::new(), OrderedSet::new());
        for block in blocks {
            walk::stmts(block, &mut |stmt| match &stmt.kind {
                StmtKind::Tile(op) => carried.extend(op.writes()),
                StmtKind::Let { local, .. } => {
                    own.insert(*local);
                }
                _ => {}
            });
        }
        carried.retain(|tile| !own.contains(tile));
        // Of a loop inside a loop nothing is sure to run in the first pass of the outer one.
        let outer = self.set_conditional(true);
        self.loops.push(Around { carried, conditional: false });
        for block in blocks {
            self.block(block, written, false);
        }
        self.loops.pop();
        if let (Some(around), Some(outer)) = (self.loops.last_mut(), outer) {
            around.conditional = outer;
        }
    }

    fn expr(&mut self, e: &Expr, written: &OrderedSet<LocalId>) {
        let mut reads = Vec::new();
        walk::each_subexpr(e, &mut |e| {
            if let ExprKind::TileMax(tile) | ExprKind::TileSum(tile) = e.kind {
                reads.push((tile, e.span));
            }
        });
        for (tile, span) in reads {
            self.read(tile, Read { span, stored: false }, written);
        }
    }

    fn read(&mut self, tile: LocalId, read: Read, written: &OrderedSet<LocalId>) {
        let later = self.loops.iter().any(|around| around.conditional && around.carried.contains(&tile));
        let is_tile = matches!(self.function.local(tile).ty, LocalTy::Tile(_));
        if is_tile && !written.contains(&tile) && !later {
            self.reads.entry(tile).or_insert(read);
        }
    }
}

/// Whether a block may leave the pass of the loop that it stands in, or the function.
fn leaves(block: &Block) -> bool {
    let mut found = false;
    walk::stmts(block, &mut |stmt| {
        found |= matches!(stmt.kind, StmtKind::Break | StmtKind::Continue | StmtKind::Return(_));
    });
    found
}
