//! The tasks of a workload that declares its kernels: those over views are followed, and of others what is known of arguments.

use super::codes;
use super::faults::Facts;

use super::tasks::LayoutAnalyzer;
use super::ways::{Seen, Way, Ways};
use crate::workload::{TaskRecord, modes};
use crate::{ViewKernelSource, ViewShape};
use wsp_core::policy::LayoutDim;
use wsp_core::{Region, TensorId};
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::workload::{AccessMode, WorkloadModule};

impl Facts for WorkloadModule {
    fn name(&self, tensor: TensorId) -> &str {
        &self.tensors[tensor.index()].name
    }

    fn rank(&self, tensor: TensorId) -> usize {
        self.tensors[tensor.index()].dims.len()
    }

    fn span(&self, tensor: TensorId) -> Span {
        self.tensors[tensor.index()].span
    }

    fn is_result(&self, _: TensorId) -> bool {
        true
    }
}

impl LayoutAnalyzer {
    /// Takes the next task, of a kernel over views of its regions, as [`analyze`](Self::analyze) takes one of a file.
    ///
    /// # Errors
    /// As [`analyze`](Self::analyze).
    pub fn analyze_views(
        &mut self,
        module: &WorkloadModule,
        task: &TaskRecord<'_>,
        source: &ViewKernelSource,
    ) -> Result<(), Diagnostic> {
        let [func] = source.module.functions.as_slice() else { return Ok(()) };
        let modes = modes(&module.kernels[task.kernel.index()]);
        let views = task.regions.iter().zip(&source.views).zip(modes).enumerate();
        let way = |(at, ((region, shape), mode)): (usize, ((&Region, &ViewShape), AccessMode))| {
            let whole = self.argument(TensorId(at as u32), region, mode);
            Way {
                loaded: whole.loaded.map(|seen| kept(seen, shape, region)),
                stored: whole.stored.map(|seen| kept(seen, shape, region)),
                ..whole
            }
        };
        let mut ways = Ways(views.map(way).collect());
        ways.count_from_first_part();
        self.follow(module, task.kernel.index(), (&source.module, func), ways)
    }

    /// Takes the next task, of a kernel of which only arguments are known: what it does with a dimension that it reaches across tiles, a note says is not known.
    ///
    /// # Errors
    /// It reads pending sums; what only adds to them (`inout`) may.
    pub fn analyze_stated(
        &mut self,
        module: &WorkloadModule,
        task: &TaskRecord<'_>,
    ) -> Result<Option<Diagnostic>, Diagnostic> {
        let kernel = &module.kernels[task.kernel.index()];
        let mut across = None;
        for (at, (region, mode)) in task.regions.iter().zip(modes(kernel)).enumerate() {
            let way = self.argument(TensorId(at as u32), region, mode);
            let sums = self.sums(region.tensor).axes().next().filter(|_| mode == AccessMode::In);
            if let Some(axis) = sums {
                let label = format!("kernel `{}` reads it", kernel.name);
                return Err(self.faults(module).pending_read(region.tensor, axis, (task.span, &label)));
            }
            let axes =
                [way.loaded, way.stored].into_iter().flatten().find_map(|seen| seen.axes().axes().next());
            across = across.or(axes.map(|axis| (region.tensor, axis)));
        }
        let note = |(tensor, axis): (TensorId, wsp_core::policy::MeshAxis)| {
            let message = format!("layouts are not followed through kernel `{}`", kernel.name);
            Diagnostic::new(codes::UNLIKE, Severity::Note, message).at(
                task.span,
                format!(
                    "reaches `{}` across tiles along `{}`; of the kernel only arguments are known",
                    module.name(tensor),
                    axis.word()
                ),
            )
        };
        Ok(across.map(note))
    }

    /// How a task reaches the tensor of an argument, which has a name in its kernel.
    fn argument(&self, name: TensorId, region: &Region, mode: AccessMode) -> Way {
        let region = std::slice::from_ref(region);
        let reads = if mode == AccessMode::Out { &[] } else { region };
        let writes = if mode == AccessMode::In { &[] } else { region };
        self.way((name, region[0].tensor), reads, writes)
    }
}

/// A tensor in the dimensions that a view of it keeps, of which index 0 is where the region begins.
fn kept(seen: Seen, shape: &ViewShape, region: &Region) -> Seen {
    let Seen { across, within, pending, is_moved, nowhere, parts, .. } = seen;
    let mut view = Seen { across, within, pending, is_moved, nowhere, parts, ..Seen::default() };
    for (dim, of) in shape.keep.iter().map(|of| usize::from(*of)).enumerate() {
        (view.dims[dim], view.part[dim]) = (seen.dims[of], seen.part[of]);
        if seen.dims[of] != LayoutDim::Replicate {
            (view.first[dim], view.end[dim]) = (region.lo[of], region.hi[of]);
        }
    }
    view
}
