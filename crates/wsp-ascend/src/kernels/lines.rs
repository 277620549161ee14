//! Lines of 64 bytes that tasks of several cores may store to: what one core writes there may be lost to another.
//!
//! The first byte of a store is a number that tasks differ in, and what rounds and rows of a task add to it ([`Value`]). Tensors begin on a
//! line. Two tasks that store different elements share no line where
//!
//! * every run of bytes begins on a line;
//! * or the lines of all that is added in steps that are no multiple of 64 are over where the next of these parts begins: parts that begin at
//!   the same place have the same elements. Where a condition, or what decides the rows of a tile, gives each task rounds of its own, what rounds
//!   add is a part of the task. Where rounds bring several tasks to one place, and decide what each stores there, only the first rule holds.
//!
//! Several stores to one tensor are parts of one, from the first byte of any to the last; where their places differ in more than constants between
//! tasks, only the first rule holds. Additions to memory are no stores: they are made behind the caches. Tasks that store the same element are not
//! looked for, nor are different kernels that store to one tensor, nor stores to single places that conditions give to one task each.

use super::codes;
use super::paged;
use super::rounds::Loops;
use super::rows::Deciders;
use super::values::{Turns, Value, Values, decides, gcd};
use wsp_core::{DType, LocalId, TensorId};
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::{
    BinOp, Block, Dim, Elem, Expr, ExprKind, Function, LocalTy, Stmt, StmtKind, TileOp, Verified, walk,
};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tile::Known;

/// Bytes of a line of global memory.
const LINE: i128 = 64;

/// A store as runs of bytes without gaps.
struct Store {
    tensor: TensorId,
    /// Where runs begin, in bytes.
    begin: Value,
    /// Bytes of a run at most.
    bytes: i128,
    /// Whether the unit of scalars does it, by way of the cache of its core.
    scalar: bool,
    /// The dimension of the tensor whose size is not known, and decides.
    unknown: Option<usize>,
    elem: DType,
    /// What tasks differ in: indices, by dimension, and conditions that choose rounds.
    owner: Vec<(Option<usize>, Expr)>,
    /// Whether what tasks store at a place that several of them reach may differ from task to task, by the round that reaches it.
    skewed: bool,
    span: Span,
}

/// Stores whose lines several cores may write: a warning each.
pub(super) fn check(
    module: &Verified,
    kernel: &Function,
    known: Known<'_>,
    values: &Values<'_>,
) -> Vec<Diagnostic> {
    let (rows, loops) = (Deciders::of(kernel), Loops::of(kernel));
    let of = Stores { module, kernel, known, values, rows, loops };
    let mut stores: OrderedMap<TensorId, Vec<Store>> = OrderedMap::new();
    of.block(&kernel.body, &Around::default(), &mut stores);
    let mut found = Vec::new();
    for stores in stores.values() {
        if stores.iter().all(Store::begins_on_a_line) || keep_apart(stores) {
            continue;
        }
        let shares = |store: &&Store| store.begin.varies && (stores.len() > 1 || !store.begins_on_a_line());
        found.extend(stores.iter().filter(shares).map(|store| of.told(store)));
    }
    found
}

/// Whether no two tasks that store different elements write one line, where all tasks' parts are as far apart.
fn keep_apart(stores: &[Store]) -> bool {
    if stores.iter().any(|store| store.skewed || store.owner != stores[0].owner) {
        return false;
    }
    let (mut block, mut part) = (0, None);
    for store in stores {
        let Some((own, first, end)) = store.part() else { return false };
        block = gcd(block, own);
        part = Some(part.map_or((first, end), |(a, b): (i128, i128)| (a.min(first), b.max(end))));
    }
    let Some((first, end)) = part else { return true };
    // Where the next part begins at the earliest, the line of the last byte is over, wherever in a line this one begins.
    let (step, last) = (gcd(block, LINE), end.saturating_sub(first).saturating_sub(1));
    let begins = (first.rem_euclid(step)..LINE).step_by(step as usize);
    begins.into_iter().all(|at| at.saturating_add(last) / LINE < at.saturating_add(block) / LINE)
}

impl Store {
    /// Elements of a tile along a dimension of the tensor: more bytes of a run where they are neighbours, else more runs.
    fn repeat(&mut self, stride: Option<Value>, count: i128) {
        let size = self.elem.size() as i128;
        match stride.map(|stride| stride.constant()) {
            Some(Some(1)) => self.bytes *= count,
            Some(stride) if count > 1 => {
                let step = stride.unwrap_or(1).saturating_mul(size);
                let ends = stride.map(|_| (0, (count - 1).saturating_mul(step)));
                self.begin = self.begin.clone().repeated(step, ends);
            }
            _ => {}
        }
    }

    /// What rounds add is a part of the task where some of these give each task rounds of its own.
    fn of_tasks(&mut self, picks: Vec<&Expr>) {
        if !picks.is_empty() {
            self.begin = self.begin.clone().of_tasks();
            self.owner.extend(picks.into_iter().map(|e| (None, e.clone())));
        }
    }

    /// What is added in steps that are whole lines, and in others.
    fn turns(&self) -> (Vec<Turns>, Vec<Turns>) {
        self.begin.turns.iter().partition(|turns| turns.step % LINE == 0)
    }

    /// How far parts of tasks are apart at least, where that is known.
    fn block(&self) -> i128 {
        self.turns().0.iter().fold(self.begin.modulus, |block, turns| gcd(block, turns.step))
    }

    /// Whether every run of bytes begins on a line.
    fn begins_on_a_line(&self) -> bool {
        self.turns().1.is_empty() && self.block() % LINE == 0 && self.begin.rest % LINE == 0
    }

    /// How far parts are apart, and the first byte and the end of one; none where that is not known.
    fn part(&self) -> Option<(i128, i128, i128)> {
        let rest = self.begin.rest;
        let part = (rest, rest.saturating_add(self.bytes));
        let (first, end) = self.turns().1.iter().try_fold(part, |(first, end), turns| {
            let (low, high) = turns.ends?;
            Some((first.saturating_add(low), end.saturating_add(high)))
        })?;
        Some((self.block(), first, end))
    }
}

/// What is around a statement.
#[derive(Clone, Default)]
struct Around<'a> {
    /// The variables of loops, and those that their rounds set.
    rounds: OrderedSet<LocalId>,
    /// What decides whether it runs, and how often.
    deciders: Vec<Decider<'a>>,
}

/// What decides whether a statement runs, or how many rows a tile has.
#[derive(Clone, Copy)]
struct Decider<'a> {
    e: &'a Expr,
    /// Whether tasks differ in it.
    varies: bool,
    /// Whether rounds around differ in it.
    of_round: bool,
}

/// The variables that a statement sets where it is repeated.
fn set_by_rounds(stmt: &Stmt) -> OrderedSet<LocalId> {
    let mut found = OrderedSet::new();
    if let StmtKind::For { var, .. } = stmt.kind {
        found.insert(var);
    }
    if matches!(stmt.kind, StmtKind::For { .. } | StmtKind::While { .. }) {
        walk::blocks(stmt).for_each(|inner| {
            walk::stmts(inner, &mut |stmt| match stmt.kind {
                StmtKind::Let { local, .. } | StmtKind::Assign { local, .. } => {
                    found.insert(local);
                }
                StmtKind::For { var, .. } => {
                    found.insert(var);
                }
                _ => {}
            });
        });
    }
    found
}

/// Indices of a place, each with what rows or columns of a tile add to it at most.
type Indices<'e> = Vec<(&'e Expr, i128)>;

struct Stores<'a> {
    module: &'a Verified,
    kernel: &'a Function,
    known: Known<'a>,
    values: &'a Values<'a>,
    /// What decides the rows and columns of each tile.
    rows: OrderedMap<LocalId, Deciders<'a>>,
    loops: Loops,
}

impl<'a> Stores<'a> {
    /// Adds the stores of a block.
    fn block(&self, block: &'a Block, around: &Around<'a>, found: &mut OrderedMap<TensorId, Vec<Store>>) {
        for stmt in block {
            if let Some(mut store) = self.store(&stmt.kind, around, stmt.span) {
                // What decides may give each task rounds of its own.
                let chosen = around.deciders.iter().any(|of| of.varies);
                store.begin.varies |= chosen && !store.begin.turns.is_empty();
                found.entry(store.tensor).or_default().push(store);
            }
            let mut inner = around.clone();
            let own = set_by_rounds(stmt);
            inner.deciders.extend(decides(stmt).into_iter().map(|e| self.decider(e, &around.rounds, &own)));
            inner.rounds.extend(own);
            walk::blocks(stmt).for_each(|block| self.block(block, &inner, found));
        }
    }

    /// `own` are the variables of the loop itself: that its rounds end is no choice among them.
    fn decider(&self, e: &'a Expr, rounds: &OrderedSet<LocalId>, own: &OrderedSet<LocalId>) -> Decider<'a> {
        let of_round = |local: &LocalId| rounds.contains(local) && !own.contains(local);
        let of_round = e.any(&mut |e| matches!(&e.kind, ExprKind::Local(local) if of_round(local)));
        Decider { e, varies: self.values.expr(e).varies, of_round }
    }

    /// What of these gives each task rounds of its own at a place with these indices: it depends on the task and on the round. Where the place says
    /// which task it is, tasks of one place choose the same. Where all tasks have one place, the two may depend on different things.
    fn picks(
        &self,
        deciders: &[Decider<'a>],
        place: &Indices<'_>,
        rounds: &OrderedSet<LocalId>,
    ) -> Vec<&'a Expr> {
        let is_told = |e: &Expr| {
            let mut leaves = Vec::new();
            self.leaves(e, rounds, &mut leaves)
                && leaves
                    .iter()
                    .all(|leaf| place.iter().any(|(at, more)| self.linear(at, *more) == Some(*leaf)))
        };
        let both = deciders.iter().filter(|of| of.varies && of.of_round && !is_told(of.e));
        let both: Vec<&Expr> = both.map(|of| of.e).collect();
        let varies = place.iter().any(|(e, _)| self.values.expr(e).varies);
        let [tasks, of_rounds] =
            [|of: &Decider<'_>| of.varies, |of: &Decider<'_>| of.of_round].map(|is| deciders.iter().any(is));
        if !both.is_empty() || varies || !(tasks && of_rounds) {
            return both;
        }
        deciders.iter().filter(|of| of.varies || of.of_round).map(|of| of.e).collect()
    }

    /// Adds the variables and fields in which tasks differ and rounds do not. False where tasks differ in something else.
    fn leaves<'e>(&self, e: &'e Expr, rounds: &OrderedSet<LocalId>, found: &mut Vec<&'e Expr>) -> bool {
        if !self.values.expr(e).varies {
            return true;
        }
        match &e.kind {
            ExprKind::Field(..) => found.push(e),
            ExprKind::Local(local) if !rounds.contains(local) => found.push(e),
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Chain(..)
            | ExprKind::Cast(_)
            | ExprKind::Select(..) => {
                let mut all = true;
                e.for_each_child(&mut |child| all &= self.leaves(child, rounds, found));
                return all;
            }
            _ => return false,
        }
        true
    }

    /// The variable or field that an index follows, so that two tasks with one index have one value of it; `more` is how much rows of a tile, and
    /// what stands around, add to the index at most.
    fn linear<'e>(&self, e: &'e Expr, more: i128) -> Option<&'e Expr> {
        let differs = |e: &Expr| self.values.expr(e).varies;
        // Rounds leave it as it is, and tasks that differ in it are further apart than what is added.
        let is_apart =
            |e: &Expr| self.loops.of_expr(e).is_empty() && (more == 0 || self.values.expr(e).modulus > more);
        let kept = |op: BinOp, a: &'e Expr, others: &[(BinOp, &Expr)]| match op {
            BinOp::Add | BinOp::Sub => {
                let mut more = more;
                for (op, other) in others {
                    if !matches!(op, BinOp::Add | BinOp::Sub) || differs(other) {
                        return None;
                    }
                    for turns in self.values.expr(other).turns {
                        let (low, high) = turns.ends?;
                        more = more.checked_add(high.checked_sub(low)?)?;
                    }
                }
                self.linear(a, more)
            }
            BinOp::Mul => {
                let factor = others.iter().try_fold(1, |product: i128, (op, other)| {
                    let by = self.values.expr(other).constant().filter(|_| *op == BinOp::Mul)?;
                    product.checked_mul(by)
                });
                self.linear(a, more / factor.filter(|n| *n != 0)?.checked_abs()?)
            }
            _ => None,
        };
        match &e.kind {
            ExprKind::Field(..) | ExprKind::Local(_) => is_apart(e).then_some(e),
            ExprKind::Cast(a) => self.linear(a, more),
            ExprKind::Binary(op, a, b) if !differs(b) => kept(*op, a, &[(*op, b)]),
            ExprKind::Binary(op, a, b) if !differs(a) => kept(*op, b, &[(*op, a)]),
            ExprKind::Chain(first, rest) => {
                let op = rest.first()?.0;
                // A sum or a product: the first operand has the operator of its kind.
                let all = [(op, &**first)].into_iter().chain(rest.iter().map(|(op, e)| (*op, e)));
                let (op, own) = all.clone().find(|(_, e)| differs(e)).unwrap_or((op, first));
                let others: Vec<_> = all.filter(|(_, other)| !std::ptr::eq(*other, own)).collect();
                kept(op, own, &others)
            }
            _ => None,
        }
    }

    /// Whether rounds bring several tasks to one index, and decide another index or whether there is a store.
    fn is_skewed(&self, place: &Indices<'_>, deciders: &[Decider<'_>]) -> bool {
        place.iter().enumerate().any(|(dim, (e, more))| {
            let value = self.values.expr(e);
            let loops = self.loops.of_expr(e);
            let repeats = !loops.is_empty() || !value.turns.is_empty();
            if !value.varies || !repeats || self.linear(e, *more).is_some() {
                return false;
            }
            let shares = |other: &Expr| !loops.is_disjoint(&self.loops.of_expr(other));
            let mut others =
                place.iter().enumerate().filter(|(other, _)| *other != dim).map(|(_, (e, _))| *e);
            others.any(shares) || deciders.iter().any(|of| of.of_round && shares(of.e))
        })
    }

    /// None for what is no store, and for a tensor that no kernel is emitted for.
    fn store(&self, stmt: &StmtKind, around: &Around<'a>, span: Span) -> Option<Store> {
        match stmt {
            StmtKind::StoreScalar { tensor, index, .. } => {
                let place: Indices<'_> = index.iter().map(|e| (e, 0)).collect();
                Some(Store { scalar: true, ..self.begin(*tensor, &place, around, span)? })
            }
            StmtKind::Tile(TileOp::Store { tensor, src, at, add: false, .. }) => {
                let LocalTy::Tile(ty) = &self.kernel.local(*src).ty else { return None };
                let [rows, cols] = [&ty.rows, &ty.cols].map(|e| e.as_const_int().unwrap_or(1));
                let mut place: Indices<'_> = at.index.iter().map(|e| (e, 0)).collect();
                for (dim, count) in [(at.row_dim, rows), (at.col_dim, cols)] {
                    if let Some((_, more)) = dim.and_then(|dim| place.get_mut(usize::from(dim))) {
                        *more = count.saturating_sub(1);
                    }
                }
                let mut store = self.begin(*tensor, &place, around, span)?;
                let of_rows = self.of_rows(*src, around, &place);
                store.skewed |= self.is_skewed(&place, &of_rows);
                store.of_tasks(self.picks(&of_rows, &place, &around.rounds));
                let strides = self.strides(*tensor)?;
                // `begin` knows the place in a cache up to rows of lanes only: steps of positions and heads, which are such rows, add nothing.
                let of = &self.module.tensors[tensor.index()];
                let apart = |dim: &u8| paged::cache(of).is_some() && usize::from(*dim) + 1 < of.dims.len();
                let [down, across] = [at.row_dim, at.col_dim]
                    .map(|dim| dim.filter(|dim| !apart(dim)))
                    .map(|dim| dim.and_then(|dim| strides.get(usize::from(dim)).cloned()));
                store.repeat(across, cols);
                // Whole rows of a tensor lie one after another.
                let size = store.elem.size() as i128;
                let row = down.as_ref().and_then(Value::constant).and_then(|stride| stride.checked_mul(size));
                if row == Some(store.bytes) {
                    store.bytes *= rows;
                } else {
                    store.repeat(down, rows);
                }
                Some(store)
            }
            _ => None,
        }
    }

    /// A store of one element.
    fn begin(&self, tensor: TensorId, place: &Indices<'_>, around: &Around<'a>, span: Span) -> Option<Store> {
        let of = &self.module.tensors[tensor.index()];
        let elem = match of.elem {
            Elem::Fixed(elem) => elem,
            Elem::Of(other) => self.known.elems.get(other.index()).copied().flatten()?,
        };
        let bytes = elem.size() as i128;
        let strides = self.strides(tensor)?;
        let first = of.rank() - of.dims.len();
        let lanes = paged::cache(of).map(|_| {
            of.dims.last().and_then(|dim| self.size(dim).constant()).map_or(1, |lanes| lanes.max(1))
        });
        let (mut begin, mut unknown, mut owner) = (Value::number(0), None, Vec::new());
        for (dim, ((e, _), stride)) in place.iter().zip(strides).enumerate() {
            let mut at = self.values.expr(e);
            if at.varies {
                owner.push((Some(dim), (*e).clone()));
            }
            if dim < first {
                // A slot of a workspace is whole lines, and so is where each field begins; slots are as far apart as a field is large.
                let field =
                    of.dims.iter().try_fold(bytes, |all, dim| all.checked_mul(self.size(dim).constant()?));
                let modulus =
                    field.map_or(LINE, |bytes| bytes.saturating_add(LINE - 1) / LINE * LINE).max(LINE);
                begin = begin.plus(Value { modulus, ..Value::unknown(true) });
                continue;
            }
            if let (Some(lanes), true) = (lanes, dim + 1 < of.dims.len()) {
                // Pages lie anywhere, and a launch says how far positions and heads are apart: by rows of lanes. Where all tasks have one
                // place it is on a line if rows are whole ones.
                let row = lanes.saturating_mul(bytes);
                let step = if at.turns.is_empty() { 0 } else { row };
                let modulus = if at.varies || row % LINE != 0 { row } else { 0 };
                let outer = Value { modulus, varies: at.varies, ..Value::number(0) };
                begin = begin.plus(outer.repeated(step, None));
                continue;
            }
            if stride.constant().is_none() && at.constant() != Some(0) {
                let mut inner = dim - first + 1..of.dims.len();
                unknown = unknown.or(inner.find(|dim| self.size(&of.dims[*dim]).constant().is_none()));
            }
            // What only a task repeats lies within the dimension.
            if at.modulus == 0
                && at.turns.iter().any(|turns| turns.ends.is_none())
                && let Some(size) = self.size(&of.dims[dim - first]).constant()
            {
                let step = at.turns.iter().fold(0, |step, turns| gcd(step, turns.step));
                let ends = (at.rest.saturating_neg(), size.saturating_sub(1).saturating_sub(at.rest));
                at = Value { varies: at.varies, ..Value::number(at.rest).repeated(step, Some(ends)) };
            }
            begin = begin.plus(at.times(stride).times(Value::number(bytes)));
        }
        let skewed = self.is_skewed(place, &around.deciders);
        let mut store = Store { tensor, begin, bytes, scalar: false, unknown, elem, owner, skewed, span };
        store.of_tasks(self.picks(&around.deciders, place, &around.rounds));
        Some(store)
    }

    /// What decides the rows that a tile has: one without rows is not stored. Whether loads end with their tensor is asked only where all tasks store
    /// to one place: elsewhere nearly every load would count.
    fn of_rows(&self, tile: LocalId, around: &Around<'a>, place: &Indices<'_>) -> Vec<Decider<'a>> {
        let Some(rows) = self.rows.get(&tile) else { return Vec::new() };
        let varies = place.iter().any(|(e, _)| self.values.expr(e).varies);
        let places = rows.places.iter().filter(|_| !varies);
        let is_around = |e: &Expr| around.deciders.iter().any(|of| std::ptr::eq(of.e, e));
        let all = rows.decides.iter().chain(places).filter(|e| !is_around(e));
        all.map(|e| self.decider(e, &around.rounds, &OrderedSet::new())).collect()
    }

    /// How many elements neighbours are apart, by index.
    fn strides(&self, tensor: TensorId) -> Option<Vec<Value>> {
        let of = &self.module.tensors[tensor.index()];
        let mut strides = vec![Value::number(1)];
        for dim in of.dims.iter().skip(1).rev() {
            let last = strides.last()?.clone();
            strides.push(last.times(self.size(dim)));
        }
        let slots = of.rank() - of.dims.len();
        strides.extend(std::iter::repeat_n(Value::number(1), slots));
        strides.reverse();
        Some(strides)
    }

    fn size(&self, dim: &Dim) -> Value {
        match dim {
            Dim::Expr(size) => self.values.expr(size),
            Dim::Axis(_) | Dim::Dynamic => Value::unknown(false),
        }
    }

    fn told(&self, store: &Store) -> Diagnostic {
        let tensor = &self.module.tensors[store.tensor.index()];
        let name = &tensor.name;
        let message = format!("tasks of several cores may store to one line of {LINE} bytes of `{name}`");
        let apart = store.begin.modulus;
        let many = LINE / store.elem.size() as i128;
        let found = Diagnostic::new(codes::LINES, Severity::Warning, message);
        let found = match store.unknown {
            Some(_) => found.at(store.span, "how many bytes tasks are apart is not known"),
            None if apart % LINE != 0 => found
                .at(store.span, format!("tasks may be {apart} bytes apart, which is no multiple of {LINE}"))
                .figure("bytes", u64::try_from(apart).unwrap_or(u64::MAX)),
            None => found.at(
                store.span,
                format!("up to {} bytes at a time, which begin or end within a line", store.bytes),
            ),
        };
        let found = found.figure("line", LINE as u64).note(if store.scalar {
            "scalar stores go through the cache of a core, which writes back whole lines: what another core has stored there since is lost"
        } else {
            "of two cores that write one line at the same time, one may write back what it had before the other"
        });
        let pad = format!(
            "let each task store whole lines of its own: {many} elements of {} and a multiple of them apart",
            store.elem
        );
        match store.unknown.map(|dim| &tensor.dims[dim]) {
            Some(Dim::Expr(size)) => match self.parameter(size) {
                Some(param) => found.help(format!(
                    "set `{param}` with `--set {param}=VALUE`, which says how far tasks are apart"
                )),
                None => found.help(pad),
            },
            _ => found.help(pad),
        }
    }

    /// A parameter that a size depends on and that has no value.
    fn parameter(&self, size: &Expr) -> Option<&str> {
        let mut found = None;
        walk::each_subexpr(size, &mut |e| {
            if let ExprKind::Param(id) = e.kind
                && self.values.expr(e).constant().is_none()
            {
                found = found.or(self.module.params.get(id.index()).map(|param| param.name.as_str()));
            }
        });
        found
    }
}
