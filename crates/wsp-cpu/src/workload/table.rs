//! The tasks of a workload as the table of a package.

use super::codes;
use super::list::Listing;
use super::settings::cancelled;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_backend::{LaunchTable, TableArray, TableRow, TableTask};
use wsp_core::ptow::interp::Ordered;
use wsp_core::{ParamId, SlotId, TableId, limits};
use wsp_diag::Diagnostic;
use wsp_ir::Const;
use wsp_ir::workload::Deps;
use wsp_plan::ptow::expand;
use wsp_plan::workload::{ExpandError, TaskRecord, TaskSink};

/// Keeps tasks.
struct Keeping<'a> {
    table: LaunchTable,
    /// Whether tasks wait for those that `after` names.
    named: bool,
    cancel: Option<&'a AtomicBool>,
}

impl TaskSink for Keeping<'_> {
    type Error = Diagnostic;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Diagnostic> {
        if self.table.rows.len() >= limits::MAX_DESCRIPTORS as usize {
            let message = format!("a table has {} rows at most", limits::MAX_DESCRIPTORS);
            return Err(Diagnostic::error(codes::TOO_MANY_TASKS, message));
        }
        for value in task.scalars {
            let word = u32::try_from(*value).map_err(|_| {
                let message = format!("argument {value} of a task is not from 0 to {}", u32::MAX);
                Diagnostic::error(codes::BAD_OPTION, message).at(task.span, "of this task")
            })?;
            self.table.words.push(word);
        }
        if self.named {
            self.table.after.extend_from_slice(task.after);
        }
        let (words, after) = (self.table.words.len() as u32, self.table.after.len() as u32);
        self.table.rows.push(TableRow::Task(TableTask {
            of: u32::from(task.kernel.0),
            words_end: words,
            after_end: after,
            stream: task.place.stream,
            priority: task.place.priority,
        }));
        Ok(())
    }

    fn ordered_begin(&mut self) -> Result<(), Diagnostic> {
        self.table.rows.push(TableRow::Ordered(Ordered::Begin));
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), Diagnostic> {
        self.table.rows.push(TableRow::Ordered(Ordered::Step));
        Ok(())
    }

    fn ordered_end(&mut self) -> Result<(), Diagnostic> {
        self.table.rows.push(TableRow::Ordered(Ordered::End));
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, Diagnostic> {
        Err(Diagnostic::error(
            codes::SLOT_IN_GRAPH,
            "tasks depend on what others compute, and a table has them before",
        )
        .help("write the package with loops"))
    }

    fn cancelled(&self) -> bool {
        // Relaxed: nothing is published with it.
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// The table of a listing.
pub(super) fn of(listing: &Listing<'_>, cancel: Option<&AtomicBool>) -> Result<LaunchTable, Vec<Diagnostic>> {
    let Listing { module, schedule, bindings, .. } = *listing;
    let named = matches!(schedule.policy.deps, Deps::Explicit | Deps::Hybrid);
    let mut sink = Keeping { table: LaunchTable::default(), named, cancel };
    match expand(module, bindings, schedule, &mut sink) {
        Ok(_) => {}
        Err(ExpandError::Fault(fault)) => return Err(vec![*fault]),
        Err(ExpandError::Sink(fault)) => return Err(vec![fault]),
        Err(ExpandError::Cancelled) => return Err(vec![cancelled()]),
    }
    let mut table = sink.table;
    let params = (0..module.params.len() as u32).map(ParamId);
    table.params = params.map(|id| Some(Const::Int(bindings.param(id).into()))).collect();
    let tables = (0..module.tables.len() as u32).map(TableId);
    table.arrays = tables.map(|id| (TableArray::Table(id), bindings.table(id).to_vec())).collect();
    Ok(table)
}
