//! Elements of `out` boxes that a task leaves unwritten, found by filling the boxes with a pattern before it runs.

use super::memory::SharedTensor;
use crate::unravel;
use wsp_core::{DType, Region};
use wsp_ir::workload::{AccessMode, Kernel, ParamKind, Signature};

/// The box of an `out` parameter while its task runs.
struct Filled {
    region: Region,
    parameter: usize,
    /// Its bytes before the task.
    before: Vec<u8>,
    /// What was put there.
    pattern: Vec<u8>,
}

/// The boxes of a task's `out` parameters, filled with a pattern.
pub(crate) struct Watch(Vec<Filled>);

impl Watch {
    /// Fills the boxes of the `out` parameters that no other parameter of the task sees.
    pub(crate) fn begin(tensors: &[SharedTensor], modes: &[AccessMode], boxes: &[Region]) -> Watch {
        let alone =
            |at: usize| (0..boxes.len()).all(|other| other == at || !boxes[other].overlaps(&boxes[at]));
        let outs =
            (0..boxes.len()).filter(|&at| modes[at] == AccessMode::Out && !boxes[at].is_empty() && alone(at));
        Watch(outs.map(|at| Filled::new(tensors, boxes[at], at)).collect())
    }

    /// What the task left unwritten, which then is as it was before; none where every element was written.
    pub(crate) fn end(self, tensors: &[SharedTensor], kernel: &Kernel) -> Option<String> {
        let said: Vec<String> = self.0.iter().filter_map(|filled| filled.left(tensors, kernel)).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

impl Filled {
    fn new(tensors: &[SharedTensor], region: Region, parameter: usize) -> Filled {
        let tensor = &tensors[region.tensor.index()];
        let mut before = Vec::new();
        tensor.peek(&region, &mut before);
        let pattern = pattern(tensor.dtype(), before.len());
        tensor.poke(&region, &pattern);
        Filled { region, parameter, before, pattern }
    }

    /// What is to be said of elements that still hold the pattern; they get back what they held.
    fn left(&self, tensors: &[SharedTensor], kernel: &Kernel) -> Option<String> {
        let tensor = &tensors[self.region.tensor.index()];
        let mut after = Vec::new();
        tensor.peek(&self.region, &mut after);
        let size = tensor.dtype().size();
        let elements = after.len() / size;
        let same = |n: &usize| after[n * size..][..size] == self.pattern[n * size..][..size];
        let left: Vec<usize> = (0..elements).filter(same).collect();
        // What is short may have been written as it is in the pattern by chance.
        let certain = is_rare(tensor.dtype()) || (left.len() == elements && after.len() >= 8);
        if left.is_empty() || !certain {
            return None;
        }
        for n in &left {
            after[n * size..][..size].copy_from_slice(&self.before[n * size..][..size]);
        }
        tensor.poke(&self.region, &after);
        let (lo, hi) = (&self.region.lo, &self.region.hi);
        let extents: Vec<u64> = (0..tensor.rank()).map(|d| u64::from(hi[d] - lo[d])).collect();
        let first = unravel(left[0] as u64, &extents);
        let (name, count) = (name(kernel, self.parameter), left.len());
        Some(format!(
            "`{name}` is declared `out`, and {count} of its {elements} elements are not written, the first at {first:?}"
        ))
    }
}

/// The name of a tensor parameter.
fn name(kernel: &Kernel, parameter: usize) -> &str {
    let Signature::Declared(params) = &kernel.signature else { return "?" };
    let tensors = params.iter().filter(|param| matches!(param.kind, ParamKind::Tensor(_)));
    tensors.map(|param| param.name.as_str()).nth(parameter).unwrap_or("?")
}

/// Whether no task computes an element of the pattern but with a chance of 2⁻³².
fn is_rare(dtype: DType) -> bool {
    !matches!(dtype, DType::U8 | DType::U16 | DType::F8E4m3 | DType::F8E5m2)
}

/// Bytes for elements that are not written: for real numbers of 16 bits or more a NaN that no operation gives, else numbers that
/// look random and differ from element to element.
fn pattern(dtype: DType, bytes: usize) -> Vec<u8> {
    let nan: &[u8] = match dtype {
        DType::F16 => &0x7e5a_u16.to_ne_bytes(),
        DType::Bf16 => &0x7fda_u16.to_ne_bytes(),
        DType::F32 => &0x7fc5_a5a5_u32.to_ne_bytes(),
        DType::F64 => &0x7ff8_5a5a_5a5a_a5a5_u64.to_ne_bytes(),
        _ => {
            let word = |n: u64| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).to_ne_bytes();
            return (0..).flat_map(word).take(bytes).collect();
        }
    };
    nan.iter().copied().cycle().take(bytes).collect()
}
