//! Indices of a kernel, in a form in which equal ones are the same.

use wsp_core::int::BinOp;
use wsp_core::{AxisId, LocalId, ParamId};
use wsp_ir::affine::Affine;
use wsp_ir::{Const, Expr, ExprKind};
use wsp_ordered::{OrderedMap, OrderedSet};

/// What an index is a sum of multiples of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Atom {
    /// A variable, with the value that it has now.
    Local(LocalId),
    /// A field of the descriptor.
    Field(u32),
    /// A value of the launch.
    Param(ParamId),
    /// The extent of an axis.
    Extent(AxisId),
    /// The tile of an axis.
    Tile(AxisId),
    /// A number of [`Indices::others`].
    Other(u32),
}

/// An index.
pub(super) type Index = Affine<Atom>;

/// Which tile has an index of a sharded dimension: those at the same index are on one tile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Key {
    /// The first index, counted from the beginning of the tensor.
    pub(super) first: Index,
    /// How many indices a tile has.
    pub(super) part: u32,
    /// The indices of what is loaded are known to be of several tiles.
    pub(super) several: bool,
}

impl Key {
    /// Whether both go along with one index.
    pub(super) fn is_at(&self, other: &Key) -> bool {
        (&self.first, self.part) == (&other.first, other.part)
    }

    /// Both, where they go along with one index.
    pub(super) fn with(&self, other: &Key) -> Option<Key> {
        self.is_at(other).then(|| Key { several: self.several && other.several, ..self.clone() })
    }
}

/// How many indices a load takes from the first one on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Count {
    /// No more than these.
    pub(super) most: u32,
    /// These, unless the tensor ends before.
    pub(super) is_exact: bool,
    /// Where the tensor ends.
    pub(super) end: u32,
}

/// What is known of indices.
#[derive(Debug, Default)]
pub(super) struct Indices {
    /// Values of parameters, where they are known.
    params: Vec<Option<i128>>,
    /// Numbers that are no such sums: they change with the variables that they read only.
    others: Vec<(Expr, OrderedSet<LocalId>)>,
    /// What values of variables of loops are multiples of.
    multiples: OrderedMap<LocalId, i128>,
}

impl Indices {
    /// Where parameters have these values.
    pub(super) fn new(params: &[Option<i128>]) -> Indices {
        Indices { params: params.to_vec(), ..Indices::default() }
    }

    /// The index that an expression gives, where some variables have known values; none where it reads what may change by itself.
    pub(super) fn of(&mut self, expr: &Expr, values: &[Option<Index>]) -> Option<Index> {
        if !expr.ty.is_int() {
            return None;
        }
        let sum = match &expr.kind {
            ExprKind::Const(Const::Int(value)) => Some(Affine { constant: *value, terms: Vec::new() }),
            ExprKind::Local(local) => match values.get(local.index()) {
                Some(Some(value)) => Some(value.clone()),
                _ => Some(Affine::variable(Atom::Local(*local))),
            },
            ExprKind::Field(_, field) => Some(Affine::variable(Atom::Field(*field))),
            ExprKind::Param(param) => match self.params.get(param.index()) {
                Some(Some(value)) => Some(Affine { constant: *value, terms: Vec::new() }),
                _ => Some(Affine::variable(Atom::Param(*param))),
            },
            ExprKind::AxisExtent(axis) => Some(Affine::variable(Atom::Extent(*axis))),
            ExprKind::AxisTile(axis) => Some(Affine::variable(Atom::Tile(*axis))),
            ExprKind::Cast(inner) if inner.ty.is_int() => return self.of(inner, values),
            ExprKind::Binary(op, a, b) => self.joined(*op, a, b, values),
            ExprKind::Chain(first, rest) => {
                rest.iter().try_fold(self.of(first, values)?, |sum, (op, next)| {
                    let next = self.of(next, values)?;
                    combined(*op, &sum, &next)
                })
            }
            _ => None,
        };
        sum.or_else(|| self.other(expr))
    }

    fn joined(&mut self, op: BinOp, a: &Expr, b: &Expr, values: &[Option<Index>]) -> Option<Index> {
        let (a, b) = (self.of(a, values)?, self.of(b, values)?);
        combined(op, &a, &b)
    }

    /// A number that is no sum of multiples, by what it is written as.
    fn other(&mut self, expr: &Expr) -> Option<Index> {
        if expr.any(&mut |inner| !is_steady(inner)) {
            return None;
        }
        let at = self.others.iter().position(|(known, _)| known == expr).unwrap_or_else(|| {
            let mut read = OrderedSet::new();
            crate::walk::reads(expr, &mut read);
            self.others.push((expr.clone(), read));
            self.others.len() - 1
        });
        Some(Affine::variable(Atom::Other(at as u32)))
    }

    /// Whether an index changes with a variable.
    pub(super) fn reads(&self, index: &Index, local: LocalId) -> bool {
        index.terms.iter().any(|(atom, _)| match atom {
            Atom::Local(own) => *own == local,
            Atom::Other(at) => self.others[*at as usize].1.contains(&local),
            _ => false,
        })
    }

    /// Notes that a variable goes from one index on in steps.
    pub(super) fn steps(&mut self, var: LocalId, start: Option<&Index>, step: Option<&Index>) {
        let of = |index: Option<&Index>| index.map_or(1, |index| self.multiple(index));
        let multiple = gcd(of(start), of(step));
        self.multiples.insert(var, multiple);
    }

    /// What an index is a multiple of; 0 of the index 0.
    fn multiple(&self, index: &Index) -> i128 {
        index.terms.iter().fold(index.constant, |all, (atom, factor)| {
            let own = match atom {
                Atom::Local(local) => self.multiples.get(local).copied().unwrap_or(1),
                _ => 1,
            };
            gcd(all, factor.checked_mul(own).unwrap_or(1))
        })
    }

    /// Parts begin at multiples of what this gives, and so does the index of a key but for a constant.
    fn grain(&self, key: &Key) -> i128 {
        let variable = Affine { constant: 0, terms: key.first.terms.clone() };
        gcd(self.multiple(&variable), i128::from(key.part))
    }

    /// The key of the tile that has so many indices from that of a key on, where it has all of them: the first index of those that are
    /// known to be of one part with them.
    pub(super) fn one_part(&self, key: &Key, most: Option<u32>) -> Option<Key> {
        let grain = self.grain(key);
        let rest = key.first.constant.rem_euclid(grain);
        let most = i128::from(most?.max(1));
        let first = Affine { constant: key.first.constant - rest, terms: key.first.terms.clone() };
        (most == 1 || rest + most <= grain).then_some(Key { first, several: false, ..*key })
    }

    /// Whether indices from that of a key on are of several tiles.
    pub(super) fn is_several(&self, key: &Key, count: Count) -> bool {
        let Count { most, is_exact, end } = count;
        if !is_exact || most == 0 {
            return false;
        }
        if let Some(first) = key.first.as_constant() {
            let last = (first + i128::from(most)).min(i128::from(end)) - 1;
            let part = i128::from(key.part);
            return last >= first && first.div_euclid(part) != last.div_euclid(part);
        }
        // The last box is the shortest; those before it that end where the tensor does are longer.
        let (step, part, last) =
            (self.multiple(&key.first).max(1), i128::from(key.part), i128::from(end) - 1);
        most > key.part && last >= 0 && (last - last % step) / part != last / part
    }
}

/// The sum, difference or product of two indices, or the quotient of two numbers.
fn combined(op: BinOp, a: &Index, b: &Index) -> Option<Index> {
    match op {
        BinOp::Add => a.add(b),
        BinOp::Sub => a.minus(b),
        BinOp::Mul => a.multiply(b),
        BinOp::Div | BinOp::Rem => {
            let (a, b) = (a.as_constant().filter(|a| *a >= 0)?, b.as_constant().filter(|b| *b > 0)?);
            let constant = if op == BinOp::Div { a / b } else { a % b };
            Some(Affine { constant, terms: Vec::new() })
        }
        _ => None,
    }
}

/// Whether an expression itself reads nothing but variables and what a launch does not change.
fn is_steady(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Const(_)
            | ExprKind::Param(_)
            | ExprKind::Local(_)
            | ExprKind::Field(..)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Chain(..)
            | ExprKind::Cast(_)
            | ExprKind::Select(..)
            | ExprKind::MaxBlocks
            | ExprKind::AxisExtent(_)
            | ExprKind::AxisTile(_)
    )
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
