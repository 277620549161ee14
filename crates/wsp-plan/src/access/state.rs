//! What is known of a kernel's variables at one point of it.

use super::interval::{self, Interval};
use super::sym;
use crate::{fold, walk};
use wsp_core::LocalId;
use wsp_diag::Span;
use wsp_ir::{Block, Expr, Function, LocalTy, ScalarTy, StmtKind, TileTy};
use wsp_ordered::OrderedSet;

/// What is known of a scalar. Expressions are over descriptor fields, parameters and loop variables in scope.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    /// It is this.
    Exact(Expr),
    /// It lies in there.
    Within(Interval),
}

impl Value {
    /// Nothing known but the type.
    pub(super) fn unknown(ty: ScalarTy) -> Value {
        Value::Within(interval::unknown(ty))
    }

    /// The expression, unless it has grown too large to carry.
    pub(super) fn exact(e: Expr) -> Value {
        if sym::is_small(&e) { Value::Exact(e) } else { Value::unknown(e.ty) }
    }

    /// The expression, if the value is known.
    pub(super) fn as_exact(&self) -> Option<&Expr> {
        match self {
            Value::Exact(e) => Some(e),
            Value::Within(_) => None,
        }
    }
}

/// At most this many valid rows and columns.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Shape {
    pub(super) rows: Expr,
    pub(super) cols: Expr,
}

impl Shape {
    /// All that a tile can hold.
    pub(super) fn capacity(ty: &TileTy) -> Shape {
        let side = |e: &Expr| fold::cast(e.clone(), ScalarTy::U32);
        Shape { rows: side(&ty.rows), cols: side(&ty.cols) }
    }

    /// Nothing valid.
    pub(super) fn empty() -> Shape {
        let zero = Expr::u32(0, Span::default());
        Shape { rows: zero.clone(), cols: zero }
    }
}

/// What is known at one point.
#[derive(Clone)]
pub(super) struct State {
    /// Per local; meaningful for scalars.
    pub(super) scalars: Vec<Value>,
    /// Per local; present for tiles.
    pub(super) shapes: Vec<Option<Shape>>,
    /// All of these hold here; free of loop variables.
    pub(super) path: Vec<Expr>,
    /// Control never comes here.
    pub(super) dead: bool,
}

impl State {
    /// At a kernel's start.
    pub(super) fn entry(func: &Function) -> State {
        let scalars = func.locals.iter().map(|local| initial(&local.ty)).collect();
        let shapes = func.locals.iter().map(|local| tile_ty(&local.ty).map(|_| Shape::empty())).collect();
        State { scalars, shapes, path: Vec::new(), dead: false }
    }

    /// Forgets what a block may change.
    pub(super) fn forget(&mut self, func: &Function, block: &Block) {
        for local in written(block) {
            let ty = &func.local(local).ty;
            self.scalars[local.index()] = initial(ty);
            self.shapes[local.index()] = tile_ty(ty).map(Shape::capacity);
        }
    }

    /// Where two ways meet.
    pub(super) fn meet(self, other: State, func: &Function) -> State {
        if self.dead {
            return other;
        }
        if other.dead {
            return self;
        }
        let scalars = self.scalars.into_iter().zip(other.scalars).map(|(a, b)| join(a, b)).collect();
        let shapes = std::iter::zip(&func.locals, self.shapes.into_iter().zip(other.shapes))
            .map(|(local, shapes)| join_shapes(shapes, &local.ty))
            .collect();
        let path = self.path.into_iter().filter(|c| other.path.contains(c)).collect();
        State { scalars, shapes, path, dead: false }
    }
}

fn initial(ty: &LocalTy) -> Value {
    match ty {
        LocalTy::Scalar(ty) => Value::unknown(*ty),
        LocalTy::Array(_) | LocalTy::Tile(_) | LocalTy::Descriptor(_) => Value::unknown(ScalarTy::U32),
    }
}

fn tile_ty(ty: &LocalTy) -> Option<&TileTy> {
    match ty {
        LocalTy::Tile(ty) => Some(ty),
        _ => None,
    }
}

fn join(a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    let bounds = |v: Value| match v {
        // The sign of an exact value is left open: unsigned ones have it in their type.
        Value::Exact(e) => {
            let nonneg = fold::is_unsigned(e.ty) || e.as_const_int().is_some_and(|v| v >= 0);
            Interval::point(e, nonneg)
        }
        Value::Within(i) => i,
    };
    Value::Within(interval::join(&bounds(a), &bounds(b)))
}

fn join_shapes(shapes: (Option<Shape>, Option<Shape>), ty: &LocalTy) -> Option<Shape> {
    let (Some(a), Some(b)) = shapes else { return None };
    if a == b {
        return Some(a);
    }
    let joined = Shape { rows: fold::max(a.rows, b.rows), cols: fold::max(a.cols, b.cols) };
    if sym::is_small(&joined.rows) && sym::is_small(&joined.cols) {
        return Some(joined);
    }
    tile_ty(ty).map(Shape::capacity)
}

/// The variables that a block declares, assigns or overwrites.
fn written(block: &Block) -> OrderedSet<LocalId> {
    let mut out = OrderedSet::new();
    walk::stmts(block, &mut |stmt| match &stmt.kind {
        StmtKind::Let { local, .. } | StmtKind::LetArray { local, .. } | StmtKind::Assign { local, .. } => {
            out.insert(*local);
        }
        StmtKind::For { var, .. } => {
            out.insert(*var);
        }
        StmtKind::Tile(op) => out.extend(op.resizes()),
        _ => {}
    });
    out
}
