//! Constants past a size that is a constant: elements of arrays and tensors, slots, tiers.
//!
//! A statement that every task comes to makes it an error: no run goes past it. Under a condition, in a loop that may have no round, in a function that others
//! call, and in a kernel that perhaps no task runs, it is a warning. Sizes and indices that follow from a launch are looked at by the run.

use crate::sema::{SLOT_ALIGN, has_round};
use wsp_core::words::counted;
use wsp_core::{FuncId, LocalId, TensorId};
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::{
    ArrayRef, BinOp, Block, Const, Consumer, Dim, Expr, ExprKind, FuncKind, Function, LaunchTarget, MetaKind,
    Module, Place, Stmt, StmtKind, Storage, TileOp, walk,
};
use wsp_ordered::{OrderedMap, OrderedSet};

/// What no run that comes to it survives, each place once.
pub(crate) fn check(module: &Module) -> Vec<Diagnostic> {
    let (mut found, mut runs) = (OrderedMap::new(), OrderedSet::new());
    let functions = || (0..).map(FuncId).zip(&module.functions);
    let is_generator = |function: &Function| matches!(function.kind, FuncKind::Generator { .. });
    let others = functions().filter(|(_, function)| !is_generator(function));
    // Generators first: they say which kernels surely run.
    for (id, function) in functions().filter(|(_, function)| is_generator(function)).chain(others) {
        let surely = if is_generator(function) { is_launched(module, function) } else { runs.contains(&id) };
        let mut check = Check { module, arrays: OrderedMap::new(), found: &mut found, runs: &mut runs };
        check.block(&function.body, if surely { Comes::Surely } else { Comes::Perhaps });
    }
    found.into_values().collect()
}

/// Whether the host entry launches the space of a generator, if there is one that says so.
fn is_launched(module: &Module, generator: &Function) -> bool {
    match (generator.kind, module.entry.as_ref().map(|entry| entry.launch.target)) {
        (FuncKind::Generator { space }, Some(LaunchTarget::Space(launched))) => space == launched,
        _ => true,
    }
}

/// Whether what runs a function comes to a statement of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comes {
    Surely,
    Perhaps,
    Never,
}

impl Comes {
    /// The same under something that is perhaps not so.
    fn perhaps(self) -> Comes {
        if self == Comes::Never { self } else { Comes::Perhaps }
    }
}

struct Check<'a> {
    module: &'a Module,
    /// What names of arrays stand for.
    arrays: OrderedMap<LocalId, ArrayRef>,
    found: &'a mut OrderedMap<Span, Diagnostic>,
    /// Kernels that run as soon as there is one item.
    runs: &'a mut OrderedSet<FuncId>,
}

impl<'a> Check<'a> {
    /// Goes through a block; whether what runs it comes to its end.
    fn block(&mut self, block: &'a Block, comes: Comes) -> Comes {
        block.iter().fold(comes, |comes, stmt| self.stmt(stmt, comes))
    }

    fn stmt(&mut self, stmt: &'a Stmt, comes: Comes) -> Comes {
        if comes == Comes::Never {
            return comes;
        }
        let certain = comes == Comes::Surely;
        walk::exprs(stmt, &mut |e| self.expr(e, certain));
        match &stmt.kind {
            StmtKind::LetArray { local, array } => _ = self.arrays.insert(*local, *array),
            StmtKind::Emit { descriptor, fields, .. } => {
                let consumer = self.module.structs[descriptor.index()].consumer;
                let kernel = match consumer {
                    Consumer::Tiers { set, field } => {
                        let tier = &fields[field as usize];
                        self.tier(set.index(), tier, stmt.span, certain);
                        let tier = tier.as_const_int().and_then(|tier| usize::try_from(tier).ok());
                        tier.and_then(|tier| self.module.tier_sets[set.index()].tiers.get(tier))
                            .map(|tier| tier.kernel)
                    }
                    Consumer::Kernel(kernel) => Some(kernel),
                    Consumer::None => None,
                };
                self.runs.extend(kernel.filter(|_| certain));
            }
            StmtKind::Tile(op) => self.tile(op, stmt.span, certain),
            StmtKind::StoreScalar { tensor, index, .. } => {
                self.element(*tensor, index, stmt.span, |_| certain);
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => return Comes::Never,
            StmtKind::If { cond, then, otherwise } => {
                let [then, otherwise] =
                    [(then, true), (otherwise, false)].map(|(block, runs_if)| match truth(cond) {
                        Some(truth) if truth == runs_if => self.block(block, comes),
                        Some(_) => Comes::Never,
                        None => self.block(block, comes.perhaps()),
                    });
                return match (then, otherwise) {
                    (Comes::Never, Comes::Never) => Comes::Never,
                    (end, Comes::Never) | (Comes::Never, end) if truth(cond).is_some() => end,
                    (Comes::Never, _) | (_, Comes::Never) => Comes::Perhaps,
                    _ if walk::blocks(stmt).any(|block| leaves(block, stmt)) => Comes::Perhaps,
                    _ => comes,
                };
            }
            _ => {}
        }
        let rounds = match &stmt.kind {
            StmtKind::ScheduledFor { .. } => comes,
            StmtKind::For { start, end, .. } => match has_round(start, end) {
                Some(true) => comes,
                Some(false) => Comes::Never,
                None => comes.perhaps(),
            },
            StmtKind::While { cond, .. } => match truth(cond) {
                Some(true) => comes,
                Some(false) => Comes::Never,
                None => comes.perhaps(),
            },
            _ => comes.perhaps(),
        };
        let mut goes_on = comes;
        for block in walk::blocks(stmt) {
            self.block(block, rounds);
            if rounds != Comes::Never && leaves(block, stmt) {
                goes_on = goes_on.perhaps();
            }
        }
        goes_on
    }

    fn expr(&mut self, e: &'a Expr, certain: bool) {
        match &e.kind {
            ExprKind::Select(cond, a, b) => {
                self.expr(cond, certain);
                [a, b].into_iter().for_each(|e| self.expr(e, false));
                return;
            }
            ExprKind::Binary(BinOp::And | BinOp::Or, first, second) => {
                self.expr(first, certain);
                return self.expr(second, false);
            }
            ExprKind::Load(array, index) => {
                if let Some((name, size)) = self.length(*array)
                    && let Some(index) = index.as_const_int().filter(|index| *index >= size)
                {
                    let message = format!("index {index} is outside of `{name}`");
                    self.report(e.span, certain, message, has(size, "element"));
                }
            }
            ExprKind::ArrayMax(array, count) | ExprKind::ArraySum(array, count) => {
                if let Some((name, size)) = self.length(*array)
                    && let Some(count) = count.as_const_int().filter(|count| *count > size)
                {
                    let message = format!("`{name}` has no first {}", counted(count, "element"));
                    self.report(e.span, certain, message, format!("it has {size}"));
                }
            }
            ExprKind::AllocWs(slot) => self.tier(slot.tiers.index(), &slot.tier, e.span, certain),
            ExprKind::LoadScalar(tensor, index) => self.element(*tensor, index, e.span, |_| certain),
            _ => {}
        }
        e.for_each_child(&mut |child| self.expr(child, certain));
    }

    fn tier(&mut self, set: usize, tier: &Expr, span: Span, certain: bool) {
        let set = &self.module.tier_sets[set];
        let tiers = set.tiers.len() as i128;
        if let Some(tier) = tier.as_const_int().filter(|tier| *tier >= tiers) {
            let message = format!("tier {tier} of `{}` does not exist", set.name);
            self.report(span, certain, message, has(tiers, "tier"));
        }
    }

    fn tile(&mut self, op: &TileOp, span: Span, certain: bool) {
        let follows = |at: &Place, dim: usize| [at.row_dim, at.col_dim].contains(&u8::try_from(dim).ok());
        match op {
            TileOp::Load { tensor, at, rows, cols, .. } => {
                let count = |count: &Option<Expr>| match count {
                    None => Some(1),
                    Some(count) => count.as_const_int(),
                };
                let counts = [count(rows), count(cols)];
                if counts.contains(&Some(0)) {
                    return;
                }
                let loads = counts.iter().all(Option::is_some);
                self.element(*tensor, &at.index, span, |dim| certain && (loads || !follows(at, dim)));
            }
            // A tile without a valid element is stored anywhere.
            TileOp::Store { tensor, at, .. } => {
                self.element(*tensor, &at.index, span, |dim| certain && !follows(at, dim));
            }
            _ => {}
        }
    }

    /// Looks at the indices of an element; `certain` says whether each has to be there.
    fn element(&mut self, tensor: TensorId, index: &[Expr], span: Span, certain: impl Fn(usize) -> bool) {
        let tensor = &self.module.tensors[tensor.index()];
        let name = &tensor.name;
        let slots = usize::from(tensor.storage == Storage::Workspace);
        if let Some(offset) = index.first().filter(|_| slots > 0).and_then(Expr::as_const_int)
            && offset % i128::from(SLOT_ALIGN) != 0
        {
            let message = format!("{offset} is no workspace slot of `{name}`");
            let note =
                format!("offsets of slots are multiples of {SLOT_ALIGN} bytes; `PTO_ALLOC_WS` gives them");
            return self.report(span, certain(0), message, note);
        }
        for (dim, (index, extent)) in index.iter().skip(slots).zip(&tensor.dims).enumerate() {
            if let Some((index, extent)) = index.as_const_int().zip(constant(extent))
                && index >= extent
            {
                let dim = dim + slots;
                let message = format!("index {index} is outside of dimension {dim} of `{name}`");
                return self.report(span, certain(dim), message, format!("dimension {dim} has {extent}"));
            }
        }
    }

    /// The name of an array, and how many elements it has, if that is a constant.
    fn length(&self, array: ArrayRef) -> Option<(&'a str, i128)> {
        let module = self.module;
        match array {
            ArrayRef::Local(local) => self.arrays.get(&local).and_then(|array| self.length(*array)),
            ArrayRef::Tensor(id) => {
                let tensor = &module.tensors[id.index()];
                Some((&tensor.name, constant(tensor.dims.first()?)?))
            }
            ArrayRef::Meta(id, kind) => {
                let cache = &module.caches[id.index()];
                let requests = constant(module.tensors[cache.keys.index()].dims.first()?)?;
                match kind {
                    MetaKind::Lengths | MetaKind::LastPageLen => Some((&cache.name, requests)),
                    MetaKind::Indptr => Some((&cache.name, requests + 1)),
                    MetaKind::Indices => None,
                }
            }
            ArrayRef::Derived(_) => None,
        }
    }

    fn report(&mut self, span: Span, certain: bool, message: String, note: String) {
        let error =
            Diagnostic::error(crate::sema::codes::CONST_FAULT, message).at(span, "past the end").note(note);
        let found = match certain {
            true => error,
            false => Diagnostic { severity: Severity::Warning, ..error }
                .note("it is a fault of a run that comes to it"),
        };
        let first = self.found.entry(span).or_insert_with(|| found.clone());
        if found.is_error() && !first.is_error() {
            *first = found;
        }
    }
}

/// Whether something in a block of a statement leaves what is around the statement.
fn leaves(block: &Block, of: &Stmt) -> bool {
    let is_choice = matches!(of.kind, StmtKind::If { .. });
    let mut leaves = false;
    walk::stmts(block, &mut |stmt| {
        leaves |= match stmt.kind {
            StmtKind::Return(_) => true,
            StmtKind::Break | StmtKind::Continue => is_choice,
            _ => false,
        };
    });
    leaves
}

/// Whether a condition that is a constant holds.
fn truth(cond: &Expr) -> Option<bool> {
    match cond.kind {
        ExprKind::Const(Const::Bool(truth)) => Some(truth),
        _ => None,
    }
}

/// An extent that is a constant.
fn constant(dim: &Dim) -> Option<i128> {
    match dim {
        Dim::Expr(extent) => extent.as_const_int(),
        Dim::Axis(_) | Dim::Dynamic => None,
    }
}

fn has(size: i128, what: &str) -> String {
    format!("it has {}, counted from 0", counted(size, what))
}
