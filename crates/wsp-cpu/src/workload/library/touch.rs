//! What tasks of library kernels touch.

use super::super::codes;
use super::super::touch::{Touched, Toucher, task_number};
use super::Callees;
use crate::kernels::{Evaluator, KernelTable};
use crate::machine::Launch;
use crate::tiles::Tiles;
use smallvec::SmallVec;
use wsp_core::{ExecPool, KernelId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{Arg, ArgValue, WorkloadModule};
use wsp_plan::cost;
use wsp_plan::cost::Work;
use wsp_plan::target::model::Model;
use wsp_plan::workload::TaskRecord;

/// Descriptor words of a task.
type Words = SmallVec<[u32; 16]>;

/// Regions from the summaries of library kernels.
pub(crate) struct LibraryTouch<'a> {
    module: &'a WorkloadModule,
    callees: Callees,
    kernels: &'a KernelTable,
    launch: Launch<'a>,
    evaluator: Evaluator,
    /// The kernel of the last task.
    pub(super) kernel: KernelId,
    /// Its descriptor.
    pub(super) words: Words,
    last: crate::kernels::Touched,
}

impl<'a> LibraryTouch<'a> {
    pub(crate) fn new(
        module: &'a WorkloadModule,
        callees: Callees,
        kernels: &'a KernelTable,
        launch: Launch<'a>,
    ) -> LibraryTouch<'a> {
        LibraryTouch {
            module,
            callees,
            kernels,
            launch,
            evaluator: Evaluator::default(),
            kernel: KernelId(0),
            words: Words::new(),
            last: crate::kernels::Touched::default(),
        }
    }
}

impl LibraryTouch<'_> {
    /// Kernel and descriptor of the last task.
    pub(crate) fn descriptor(&self) -> (KernelId, &[u32]) {
        (self.kernel, &self.words)
    }

    /// Regions of the last task.
    pub(crate) fn last(&self) -> Touched<'_> {
        Touched { reads: &self.last.reads, writes: &self.last.writes }
    }
}

impl Toucher for LibraryTouch<'_> {
    fn touch<'t>(&'t mut self, task: &'t TaskRecord<'_>) -> Result<Touched<'t>, Diagnostic> {
        let (kernel, _) = self.callees.get(task.kernel)?;
        self.words = words(self.module, task)?;
        self.kernel = kernel;
        self.last = self.kernels.get(kernel).touched(&mut self.evaluator, self.launch.env, &self.words);
        Ok(self.last())
    }

    fn touched<'t>(&'t self, _: &'t TaskRecord<'_>) -> Touched<'t> {
        self.last()
    }

    fn tile(&mut self, task: &TaskRecord<'_>) -> Option<u32> {
        let number = task_number(self.kernels.tiles.as_ref()?, task);
        let of = (self.kernel, number);
        self.kernels.tile(of, &self.last, &mut self.evaluator, self.launch.env, &self.words)
    }

    fn tiles(&self) -> Option<&Tiles> {
        self.kernels.tiles.as_deref()
    }

    fn cycles(&self, machine: &Model) -> Result<Option<(u64, Work)>, Diagnostic> {
        let kernel = self.kernels.get(self.kernel).func;
        self.launch.cycles(machine, kernel, &self.words).map(Some)
    }

    fn unit(&self, kernel: KernelId) -> ExecPool {
        let of_file = self.callees.get(kernel).map(|(kernel, _)| self.kernels.get(kernel).func);
        of_file.map_or(ExecPool::Any, |kernel| cost::unit(&self.launch.plan.module, kernel))
    }
}

/// Descriptor words from arguments, which linking has put into the order of the fields.
pub(super) fn words(module: &WorkloadModule, task: &TaskRecord<'_>) -> Result<Words, Diagnostic> {
    let word = |(n, &value): (usize, &i64)| {
        u32::try_from(value).map_err(|_| {
            let kernel = &module.kernels[task.kernel.index()].name;
            Diagnostic::error(
                codes::FIELD_VALUE,
                format!("argument {} of kernel `{kernel}` is {value}", n + 1),
            )
            .at(task.task.args.get(n).map_or_else(Span::default, arg_span), "this argument")
            .note("fields of descriptors lie in 0..=4294967295")
            .note(format!("in the task with the indices {:?}", task.indices))
        })
    };
    task.scalars.iter().enumerate().map(word).collect()
}

fn arg_span(arg: &Arg) -> Span {
    match &arg.value {
        ArgValue::Scalar(expr) => expr.span,
        ArgValue::Access(access) => access.span,
    }
}
