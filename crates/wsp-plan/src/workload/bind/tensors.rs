//! Extents of tensors.

use super::super::codes;
use super::Binder;
use wsp_diag::Diagnostic;
use wsp_ir::workload::Tensor;

impl Binder<'_> {
    /// The extents of every tensor; 0 in place of one that is at fault.
    pub(super) fn shapes(&mut self) -> Vec<Vec<u32>> {
        self.module.tensors.iter().map(|tensor| self.shape(tensor)).collect()
    }

    fn shape(&mut self, tensor: &Tensor) -> Vec<u32> {
        let mut shape = Vec::with_capacity(tensor.dims.len());
        for (dim, expr) in tensor.dims.iter().enumerate() {
            let Some(value) = self.value(expr) else {
                shape.push(0);
                continue;
            };
            shape.push(u32::try_from(value).unwrap_or_else(|_| {
                let message = format!("dimension {dim} of tensor `{}` has extent {value}", tensor.name);
                let sizes = if value < 0 { "larger" } else { "smaller" };
                self.found.push(
                    Diagnostic::error(codes::TENSOR_EXTENT, message)
                        .at(expr.span, format!("extents are 0 to {}", u32::MAX))
                        .label(tensor.span, "the tensor")
                        .help(format!("set {sizes} sizes"))
                        .python(format!("give {sizes} sizes")),
                );
                0
            }));
        }
        self.size_fits(tensor, &shape);
        shape
    }

    /// Reports a tensor whose bytes cannot be counted.
    fn size_fits(&mut self, tensor: &Tensor, shape: &[u32]) {
        let bytes = shape
            .iter()
            .filter(|extent| **extent > 0)
            .try_fold(tensor.dtype.size() as u64, |bytes, extent| {
                bytes.checked_mul(u64::from(*extent)).filter(|bytes| *bytes <= i64::MAX as u64)
            });
        if bytes.is_none() {
            let extents: Vec<String> = shape.iter().map(u32::to_string).collect();
            let message = format!("tensor `{}` is larger than memory can be", tensor.name);
            self.found.push(
                Diagnostic::error(codes::TENSOR_SIZE, message)
                    .at(tensor.span, format!("[{}]", extents.join(", ")))
                    .note(format!("its bytes do not fit into {}", i64::MAX))
                    .python("give smaller sizes"),
            );
        }
    }
}
