//! The verifier of workloads: what elaboration may rely on.
//!
//! [`verify`] lists what is wrong with a module; [`into_verified`] turns a module without errors into a
//! [`VerifiedWorkload`], the only kind that later steps take.
//!
//! # Rules
//!
//! Form
//!
//! * **WSP0760** an expression has at most `MAX_NESTING` levels, and statements nest as deep, those of called workloads included;
//!   when they do not, nothing else is checked.
//! * **WSP0761** every id is an index of its table.
//! * **WSP0762** a name is a letter or `_`, then letters, digits and `_`, and no keyword. Parameters, tables, axes,
//!   tensors, kernels and workloads of a module have different names; so have its schedules, the labels and the channels of
//!   a workload, the processes of a pipeline, the parameters of a kernel. One schedule may have none. The path of a used file is not empty and holds no control characters.
//! * **WSP0781** what runs is the workload named `main`, else the last; it has no formal arguments.
//!
//! Values
//!
//! * **WSP0763** the default or value of a parameter uses earlier parameters only.
//! * **WSP0764** table lengths, extents, first values of slots and depths of channels are over parameters; axis bounds over parameters and
//!   tables; costs over parameters and the kernel's integers; workloads use all but axes; schedules use parameters, tables
//!   and axes.
//! * **WSP0765** a variable is bound by exactly one binder (a formal argument's list, a loop, a selection, a send, a consume), is used inside
//!   it only, and variables stand in the order of their binders.
//!
//! Tables of the module
//!
//! * **WSP0766** a table with a fixed number of elements has that many.
//! * **WSP0767** the outer axis of a ragged or sparse one stands before it, and is dense.
//! * **WSP0768** a tensor has 1 to `MAX_RANK` dimensions.
//! * **WSP0769** slots stand in the order of their tensors, one each, which are `i64[1]`.
//! * **WSP0770** there are at most 65,536 kernels, each with at most `MAX_TASK_SCALARS` integers and `MAX_TASK_TENSORS`
//!   tensors.
//! * **WSP0771** a kernel without a list of parameters is of a used file: there is one.
//!
//! Statements
//!
//! * **WSP0772** a task gives each parameter of a declared kernel one argument, and at most `MAX_TASK_SCALARS` to another.
//! * **WSP0773** an integer's argument is an integer, a tensor's a region; descriptors hold integers only.
//! * **WSP0774** arguments of declared kernels have no names; named ones follow the others, each name once.
//! * **WSP0775** a region has at most as many bounds as its tensor has dimensions.
//! * **WSP0776** no bound of a task that writes a slot reads that slot.
//! * **WSP0777** `for` runs over a dense axis without an index, or over a ragged axis with one; `select` over a sparse one.
//! * **WSP0778** a step that is a number is at least 1.
//! * **WSP0779** a call is of an earlier workload, with a value for each formal argument.
//! * **WSP0780** labels stand in the order of their tasks, one each; `after` names labels of earlier statements.
//!
//! * **WSP0789** a channel belongs to one pipeline, in which one process sends to it and one, perhaps the same, consumes
//!   from it; a depth that is a number is at least 1.
//! * **WSP0790** `send` and `consume` stand in a process, and there in no `for`, `while` or `sequential`; a process holds no
//!   pipeline, called workloads included.
//! * **WSP0791** (a warning) a channel has no `send`, or no `consume`.
//!
//! Schedules
//!
//! * **WSP0782** each directive stands once, a gate once per scope.
//! * **WSP0783** thresholds increase, there is at least one, and there is one policy more.
//! * **WSP0784** streams, gates, batches, windows and workers of a pool are at least 1; streams at most 65,536, windows at
//!   most `MAX_TASK_WINDOW`.
//! * **WSP0785** the parts of a static partition are half-open, begin at 0 and join.
//! * **WSP0786** `stream_by` and gates per stream need `streams`; `priority` needs `ready = priority`, and
//!   `core_groups` `ready = work_steal` and tasks without a worker.
//! * **WSP0793** a layout is of a tensor of the module, where it uses no file, has an entry for each dimension, and has
//!   each axis of the grid once; it needs `spatial_map`.
//! * **WSP0787** (a warning) `after` stands in a module none of whose schedules has `deps = explicit` or `hybrid`.

mod body;
mod channel;
mod depth;
mod endless;
mod expr;
pub(crate) mod rule;
mod schedule;
mod tables;
mod task;
#[cfg(test)]
mod tests;

use super::WorkloadModule;
pub use endless::{Decides, endless};
pub use rule::{CHANNEL, COST, LAYOUT};
use std::ops::Deref;
use wsp_core::limits::MAX_DIAGNOSTICS;
use wsp_diag::{Code, Diagnostic, Span};
use wsp_ordered::Arrange;

/// A module that keeps every rule of [this module](self).
///
/// It cannot be changed; take it apart with [`VerifiedWorkload::into_inner`], change, and verify again.
#[derive(Clone, PartialEq, Debug)]
pub struct VerifiedWorkload(WorkloadModule);

impl VerifiedWorkload {
    /// The module, to be changed.
    pub fn into_inner(self) -> WorkloadModule {
        self.0
    }
}

impl From<VerifiedWorkload> for WorkloadModule {
    fn from(verified: VerifiedWorkload) -> WorkloadModule {
        verified.0
    }
}

impl Deref for VerifiedWorkload {
    type Target = WorkloadModule;

    fn deref(&self) -> &WorkloadModule {
        &self.0
    }
}

/// The module as one that later steps take.
///
/// # Errors
/// The findings of [`verify`], when one of them is an error.
pub fn into_verified(module: WorkloadModule) -> Result<VerifiedWorkload, Vec<Diagnostic>> {
    let found = verify(&module);
    if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok(VerifiedWorkload(module)) }
}

/// What is wrong with a module, in source order; at most [`MAX_DIAGNOSTICS`] findings.
pub fn verify(module: &WorkloadModule) -> Vec<Diagnostic> {
    let mut checker = Checker { module, found: Vec::new(), place: String::new(), pipelined: Vec::new() };
    if checker.depth() {
        checker.tables();
        checker.workloads();
        checker.schedules();
        if !checker.found.iter().any(Diagnostic::is_error) {
            endless(module, &endless::by_numbers, false).into_iter().for_each(|fault| checker.push(fault));
        }
    }
    let mut found = checker.found;
    found.arrange_by_key(|d| d.primary.as_ref().map_or(0, |label| label.span.start));
    found
}

/// What the checks share.
pub(super) struct Checker<'m> {
    module: &'m WorkloadModule,
    found: Vec<Diagnostic>,
    /// What is being checked, as a note says it; empty at the top of the file.
    place: String,
    /// Of workloads that are checked: whether they or those they call have a pipeline.
    pipelined: Vec<bool>,
}

impl<'m> Checker<'m> {
    /// Adds a finding, with the place that it is in.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < MAX_DIAGNOSTICS as usize {
            let place = &self.place;
            self.found.push(if place.is_empty() {
                diagnostic
            } else {
                diagnostic.note(format!("in {place}"))
            });
        }
    }

    /// Reports unless `holds`.
    pub(super) fn require(&mut self, holds: bool, diagnostic: impl FnOnce() -> Diagnostic) {
        if !holds {
            self.push(diagnostic());
        }
    }

    /// The entry of a table, or a report that the id is none of it.
    fn lookup<T>(&mut self, table: &'m [T], id: usize, what: &str, span: Span) -> Option<&'m T> {
        let entry = table.get(id);
        if entry.is_none() {
            let message = format!("{what} {id} does not exist; there are {}", table.len());
            self.push(error(rule::UNKNOWN_ID, span, message));
        }
        entry
    }
}

/// An error at a place.
pub(super) fn error(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, message).at(span, "")
}
