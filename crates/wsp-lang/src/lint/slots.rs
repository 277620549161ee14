//! Slots of workspace that tasks load and that no task stores to.
//!
//! Calls of `PTO_ALLOC_WS` whose keys have one form may give the same slots, others never do ([`Slots`]). A field of a descriptor that is
//! nothing but the value of such calls leads to these slots, for loads and for stores; what else a field may be leads a store to any
//! slot, and a load to none that is known. Loads under conditions, and of perhaps no row, do not count.

use super::{LintInput, codes};
use crate::sema::SLOT_ALIGN;
use wsp_core::{FuncId, LocalId, TensorId, TierSetId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    BinOp, Block, Consumer, Expr, ExprKind, FuncKind, Function, Module, StmtKind, Storage, TileOp, walk,
};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Which slots a call may give: those of its generator and of its tiers whose keys have so many words, which forms do not share.
type Slots = (usize, TierSetId, usize);

/// Expressions that a variable is given, wherever in a function; none for the 0 that it has without one.
type Values<'a> = OrderedMap<LocalId, Vec<Option<&'a Expr>>>;

/// How a kernel accesses a field of the workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Accessed {
    tensor: TensorId,
    /// Fields of the descriptor that are terms of the offset, one of which says where the slots begin.
    terms: OrderedSet<u32>,
    /// All that are in it.
    fields: OrderedSet<u32>,
}

/// The warnings of a program.
pub(super) fn check(program: &LintInput<'_>) -> Vec<Diagnostic> {
    let module = program.module;
    let kernels: OrderedMap<FuncId, Kernel> = module
        .functions
        .iter()
        .zip((0..).map(FuncId))
        .filter(|(f, _)| !matches!(f.kind, FuncKind::Generator { .. }))
        .map(|(f, id)| (id, Kernel::new(module, f)))
        .collect();
    let mut uses = Uses::default();
    for (generator, function) in module.functions.iter().enumerate() {
        if let FuncKind::Generator { .. } = function.kind {
            uses.of_generator(module, &kernels, (generator, function));
        }
    }
    // What a helper stores to, it stores to anywhere.
    let helpers = kernels.values().filter(|kernel| !kernel.takes_tasks).flat_map(|kernel| &kernel.stores);
    uses.anywhere.extend(helpers.map(|store| store.tensor));
    uses.findings(module)
}

/// What a kernel does with the workspace.
struct Kernel {
    takes_tasks: bool,
    /// Loads that every task does that gets there; whether loops have rounds is left open.
    loads: Vec<Accessed>,
    stores: Vec<Accessed>,
}

impl Kernel {
    fn new(module: &Module, function: &Function) -> Kernel {
        let values = values(function);
        let takes_tasks = matches!(function.kind, FuncKind::Kernel { .. });
        let mut kernel = Kernel { takes_tasks, loads: Vec::new(), stores: Vec::new() };
        let accessed = |tensor: TensorId, index: &[Expr]| {
            let in_slots = module.tensors[tensor.index()].storage == Storage::Workspace;
            let offset = index.first().filter(|_| in_slots)?;
            let (mut terms, mut fields) = (OrderedSet::new(), OrderedSet::new());
            terms_of(offset, &values, &mut OrderedSet::new(), &mut terms);
            fields_of(offset, &values, &mut OrderedSet::new(), &mut fields);
            Some(Accessed { tensor, terms, fields })
        };
        walk::stmts(&function.body, &mut |stmt| match &stmt.kind {
            StmtKind::Tile(TileOp::Store { tensor, at, .. }) => {
                kernel.stores.extend(accessed(*tensor, &at.index));
            }
            StmtKind::StoreScalar { tensor, index, .. } => kernel.stores.extend(accessed(*tensor, index)),
            _ => {}
        });
        certain_loads(&function.body, &mut |tensor, index| kernel.loads.extend(accessed(tensor, index)));
        kernel
    }
}

/// What the variables of a function are given.
fn values(function: &Function) -> Values<'_> {
    let mut values = Values::new();
    walk::stmts(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Let { local, init } => values.entry(*local).or_default().push(init.as_ref()),
        StmtKind::Assign { local, value } => values.entry(*local).or_default().push(Some(value)),
        StmtKind::For { var, start, step, .. } => {
            values.entry(*var).or_default().extend([Some(start), Some(step)]);
        }
        _ => {}
    });
    values
}

/// The expressions that a variable may have the value of, the first time that it is asked for.
fn once<'v, 'a>(
    values: &'v Values<'a>,
    seen: &mut OrderedSet<LocalId>,
    local: LocalId,
) -> impl Iterator<Item = &'a Expr> + use<'v, 'a> {
    let values = values.get(&local).filter(|_| seen.insert(local));
    values.into_iter().flatten().copied().flatten()
}

/// The fields of the descriptor in an expression.
fn fields_of(e: &Expr, values: &Values<'_>, seen: &mut OrderedSet<LocalId>, fields: &mut OrderedSet<u32>) {
    walk::each_subexpr(e, &mut |e| match e.kind {
        ExprKind::Field(_, field) => _ = fields.insert(field),
        ExprKind::Local(local) => {
            once(values, seen, local).for_each(|value| fields_of(value, values, seen, fields));
        }
        _ => {}
    });
}

/// Those that are terms of it: the others are in factors or tell which of two it is.
fn terms_of(e: &Expr, values: &Values<'_>, seen: &mut OrderedSet<LocalId>, terms: &mut OrderedSet<u32>) {
    match &e.kind {
        ExprKind::Binary(BinOp::Mul, ..) => {}
        ExprKind::Chain(_, rest) if matches!(rest.last(), Some((BinOp::Mul, _))) => {}
        ExprKind::Binary(BinOp::Add | BinOp::Sub | BinOp::Min | BinOp::Max, a, b)
        | ExprKind::Select(_, a, b) => {
            [a, b].into_iter().for_each(|e| terms_of(e, values, seen, terms));
        }
        ExprKind::Chain(first, rest) if rest.iter().all(|(op, _)| op.is_sum()) => {
            [&**first]
                .into_iter()
                .chain(rest.iter().map(|(_, e)| e))
                .for_each(|e| terms_of(e, values, seen, terms));
        }
        ExprKind::Cast(inner) => terms_of(inner, values, seen, terms),
        ExprKind::Local(local) => {
            once(values, seen, *local).for_each(|value| terms_of(value, values, seen, terms));
        }
        _ => fields_of(e, values, seen, terms),
    }
}

/// Calls `f` with tensor and index of each load that stands under no condition but that of a loop. Returns whether what follows the block
/// is perhaps left out.
fn certain_loads<'a>(block: &'a Block, f: &mut dyn FnMut(TensorId, &'a [Expr])) -> bool {
    for stmt in block {
        walk::exprs(stmt, &mut |e| scalar_loads(e, f));
        let leaves = match &stmt.kind {
            StmtKind::Tile(TileOp::Load { tensor, at, rows, cols, .. }) => {
                let some = |count: &Option<Expr>| {
                    count.as_ref().is_none_or(|e| e.as_const_int().is_some_and(|n| n > 0))
                };
                if some(rows) && some(cols) {
                    f(*tensor, &at.index);
                }
                false
            }
            StmtKind::Tile(TileOp::Store { tensor, at, add: true, .. }) => {
                f(*tensor, &at.index);
                false
            }
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => certain_loads(body, f),
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => true,
            _ => {
                let mut leaves = false;
                walk::blocks(stmt).for_each(|inner| {
                    walk::stmts(inner, &mut |stmt| {
                        leaves |=
                            matches!(stmt.kind, StmtKind::Break | StmtKind::Continue | StmtKind::Return(_));
                    });
                });
                leaves
            }
        };
        if leaves {
            return true;
        }
    }
    false
}

/// The loads of single elements in an expression that is evaluated whole.
fn scalar_loads<'a>(e: &'a Expr, f: &mut dyn FnMut(TensorId, &'a [Expr])) {
    match &e.kind {
        ExprKind::Select(cond, ..) | ExprKind::Binary(BinOp::And | BinOp::Or, cond, _) => {
            return scalar_loads(cond, f);
        }
        ExprKind::LoadScalar(tensor, index) => f(*tensor, index),
        _ => {}
    }
    e.for_each_child(&mut |child| scalar_loads(child, f));
}

/// What tasks do with slots.
#[derive(Default)]
struct Uses {
    /// Fields of the workspace that are stored to at an offset of which nothing is known.
    anywhere: OrderedSet<TensorId>,
    stored: OrderedSet<(Slots, TensorId)>,
    /// Loads, each with all calls one of which gives its slot.
    loaded: Vec<(Vec<(Slots, Span)>, TensorId)>,
}

impl Uses {
    fn of_generator(
        &mut self,
        module: &Module,
        kernels: &OrderedMap<FuncId, Kernel>,
        (generator, function): (usize, &Function),
    ) {
        let values = values(function);
        let calls = |e: &Expr| {
            let mut calls = Vec::new();
            slots_of(e, generator, &values, &mut OrderedSet::new(), &mut calls).then_some(calls)
        };
        walk::stmts(&function.body, &mut |stmt| {
            let StmtKind::Emit { descriptor, fields, .. } = &stmt.kind else { return };
            let takers: Vec<FuncId> = match module.structs[descriptor.index()].consumer {
                Consumer::Kernel(kernel) => vec![kernel],
                Consumer::Tiers { set, .. } => {
                    module.tier_sets[set.index()].tiers.iter().map(|tier| tier.kernel).collect()
                }
                Consumer::None => return,
            };
            let takers: Vec<&Kernel> = takers.iter().filter_map(|id| kernels.get(id)).collect();
            let given = |field: &u32| fields.get(*field as usize).and_then(calls);
            for store in takers.iter().flat_map(|kernel| &kernel.stores) {
                let slots = store.fields.iter().filter_map(given).flatten();
                self.stored.extend(slots.map(|(slots, _)| (slots, store.tensor)));
                if store.terms.is_empty() || store.terms.iter().any(|term| given(term).is_none()) {
                    self.anywhere.insert(store.tensor);
                }
            }
            let Some((first, others)) = takers.split_first() else { return };
            for load in &first.loads {
                let mut terms = load.terms.iter();
                if let (Some(term), None) = (terms.next(), terms.next())
                    && others.iter().all(|kernel| kernel.loads.contains(load))
                    && let Some(calls) = given(term).filter(|calls| !calls.is_empty())
                {
                    self.loaded.push((calls, load.tensor));
                }
            }
        });
    }

    /// A warning for each call whose slots are loaded and never stored to, where some task stores to others.
    fn findings(&self, module: &Module) -> Vec<Diagnostic> {
        let is_stored = |slots: Slots, tensor| self.stored.contains(&(slots, tensor));
        let is_known = |tensor: &TensorId| {
            !self.anywhere.contains(tensor) && self.stored.iter().any(|(_, stored)| stored == tensor)
        };
        let never = self.loaded.iter().filter(|(calls, tensor)| {
            is_known(tensor) && !calls.iter().any(|(slots, _)| is_stored(*slots, *tensor))
        });
        let finding = |(call, tensor): (Span, TensorId)| {
            let name = &module.tensors[tensor.index()].name;
            Diagnostic::warning(
                codes::NEVER_WRITTEN,
                format!("tasks load `{name}` from these slots, and no task stores to them"),
            )
            .at(call, format!("no task that stores to `{name}` has one of these"))
            .note("slots are those of their call: the same arguments, in `PTO_SCHEDULED_FOR` or outside of it, and the same loops around")
            .help("emit the task that loads where those that store are emitted, or give it the offset that they have")
        };
        never
            .flat_map(|(calls, tensor)| calls.iter().map(|(_, call)| (*call, *tensor)))
            .map(finding)
            .collect()
    }
}

/// Adds the calls that give the value of an expression; whether it is nothing else.
fn slots_of(
    e: &Expr,
    generator: usize,
    values: &Values<'_>,
    seen: &mut OrderedSet<LocalId>,
    calls: &mut Vec<(Slots, Span)>,
) -> bool {
    let mut all = |e: &Expr| slots_of(e, generator, values, seen, calls);
    match &e.kind {
        ExprKind::AllocWs(slot) => {
            calls.push(((generator, slot.tiers, slot.key.len()), e.span));
            true
        }
        ExprKind::Cast(inner) => all(inner),
        ExprKind::Select(_, a, b) => all(a) && all(b),
        // No slot begins there: the word says that there is none.
        ExprKind::Const(_) => e.as_const_int().is_some_and(|n| n % i128::from(SLOT_ALIGN) != 0),
        ExprKind::Local(local) if seen.contains(local) => true,
        ExprKind::Local(local) => {
            seen.insert(*local);
            values.get(local).is_some_and(|given| {
                given.iter().all(|value| value.is_some_and(|e| slots_of(e, generator, values, seen, calls)))
            })
        }
        _ => false,
    }
}
