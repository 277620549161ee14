//! What the runtime is given for a generated task.

use super::super::declared::Declared;
use super::super::library::LibraryTouch;
use super::super::records::Numbers;
use super::super::touch::Toucher;
use wsp_core::{KernelId, Region};
use wsp_diag::Diagnostic;
use wsp_plan::workload::TaskRecord;
use wsp_runtime::aicpu::Need;

/// Tells what the runtime is given for a task. One AICPU has one of its own.
pub(super) trait Issue: Send {
    /// Takes a task in.
    ///
    /// # Errors
    /// The task cannot be: an argument does not fit its descriptor.
    fn issue<'t>(&'t mut self, task: &TaskRecord<'t>) -> Result<Issued<'t>, Diagnostic>;

    /// Regions that the task reads, and those that it writes, without taking it in.
    ///
    /// # Errors
    /// As [`Issue::issue`].
    fn regions<'t>(
        &'t mut self,
        task: &'t TaskRecord<'_>,
    ) -> Result<(&'t [Region], &'t [Region]), Diagnostic>;
}

/// What the runtime is given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued<'t> {
    /// The kernel, as the runner numbers them.
    pub(super) kernel: KernelId,
    /// Words of its descriptor.
    pub(super) payload: &'t [u32],
    /// Regions it reads.
    pub(super) reads: &'t [Region],
    /// Regions it writes.
    pub(super) writes: &'t [Region],
    /// Accesses that have been counted beforehand, which are not among the regions.
    pub(super) needs: &'t [Need],
}

/// Tasks of declared kernels: a record holds their arguments.
pub(super) struct IssueDeclared<'d> {
    declared: &'d Declared,
    numbers: Numbers,
    number: [u32; 1],
}

impl<'d> IssueDeclared<'d> {
    pub(super) fn new(declared: &'d Declared) -> IssueDeclared<'d> {
        IssueDeclared { declared, numbers: Numbers::default(), number: [0] }
    }
}

impl Issue for IssueDeclared<'_> {
    fn issue<'t>(&'t mut self, task: &TaskRecord<'t>) -> Result<Issued<'t>, Diagnostic> {
        self.number = [self.declared.records.put(&mut self.numbers, task.into())];
        let (reads, writes) = (task.reads, task.writes);
        Ok(Issued { kernel: task.kernel, payload: &self.number, reads, writes, needs: &[] })
    }

    fn regions<'t>(
        &'t mut self,
        task: &'t TaskRecord<'_>,
    ) -> Result<(&'t [Region], &'t [Region]), Diagnostic> {
        Ok((task.reads, task.writes))
    }
}

/// Tasks of library kernels: their arguments are the descriptor.
pub(super) struct IssueLibrary<'a>(pub(super) LibraryTouch<'a>);

impl Issue for IssueLibrary<'_> {
    fn issue<'t>(&'t mut self, task: &TaskRecord<'t>) -> Result<Issued<'t>, Diagnostic> {
        self.0.touch(task)?;
        let (kernel, payload) = self.0.descriptor();
        let touched = self.0.last();
        Ok(Issued { kernel, payload, reads: touched.reads, writes: touched.writes, needs: &[] })
    }

    fn regions<'t>(
        &'t mut self,
        task: &'t TaskRecord<'_>,
    ) -> Result<(&'t [Region], &'t [Region]), Diagnostic> {
        self.0.touch(task)?;
        let touched = self.0.touched(task);
        Ok((touched.reads, touched.writes))
    }
}
