//! Elements of `out` regions that a task leaves unwritten, found by filling the regions with a pattern before it runs.

use super::memory::SharedTensor;
use crate::pattern::{pattern, quiet_nan};
use wsp_backend::unravel;
use wsp_core::Region;
use wsp_core::words::{by_count, counted};
use wsp_ir::workload::{AccessMode, Kernel, ParamKind, Signature};

/// The region of an `out` parameter while its task runs.
struct Filled {
    region: Region,
    parameter: usize,
    /// Its bytes before the task.
    before: Vec<u8>,
    /// What was put there.
    pattern: Vec<u8>,
}

/// The regions of a task's `out` parameters, filled with a pattern.
pub(crate) struct Watch(Vec<Filled>);

impl Watch {
    /// Fills the regions of the `out` parameters that no other parameter of the task sees and whose elements have a [`pattern`].
    pub(crate) fn begin(tensors: &[SharedTensor], modes: &[AccessMode], regions: &[Region]) -> Watch {
        let alone =
            |at: usize| (0..regions.len()).all(|other| other == at || !regions[other].overlaps(&regions[at]));
        let outs = (0..regions.len())
            .filter(|&at| modes[at] == AccessMode::Out && !regions[at].is_empty() && alone(at));
        Watch(outs.filter_map(|at| Filled::new(tensors, regions[at], at)).collect())
    }

    /// What the task left unwritten, which then is as it was before; none where every element was written.
    pub(crate) fn end(self, tensors: &[SharedTensor], kernel: &Kernel) -> Option<String> {
        let said: Vec<String> = self.0.iter().filter_map(|filled| filled.left(tensors, kernel)).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

impl Filled {
    /// None where tasks may compute any value, so that nobody can tell what they have written.
    fn new(tensors: &[SharedTensor], region: Region, parameter: usize) -> Option<Filled> {
        let tensor = &tensors[region.tensor.index()];
        let pattern = pattern(tensor.dtype(), tensor.region_bytes(&region))?;
        let mut before = Vec::new();
        tensor.peek(&region, &mut before);
        tensor.poke(&region, &pattern);
        Some(Filled { region, parameter, before, pattern })
    }

    /// What is to be said of elements that still hold the pattern, or what arithmetic makes of it; they get back what they held.
    fn left(&self, tensors: &[SharedTensor], kernel: &Kernel) -> Option<String> {
        let tensor = &tensors[self.region.tensor.index()];
        let mut after = Vec::new();
        tensor.peek(&self.region, &mut after);
        let size = tensor.dtype().size();
        let elements = after.len() / size;
        let quiet = quiet_nan(tensor.dtype()).unwrap_or_default();
        let unwritten = |n: &usize| after[n * size..][..size] == self.pattern[n * size..][..size];
        let computed = |n: &usize| after[n * size..][..size] == *quiet;
        let left: Vec<usize> = (0..elements).filter(unwritten).collect();
        let read: Vec<usize> = (0..elements).filter(computed).collect();
        let (found, are) = match (&left[..], &read[..]) {
            ([], []) => return None,
            ([], read) => (read, "computed from what it held before the task"),
            (left, _) => (left, "not written"),
        };
        let (lo, hi) = (&self.region.lo, &self.region.hi);
        let extents: Vec<u64> = (0..tensor.rank()).map(|d| u64::from(hi[d] - lo[d])).collect();
        let first = unravel(found[0] as u64, &extents);
        let (name, count) = (name(kernel, self.parameter), found.len());
        let said = format!(
            "`{name}` is declared `out`, and {count} of its {elements} {} {are}, the first at {first:?}",
            by_count(count, "is", "are"),
            elements = counted(elements, "element")
        );
        for n in left.into_iter().chain(read) {
            after[n * size..][..size].copy_from_slice(&self.before[n * size..][..size]);
        }
        tensor.poke(&self.region, &after);
        Some(said)
    }
}

/// The name of a tensor parameter.
fn name(kernel: &Kernel, parameter: usize) -> &str {
    let Signature::Declared(params) = &kernel.signature else { return "?" };
    let tensors = params.iter().filter(|param| matches!(param.kind, ParamKind::Tensor(_)));
    tensors.map(|param| param.name.as_str()).nth(parameter).unwrap_or("?")
}
