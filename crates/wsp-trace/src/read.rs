//! Documents, and what is in them.

use crate::decode;
use wsp_core::limits::MAX_DIAGNOSTICS;
use wsp_diag::{Diagnostic, SourceMap, Span};
use wsp_ir::workload::{WorkloadModule, text};
use wsp_plan::view_kernel::ViewKernelSource;

/// What a document says: IR that keeps the rules of `wsp_ir::workload::verify` and `wsp_ir::verify`.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The user's files. A span of a file that is not among them has no place.
    pub sources: SourceMap,
    /// The workload.
    pub workload: WorkloadModule,
    /// Per tensor of the workload: whether it is a temporary, zero at the start of each run, and no argument.
    pub temporaries: Vec<bool>,
    /// What runs, per kernel of the workload.
    pub bodies: Vec<KernelBody>,
    /// Names as the front end gave them.
    pub names: GivenNames,
    /// What the verifiers warn of.
    pub warnings: Vec<Diagnostic>,
}

/// Names as the front end gave them, in the order of the module's tables: what users set and read by name, and what messages call things.
///
/// A module's own names are ASCII identifiers, no keywords, and different from each other, so `π`, `slot` or a second kernel
/// `k` are called `u3c0`, `slot_` and `k_1` there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GivenNames {
    /// Of parameters.
    pub params: Vec<String>,
    /// Of tables.
    pub tables: Vec<String>,
    /// Of tensors.
    pub tensors: Vec<String>,
    /// Of kernels.
    pub kernels: Vec<String>,
    /// Of axes.
    pub axes: Vec<String>,
}

/// What runs for the tasks of a kernel.
#[derive(Clone, Debug)]
pub enum KernelBody {
    /// Nothing: the kernel is declared, and its tasks can be listed and simulated.
    None,
    /// A kernel of a used file.
    Library,
    /// A function of the front end's language, which it gives beside the document under this key.
    Foreign {
        /// The key.
        key: String,
    },
    /// A function over views of the task's regions.
    Compiled(Box<ViewKernelSource>),
}

/// Reads a document.
///
/// # Errors
/// `WSP1300` to `WSP1308` when the document is none; else the findings of the verifiers, at least one of which is an error.
/// The files are those that were read before the fault.
pub fn read(json: &[u8]) -> Result<Trace, (SourceMap, Vec<Diagnostic>)> {
    let mut sources = SourceMap::default();
    let document = match decode::document(json, &mut sources) {
        Ok(document) => document,
        Err(fault) => return Err((sources, vec![placed(fault.into_diagnostic())])),
    };
    let found = verify(&document.workload, &document.bodies);
    if found.iter().any(Diagnostic::is_error) {
        return Err((sources, found));
    }
    let decode::Document { workload, names, temporaries, bodies } = document;
    Ok(Trace { sources, workload, temporaries, bodies, names, warnings: found })
}

/// The findings of all verifiers, at most [`MAX_DIAGNOSTICS`].
fn verify(workload: &WorkloadModule, bodies: &[KernelBody]) -> Vec<Diagnostic> {
    let mut found = wsp_ir::workload::verify::verify(workload);
    for (kernel, body) in workload.kernels.iter().zip(bodies) {
        if found.len() >= MAX_DIAGNOSTICS as usize {
            break;
        }
        if let KernelBody::Compiled(source) = body {
            let faults = wsp_ir::verify(&source.module).into_iter();
            found.extend(faults.map(|fault| fault.note(format!("in kernel `{}`", kernel.name))));
        }
    }
    found.truncate(MAX_DIAGNOSTICS as usize);
    found.into_iter().map(placed).collect()
}

/// A finding without the places that are none: of no file, or the empty one that the verifiers give to whole modules.
fn placed(mut diagnostic: Diagnostic) -> Diagnostic {
    let somewhere = |span: Span| span.file != decode::NOWHERE.file && span != Span::default();
    diagnostic.primary = diagnostic.primary.filter(|label| somewhere(label.span));
    diagnostic.labels.retain(|label| somewhere(label.span));
    diagnostic
}

/// The workload as `.wsp` text, which reads as the same workload.
pub fn workload_text(trace: &Trace) -> String {
    text::print(&trace.workload)
}

/// The IR text of a kernel's body; a sentence for a kernel that has none of its own. Empty when there is no such kernel.
pub fn kernel_text(trace: &Trace, kernel: usize) -> String {
    match trace.bodies.get(kernel) {
        None => String::new(),
        Some(KernelBody::None) => "(declared only: it has no body)\n".to_owned(),
        Some(KernelBody::Library) => "(its body is that of the used file)\n".to_owned(),
        Some(KernelBody::Foreign { key }) => format!("(its body is the function {key:?})\n"),
        Some(KernelBody::Compiled(source)) => wsp_ir::text::print(&source.module),
    }
}
