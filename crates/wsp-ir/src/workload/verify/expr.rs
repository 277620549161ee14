//! Expressions: ids, and what may stand where.

use super::body::Body;
use super::{Checker, error, rule};
use crate::workload::{IntExpr, IntExprKind, Slot};

/// Where an expression stands.
pub(super) enum Place<'b, 'm> {
    /// The default or value of the parameter with this index.
    Param(usize),
    /// A table's length, a tensor's extent, a slot's first value: as a message says it.
    Size(&'static str),
    /// A bound of an axis.
    Axis,
    /// The cost of a kernel with so many integers.
    Cost(usize),
    /// A workload.
    Workload(&'b Body<'m>),
    /// A schedule.
    Schedule,
}

impl Place<'_, '_> {
    fn name(&self) -> &'static str {
        match self {
            Place::Param(_) => "the value of a parameter",
            Place::Size(what) => what,
            Place::Axis => "the bound of an axis",
            Place::Cost(_) => "the cost of a kernel",
            Place::Workload(_) => "a workload",
            Place::Schedule => "a schedule",
        }
    }
}

impl<'m> Checker<'m> {
    pub(super) fn expr(&mut self, tree: &'m IntExpr, place: &Place<'_, 'm>) {
        match &tree.kind {
            IntExprKind::Const(_) => {}
            IntExprKind::Param(id) => self.param_value(tree, id.index(), place),
            IntExprKind::Var(id) => self.var_value(tree, id.index(), place),
            IntExprKind::Slot(id) => self.slot_value(tree, id.index(), place),
            IntExprKind::Axis(id) => self.axis_value(tree, id.index(), place),
            IntExprKind::TableLen(id) => self.table_value(tree, id.index(), place),
            IntExprKind::Table(id, index) => {
                self.table_value(tree, id.index(), place);
                self.expr(index, place);
            }
            IntExprKind::Unary(_, operand) => self.expr(operand, place),
            IntExprKind::Binary(op, a, b) => {
                self.require(!op.is_bitwise(), || {
                    let message = format!("`{}` is no operator of workloads", op.sign());
                    error(rule::MISPLACED_VALUE, tree.span, message)
                        .help("multiply, divide or take the remainder by a power of two, or let a kernel compute it")
                });
                self.expr(a, place);
                self.expr(b, place);
            }
            IntExprKind::Chain(first, rest) => {
                let is_one = rest.iter().all(|(op, _)| rest[0].0.goes_on_from(*op));
                self.require(is_one && !rest.is_empty(), || {
                    error(rule::MISPLACED_VALUE, tree.span, "a chain is no sum and no product")
                        .help("chain `+` and `-`, or `*`, `/` and `%`, and at least one of them")
                });
                self.expr(first, place);
                rest.iter().for_each(|(_, operand)| self.expr(operand, place));
            }
            IntExprKind::Choose(condition, then, otherwise) => {
                self.expr(condition, place);
                self.expr(then, place);
                self.expr(otherwise, place);
            }
        }
    }

    fn param_value(&mut self, tree: &IntExpr, id: usize, place: &Place<'_, 'm>) {
        let Some(param) = self.lookup(&self.module.params, id, "parameter", tree.span) else { return };
        let Place::Param(own) = place else { return };
        let own_name = self.module.params.get(*own).map_or("", |own| &own.name);
        self.require(id < *own, || {
            let message = if id == *own {
                format!("the value of `{own_name}` uses `{own_name}` itself")
            } else {
                format!("the value of `{own_name}` uses `{}`, which is declared later", param.name)
            };
            let diagnostic = error(rule::PARAM_ORDER, tree.span, message);
            if id == *own {
                return diagnostic;
            }
            diagnostic
                .label(param.span, "declared here")
                .help(format!("declare `{}` before `{own_name}`", param.name))
        });
    }

    fn var_value(&mut self, tree: &IntExpr, id: usize, place: &Place<'_, 'm>) {
        match place {
            Place::Workload(body) => {
                let Some(var) = self.lookup(&body.workload.vars, id, "variable", tree.span) else { return };
                self.require(body.is_open(id), || {
                    error(rule::VARIABLE, tree.span, format!("`{}` is used outside its loop", var.name))
                        .label(var.span, "declared here")
                });
            }
            Place::Cost(scalars) => self.require(id < *scalars, || {
                let message = format!("integer {id} of the kernel does not exist; there are {scalars}");
                error(rule::UNKNOWN_ID, tree.span, message)
            }),
            _ => self.misplaced(tree, "a variable", "", place),
        }
    }

    fn slot_value(&mut self, tree: &IntExpr, id: usize, place: &Place<'_, 'm>) {
        let Some(slot) = self.lookup(&self.module.slots, id, "slot", tree.span) else { return };
        let Place::Workload(body) = place else {
            let help = "slots are read in workloads only";
            return self.misplaced(tree, &format!("slot `{}`", self.slot_name(slot)), help, place);
        };
        let name = self.slot_name(slot);
        self.require(!body.bounds_write(slot.tensor), || {
            let message = format!("the task writes slot `{name}` and reads it in its bounds");
            error(rule::SLOT_CYCLE, tree.span, message)
                .note("a bound must be known before the task is generated")
                .help("read another slot, or write another")
        });
    }

    fn slot_name(&self, slot: &Slot) -> &'m str {
        self.module.tensors.get(slot.tensor.index()).map_or("", |tensor| &tensor.name)
    }

    fn axis_value(&mut self, tree: &IntExpr, id: usize, place: &Place<'_, 'm>) {
        let Some(axis) = self.lookup(&self.module.axes, id, "axis", tree.span) else { return };
        if matches!(place, Place::Schedule) {
            return;
        }
        let name = &axis.name;
        let help = match place {
            Place::Workload(_) => {
                format!("use the variable of a loop over it: `for i in {name} {{ … i … }}`")
            }
            _ => "axes have values in schedules only, those of the loops around a task".to_owned(),
        };
        self.misplaced(tree, &format!("axis `{name}`"), &help, place);
    }

    fn table_value(&mut self, tree: &IntExpr, id: usize, place: &Place<'_, 'm>) {
        let Some(table) = self.lookup(&self.module.tables, id, "table", tree.span) else { return };
        if matches!(place, Place::Param(_) | Place::Size(_) | Place::Cost(_)) {
            let help = "give the value as a parameter: `param n;`";
            self.misplaced(tree, &format!("table `{}`", table.name), help, place);
        }
    }

    fn misplaced(&mut self, tree: &IntExpr, what: &str, help: &str, place: &Place<'_, 'm>) {
        let message = format!("{what} cannot stand in {}", place.name());
        let diagnostic = error(rule::MISPLACED_VALUE, tree.span, message);
        self.push(if help.is_empty() { diagnostic } else { diagnostic.help(help) });
    }
}
